/* The rules of pacman.h, each by a situation that one can check by hand. test_pacman.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_pacman NAME`. */
#include "pacman.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-5)

enum { UP, RIGHT, DOWN, LEFT };

static Pacman g;
static float obs[PACMAN_VALUES], final_obs[PACMAN_VALUES], reward;
static uint8_t term, trunc_, mask;
static int32_t action;

/* All ghosts wait in their house for long. */
static void begin(void) {
    PacmanArgs args = {.max_steps = 0, .lives = 3, .random_start = 0, .reward_death = -1};
    PufferIO io = {obs, final_obs, &action, &reward, &term, &trunc_, &mask, NULL};
    CHECK(pacman_init(&g, &args, NULL, io) == 0);
    pacman_reset(&g, 1);
    for (int i = 0; i < PACMAN_GHOSTS; i++) pacman_send_home(&g.ghosts[i], 1000);
}

static void step(int a) {
    action = a;
    pacman_step(&g);
}

static void put_player(int x, int y, int direction) {
    g.player = (PacmanCell){x, y};
    g.direction = direction;
}

static void put_ghost(int i, int x, int y, int direction) { g.ghosts[i] = (PacmanGhost){{x, y}, direction, 0, 0}; }

static int is_at(PacmanCell c, int x, int y) { return c.x == x && c.y == y; }

static void test_the_maze_has_115_pellets_4_powers_122_cells_and_no_dead_end(void) {
    int pellets = 0, powers = 0, cells = 0;
    for (int y = 0; y < PACMAN_HEIGHT; y++) {
        CHECK(pacman_pellets_above[y] == pellets && pacman_powers_above[y] == powers);
        for (int x = 0; x < PACMAN_WIDTH; x++) {
            PacmanCell cell = {x, y};
            int food = pacman_food_at(cell), ways = 0;
            if (pacman_map[y][x] == '.') CHECK(food == pellets++ && pacman_same(pacman_pellet_cell(food), cell));
            else if (pacman_map[y][x] == 'o') CHECK(food == PACMAN_PELLETS + powers++);
            else CHECK(food == -1);
            if (!pacman_walkable(cell)) continue;
            cells += 1;
            for (int k = 0; k < 4; k++) ways += pacman_walkable(pacman_next(cell, k));
            CHECK(ways >= 2);
        }
    }
    CHECK(pellets == 115 && powers == 4 && cells == 122);
}

static void test_a_blocked_turn_keeps_the_direction_and_a_wall_ahead_stops(void) {
    begin();
    put_player(6, 11, LEFT);
    step(UP); /* a wall above */
    CHECK(is_at(g.player, 5, 11) && g.direction == LEFT);
    step(DOWN);
    CHECK(is_at(g.player, 5, 12) && g.direction == DOWN);
    step(LEFT);
    CHECK(is_at(g.player, 5, 13) && g.direction == DOWN);
    step(RIGHT);
    step(RIGHT);
    CHECK(is_at(g.player, 5, 13) && g.direction == DOWN && obs[PACMAN_ALL + 4] == 1);
}

static void test_the_tunnel_wraps_both_ways(void) {
    begin();
    put_player(1, 7, LEFT);
    step(LEFT);
    CHECK(is_at(g.player, 0, 7));
    step(LEFT);
    CHECK(is_at(g.player, 16, 7) && obs[PACMAN_ALL] == 1);
    step(RIGHT);
    CHECK(is_at(g.player, 0, 7));
    put_ghost(0, 0, 7, LEFT);
    put_player(8, 11, LEFT);
    pacman_move_ghost(&g, 0);
    CHECK(is_at(g.ghosts[0].at, 16, 7) && g.ghosts[0].direction == LEFT);
    g.ghosts[0].direction = RIGHT;
    pacman_move_ghost(&g, 0);
    CHECK(is_at(g.ghosts[0].at, 0, 7));
}

static void test_nobody_walks_into_the_house(void) {
    begin();
    put_player(8, 5, RIGHT);
    step(DOWN);
    CHECK(is_at(g.player, 9, 5));
    put_ghost(0, 8, 5, LEFT);
    put_player(8, 13, LEFT); /* below: straight down is shortest */
    g.t = 50;
    pacman_move_ghost(&g, 0);
    CHECK(is_at(g.ghosts[0].at, 7, 5));
}

static void test_food_pays_once_and_leaves_the_observation(void) {
    begin();
    put_player(2, 1, LEFT);
    CHECK(obs[0] == 1 && obs[PACMAN_PELLETS] == 1);
    step(RIGHT); /* (3, 1) is the second pellet */
    CHECK(CLOSE(reward, .1) && g.score == 1 && obs[1] == 0 && obs[0] == 1 && CLOSE(obs[PACMAN_ALL + 9], 118 / 119.0));
    step(LEFT);
    CHECK(CLOSE(reward, .1) && obs[0] == 0);
    step(RIGHT);
    CHECK(reward == 0 && g.score == 2);
    step(LEFT);
    step(LEFT); /* (1, 1): power */
    CHECK(CLOSE(reward, .5) && g.score == 7 && obs[PACMAN_PELLETS] == 0 && obs[PACMAN_ALL + 7] == 1);
}

static void test_power_frightens_all_outside_for_40_steps_and_turns_them(void) {
    begin();
    put_player(2, 1, LEFT);
    put_ghost(0, 8, 9, RIGHT);
    put_ghost(2, 14, 7, LEFT);
    step(LEFT);
    CHECK(g.fright == 40 && g.ghosts[0].frightened && g.ghosts[2].frightened && !g.ghosts[1].frightened);
    CHECK(is_at(g.ghosts[0].at, 7, 9)); /* even step: it moves, the other way */
    for (int i = 1; i < 40; i++) {
        g.player = (PacmanCell){1, 1};
        step(LEFT);
        CHECK(g.fright == 40 - i && CLOSE(obs[PACMAN_ALL + 7], (40 - i) / 40.0));
        if (g.ghosts[0].home == 0) CHECK(g.ghosts[0].frightened);
    }
    step(LEFT);
    CHECK(g.fright == 0 && !g.ghosts[0].frightened && !g.ghosts[2].frightened);
}

static void test_frightened_ghosts_move_at_even_steps_only(void) {
    begin();
    put_player(1, 13, LEFT);
    put_ghost(0, 8, 9, LEFT);
    g.ghosts[0].frightened = 1;
    g.fright = 30;
    for (int i = 0; i < 10; i++) {
        PacmanCell before = g.ghosts[0].at;
        g.player = (PacmanCell){1, 13};
        step(LEFT);
        CHECK(pacman_same(before, g.ghosts[0].at) == (i % 2 == 1));
    }
}

static void test_eating_ghosts_doubles_the_points_and_sends_them_home_for_10_steps(void) {
    begin();
    put_player(5, 11, RIGHT);
    g.fright = 40;
    g.t = 1; /* frightened ghosts stand still */
    for (int i = 0; i < PACMAN_GHOSTS; i++) {
        put_ghost(i, 6, 11, LEFT);
        g.ghosts[i].frightened = 1;
    }
    for (int i = 0; i < PACMAN_ALL; i++) g.food[i] = i == 0;
    step(RIGHT);
    CHECK(g.score == 20 + 40 + 80 + 160 && CLOSE(reward, 4 * .5) && g.lives == 3);
    for (int i = 0; i < PACMAN_GHOSTS; i++) CHECK(g.ghosts[i].home == 9 && !g.ghosts[i].frightened && is_at(g.ghosts[i].at, 8, 7));
    for (int i = 0; i < 8; i++) step(LEFT);
    CHECK(g.ghosts[0].home == 1);
    step(LEFT);
    CHECK(g.ghosts[0].home == 0 && is_at(g.ghosts[0].at, 8, 5) && !g.ghosts[0].frightened && g.ghosts[0].direction == LEFT);
}

static void test_the_chain_begins_anew_with_each_power_pellet(void) {
    begin();
    g.chain = 3;
    put_player(2, 1, LEFT);
    step(LEFT);
    CHECK(g.chain == 0);
    put_ghost(1, 1, 2, UP);
    g.ghosts[1].frightened = 1;
    g.score = 0;
    step(DOWN);
    CHECK(g.score == 20 + 1 && g.chain == 1);
}

static void test_a_touch_costs_a_life_and_puts_all_at_their_starts(void) {
    begin();
    put_player(5, 11, RIGHT);
    put_ghost(2, 6, 11, RIGHT);
    g.fright = 7;
    step(RIGHT);
    CHECK(g.lives == 2 && CLOSE(reward, .1 - 1) && is_at(g.player, 8, 11) && g.direction == LEFT && g.fright == 0 && !term);
    CHECK(is_at(g.ghosts[0].at, 8, 5) && g.ghosts[0].home == 0);
    for (int i = 1; i < 4; i++) CHECK(g.ghosts[i].home == 10 * i && is_at(g.ghosts[i].at, 8, 7));
    CHECK(g.left == 118 && CLOSE(obs[PACMAN_ALL + 6], 2 / 3.0));
}

static void test_head_on_is_a_touch(void) {
    begin();
    put_player(5, 11, RIGHT);
    put_ghost(0, 6, 11, LEFT); /* they would swap cells */
    step(RIGHT);
    CHECK(g.lives == 2);
}

static void test_a_ghost_that_comes_onto_the_player_touches_it(void) {
    begin();
    g.t = 50;
    put_player(5, 13, DOWN);
    put_ghost(0, 5, 12, DOWN);
    step(DOWN); /* stands still at a wall */
    CHECK(g.lives == 2 && CLOSE(reward, -1 + .1));
}

static void test_a_power_pellet_on_the_ghosts_cell_is_eaten_first(void) {
    begin();
    put_player(2, 1, LEFT);
    put_ghost(0, 1, 1, RIGHT);
    step(LEFT);
    CHECK(g.lives == 3 && g.score == 5 + 20 && CLOSE(reward, 1));
}

static void test_ghosts_leave_one_by_one_every_10_steps(void) {
    begin();
    pacman_reset(&g, 1);
    CHECK(is_at(g.ghosts[0].at, 8, 5) && g.ghosts[0].home == 0);
    for (int t = 1; t <= 30; t++) {
        g.player = (PacmanCell){1, 13};
        step(LEFT);
        for (int k = 1; k < 4; k++) {
            CHECK((g.ghosts[k].home > 0) == (t < 10 * k) && obs[PACMAN_ALL + 10 + 8 * k + 7] == (float)(t < 10 * k));
            if (t == 10 * k) CHECK(is_at(g.ghosts[k].at, 8, 5));
        }
        g.lives = 3;
    }
}

static void test_modes_alternate_28_scatter_80_chase(void) {
    for (int t = 0; t < 500; t++) CHECK(pacman_chases(t) == (t % 108 >= 28));
    begin();
    g.player = (PacmanCell){1, 13};
    g.t = 26;
    step(LEFT);
    CHECK(obs[PACMAN_ALL + 8] == 0);
    put_ghost(0, 4, 7, LEFT); /* a corridor: goes on left, unless it turns round */
    step(LEFT);
    CHECK(obs[PACMAN_ALL + 8] == 1 && g.ghosts[0].direction != RIGHT);
    put_ghost(0, 8, 9, LEFT);
    step(LEFT); /* now chasing begins for the ghosts */
    CHECK(is_at(g.ghosts[0].at, 9, 9) && g.ghosts[0].direction == RIGHT);
    step(LEFT);
    CHECK(is_at(g.ghosts[0].at, 10, 9));
}

static void test_targets_of_the_four_ghosts(void) {
    begin();
    put_player(10, 9, UP);
    put_ghost(0, 6, 5, LEFT);
    put_ghost(3, 10, 2, DOWN);
    for (int i = 0; i < 4; i++) CHECK(pacman_same(pacman_target(&g, i), pacman_corners[i])); /* scatter */
    g.t = 28;
    CHECK(is_at(pacman_target(&g, 0), 10, 9) && is_at(pacman_target(&g, 1), 10, 5) && is_at(pacman_target(&g, 2), 14, 13));
    CHECK(is_at(pacman_target(&g, 3), 10, 9)); /* 7 away */
    g.ghosts[3].at.y = 3;                      /* 6 away: to its corner */
    CHECK(is_at(pacman_target(&g, 3), 0, 14));
}

static void test_ties_go_up_left_down_right(void) {
    begin();
    g.t = 50;
    put_ghost(0, 1, 7, LEFT); /* up, left and down are free */
    put_player(0, 7, LEFT);
    pacman_move_ghost(&g, 0);
    CHECK(g.ghosts[0].direction == LEFT);
    put_ghost(0, 1, 7, LEFT);
    put_player(12, 7, LEFT); /* behind: up and down are equally far, and nearer than left */
    pacman_move_ghost(&g, 0);
    CHECK(g.ghosts[0].direction == UP);
}

static void test_frightened_ghosts_take_any_way_but_back(void) {
    int seen[4] = {0};
    begin();
    for (int i = 0; i < 3000; i++) {
        put_ghost(0, 1, 7, LEFT);
        g.ghosts[0].frightened = 1;
        pacman_move_ghost(&g, 0);
        seen[g.ghosts[0].direction] += 1;
    }
    CHECK(seen[RIGHT] == 0 && seen[UP] > 900 && seen[LEFT] > 900 && seen[DOWN] > 900);
}

static void test_the_last_pellet_ends_the_episode_with_5_more(void) {
    begin();
    for (int i = 0; i < PACMAN_ALL; i++) g.food[i] = 0;
    g.food[0] = 1; /* at (2, 1) */
    g.left = 1;
    put_player(3, 1, LEFT);
    put_ghost(0, 2, 1, RIGHT); /* too late */
    step(LEFT);
    CHECK(term && !trunc_ && CLOSE(reward, 5.1) && g.log.perf == 1 && final_obs[PACMAN_ALL + 9] == 0 && g.left == PACMAN_ALL);
}

static void test_the_last_life_ends_the_episode(void) {
    begin();
    g.lives = 1;
    put_player(5, 11, RIGHT);
    put_ghost(0, 6, 11, LEFT);
    step(RIGHT);
    CHECK(term && CLOSE(reward, -.9) && final_obs[PACMAN_ALL + 6] == 0 && g.log.n == 1 && g.log.score == 1 && CLOSE(g.log.perf, 1 / 119.0));
}

static void test_random_starts_are_pellet_cells(void) {
    int seen[PACMAN_PELLETS] = {0}, cells = 0;
    begin();
    g.args.random_start = 1;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        pacman_reset(&g, seed);
        int pellet = pacman_food_at(g.player);
        CHECK(pellet >= 0 && pellet < PACMAN_PELLETS && pacman_same(g.player, g.start));
        cells += !seen[pellet]++;
    }
    CHECK(cells == PACMAN_PELLETS);
}

static const Test tests[] = {
    TEST(test_the_maze_has_115_pellets_4_powers_122_cells_and_no_dead_end),
    TEST(test_a_blocked_turn_keeps_the_direction_and_a_wall_ahead_stops),
    TEST(test_the_tunnel_wraps_both_ways),
    TEST(test_nobody_walks_into_the_house),
    TEST(test_food_pays_once_and_leaves_the_observation),
    TEST(test_power_frightens_all_outside_for_40_steps_and_turns_them),
    TEST(test_frightened_ghosts_move_at_even_steps_only),
    TEST(test_eating_ghosts_doubles_the_points_and_sends_them_home_for_10_steps),
    TEST(test_the_chain_begins_anew_with_each_power_pellet),
    TEST(test_a_touch_costs_a_life_and_puts_all_at_their_starts),
    TEST(test_head_on_is_a_touch),
    TEST(test_a_ghost_that_comes_onto_the_player_touches_it),
    TEST(test_a_power_pellet_on_the_ghosts_cell_is_eaten_first),
    TEST(test_ghosts_leave_one_by_one_every_10_steps),
    TEST(test_modes_alternate_28_scatter_80_chase),
    TEST(test_targets_of_the_four_ghosts),
    TEST(test_ties_go_up_left_down_right),
    TEST(test_frightened_ghosts_take_any_way_but_back),
    TEST(test_the_last_pellet_ends_the_episode_with_5_more),
    TEST(test_the_last_life_ends_the_episode),
    TEST(test_random_starts_are_pellet_cells),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
