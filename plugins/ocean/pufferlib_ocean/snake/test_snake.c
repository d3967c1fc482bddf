/* The rules of snake.h, each by a situation that one can check by hand. test_snake.py compiles this file with the address
 * and undefined-behaviour sanitizers and runs its tests one by one: `test_snake NAME`. */
#include "snake.h"
#include "testing.h"

enum { UP, RIGHT, DOWN, LEFT, MAX_ROWS = 64, MAX_OBS = 441 };

typedef struct World {
    Snake g;
    void *arena;
    uint8_t obs[MAX_ROWS * MAX_OBS], final_obs[MAX_ROWS * MAX_OBS];
    float rewards[MAX_ROWS];
    uint8_t term[MAX_ROWS], trunc[MAX_ROWS], mask[MAX_ROWS];
    int32_t actions[MAX_ROWS];
} World;

static World w;

static SnakeArgs field(int width, int height, int snakes) {
    return (SnakeArgs){.width = width, .height = height, .num_snakes = snakes, .num_food = 1, .vision = 2, .max_length = 16,
                       .corpse = 1, .reward_food = 0.5f, .reward_corpse = 0.25f, .reward_death = -1.0f};
}

static void begin(SnakeArgs args, uint64_t seed) {
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = w.actions, .rew = w.rewards, .term = w.term,
                   .trunc = w.trunc, .mask = w.mask};
    free(w.arena);
    w.arena = malloc(snake_bytes(&args));
    CHECK(w.arena && snake_init(&w.g, &args, w.arena, io) == 0);
    snake_reset(&w.g, seed);
}

static int32_t at(int x, int y) { return snake_at(&w.g, (SnakePoint){(int16_t)x, (int16_t)y}); }
static int code(int x, int y) { return w.g.grid[at(x, y)]; }
static int is_at(int i, int x, int y) { return code(x, y) == SNAKE_HEAD && w.g.owner[at(x, y)] == i; } /* snake i's head */
static int length(int i) { return w.g.snakes[i].length; }
static void put(int x, int y, int what) {
    w.g.empty += (what == SNAKE_EMPTY) - (code(x, y) == SNAKE_EMPTY);
    w.g.grid[at(x, y)] = (uint8_t)what;
}

/* An empty field; then `lay` places every snake. */
static void begin_empty(SnakeArgs args) {
    begin(args, 1);
    for (int k = 0; k < args.width * args.height; k++) put(k % args.width, k / args.width, SNAKE_EMPTY);
    memset(w.g.owner, 0xFF, (size_t)w.g.cells * sizeof *w.g.owner);
}

/* A snake over the given cells, x and y in turn, from its tail to its head. */
#define LAY(i, ...) lay(i, (int[]){__VA_ARGS__}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)) / 2)
static void lay(int i, const int *cells, int n) {
    w.g.snakes[i] = (SnakeBody){.head = UINT32_MAX, .length = n};
    for (int k = 0; k < n; k++) {
        if (k > 0) put(cells[2 * k - 2], cells[2 * k - 1], SNAKE_BODY);
        snake_enter(&w.g, i, (SnakePoint){(int16_t)cells[2 * k], (int16_t)cells[2 * k + 1]});
    }
}

static void step2(int action0, int action1) {
    w.actions[0] = action0, w.actions[1] = action1;
    snake_step(&w.g);
}
static void step1(int action) { step2(action, 0); }
static int count(int what) {
    int n = 0;
    for (int k = 0; k < w.g.args.width * w.g.args.height; k++) n += code(k % w.g.args.width, k / w.g.args.width) == what;
    return n;
}

/* Every cell's code and owner against the rings, and all food accounted for. */
static void check_grid_equals_rings(void) {
    int32_t bodies = 0;
    for (int i = 0; i < w.g.args.num_snakes; i++) {
        const SnakeBody *s = &w.g.snakes[i];
        const SnakePoint *ring = snake_ring(&w.g, i);
        CHECK(s->head - s->tail + 1 == (uint32_t)s->length && s->length <= w.g.args.max_length);
        for (uint32_t k = s->tail; k != s->head + 1; k++) {
            SnakePoint p = ring[k & w.g.ring_mask];
            int32_t cell = snake_at(&w.g, p);
            int is_head = snake_same(p, snake_head(&w.g, i));
            int is_stacked = k != s->tail && snake_same(ring[(k - 1) & w.g.ring_mask], p);
            CHECK(w.g.owner[cell] == i && w.g.grid[cell] == (is_head ? SNAKE_HEAD : SNAKE_BODY));
            bodies += !is_stacked;
        }
    }
    for (int32_t cell = 0; cell < w.g.cells; cell++) {
        CHECK((w.g.owner[cell] >= 0) == (w.g.grid[cell] >= SNAKE_BODY) && w.g.grid[cell] <= SNAKE_HEAD);
        bodies -= w.g.owner[cell] >= 0;
    }
    CHECK(bodies == 0);
    CHECK(count(SNAKE_FOOD) + w.g.food_due == w.g.args.num_food && count(SNAKE_EMPTY) == w.g.empty);
}

/* Every window, against the grid and the owners. */
static void check_windows(void) {
    int side = w.g.side, v = side / 2;
    for (int n = 0; n < w.g.args.num_snakes * side * side; n++) {
        int i = n / (side * side), dy = n / side % side - v, dx = n % side - v;
        int32_t cell = snake_at(&w.g, snake_head(&w.g, i)) + dy * w.g.stride + dx;
        CHECK(w.obs[n] == w.g.grid[cell] - (w.g.owner[cell] == i ? SNAKE_BODY - SNAKE_OWN_BODY : 0));
    }
}

/* ---------------------------------------------------------------- meeting head on */

static void test_head_on_at_distance_1_both_die(void) {
    begin_empty(field(12, 8, 2));
    LAY(0, 1, 4, 2, 4, 3, 4);
    LAY(1, 6, 4, 5, 4, 4, 4);
    step2(RIGHT, LEFT);
    CHECK(w.term[0] && w.term[1] && w.rewards[0] == -1 && w.rewards[1] == -1);
}

static void test_head_on_at_distance_2_both_die_and_none_eats(void) {
    begin_empty(field(12, 8, 2));
    LAY(0, 1, 4, 2, 4, 3, 4);
    LAY(1, 7, 4, 6, 4, 5, 4);
    put(4, 4, SNAKE_FOOD);
    step2(RIGHT, LEFT);
    CHECK(w.term[0] && w.term[1] && w.rewards[0] == -1 && w.rewards[1] == -1);
    CHECK(code(4, 4) == SNAKE_FOOD && w.g.food_due == 0);
}

/* ---------------------------------------------------------------- tails */

static void test_following_a_tail_that_leaves_is_legal(void) {
    begin_empty(field(12, 8, 2));
    LAY(0, 1, 4, 2, 4, 3, 4);
    LAY(1, 4, 4, 5, 4, 6, 4);
    step2(RIGHT, RIGHT);
    CHECK(!w.term[0] && !w.term[1] && is_at(0, 4, 4) && is_at(1, 7, 4) && code(5, 4) == SNAKE_BODY);
}

static void test_following_a_tail_that_stays_kills(void) {
    begin_empty(field(12, 8, 2));
    LAY(0, 1, 4, 2, 4, 3, 4);
    LAY(1, 4, 4, 5, 4, 6, 4);
    put(7, 4, SNAKE_FOOD); /* snake 1 grows */
    step2(RIGHT, RIGHT);
    CHECK(w.term[0] && !w.term[1] && length(1) == 4 && w.rewards[1] == 0.5f);
}

static void test_a_snake_of_4_may_chase_its_own_tail_and_one_of_5_may_not(void) {
    begin_empty(field(12, 8, 1));
    LAY(0, 4, 4, 5, 4, 5, 5, 4, 5);
    for (int k = 0; k < 8; k++) {
        step1((int[]){UP, RIGHT, DOWN, LEFT}[k % 4]);
        CHECK(!w.term[0] && length(0) == 4);
    }
    begin_empty(field(12, 8, 1));
    LAY(0, 3, 4, 4, 4, 5, 4, 5, 5, 4, 5);
    step1(UP);
    CHECK(w.term[0]);
}

static void test_a_stacked_tail_stays_taken(void) {
    begin_empty(field(12, 8, 2));
    LAY(0, 1, 4, 2, 4, 3, 4);
    LAY(1, 4, 4, 4, 4, 4, 4); /* as after a spawn */
    put(4, 4, SNAKE_HEAD);
    step2(RIGHT, RIGHT);
    CHECK(w.term[0] && !w.term[1] && code(4, 4) == SNAKE_BODY && is_at(1, 5, 4));
}

static void test_a_dying_snakes_body_still_kills(void) {
    begin_empty(field(12, 8, 2));
    LAY(0, 2, 0, 1, 0, 0, 0);
    LAY(1, 1, 3, 1, 2, 1, 1);
    step2(LEFT, UP); /* 0 into the wall; 1 into the middle of 0 */
    CHECK(w.term[0] && w.term[1]);
}

/* ---------------------------------------------------------------- turning, spawning */

static void test_reversal_keeps_the_old_direction(void) {
    begin_empty(field(12, 8, 1));
    LAY(0, 1, 4, 2, 4, 3, 4);
    step1(LEFT);
    CHECK(w.g.snakes[0].direction == UP && is_at(0, 3, 3)); /* LAY's direction is up */
    step1(RIGHT);
    step1(LEFT);
    CHECK(w.g.snakes[0].direction == RIGHT && is_at(0, 5, 3));
}

static void test_out_of_range_actions_go_up_and_are_counted(void) {
    begin_empty(field(12, 8, 2));
    LAY(0, 1, 4, 2, 4, 3, 4);
    LAY(1, 5, 4, 6, 4, 7, 4);
    step2(4, -1);
    CHECK(is_at(0, 3, 3) && is_at(1, 7, 3) && w.g.log.invalid_actions == 2);
}

static void test_a_spawned_snake_is_stacked_and_unrolls_in_any_direction(void) {
    for (int direction = 0; direction < 4; direction++) {
        begin_empty(field(20, 20, 1));
        LAY(0, 10, 10, 10, 10, 10, 10);
        put(10, 10, SNAKE_HEAD);
        w.g.snakes[0].direction = 0;
        CHECK(count(SNAKE_HEAD) == 1 && count(SNAKE_BODY) == 0);
        step1(direction);
        CHECK(count(SNAKE_HEAD) == 1 && count(SNAKE_BODY) == 1 && w.g.snakes[0].direction == direction);
        step1(direction);
        CHECK(count(SNAKE_HEAD) == 1 && count(SNAKE_BODY) == 2);
        step1(direction);
        CHECK(count(SNAKE_HEAD) == 1 && count(SNAKE_BODY) == 2 && length(0) == 3);
    }
}

/* ---------------------------------------------------------------- eating */

static void test_food_grows_and_returns_and_corpse_grows_and_does_not(void) {
    begin_empty(field(12, 8, 1));
    LAY(0, 1, 4, 2, 4, 3, 4);
    put(4, 4, SNAKE_FOOD);
    put(5, 4, SNAKE_CORPSE);
    step1(RIGHT);
    CHECK(w.rewards[0] == 0.5f && length(0) == 4 && code(1, 4) == SNAKE_BODY && count(SNAKE_FOOD) == 1);
    put(5, 4, SNAKE_CORPSE); /* should the food have returned just there */
    int food = count(SNAKE_FOOD);
    step1(RIGHT);
    CHECK(w.rewards[0] == 0.25f && length(0) == 5 && count(SNAKE_FOOD) == food && count(SNAKE_CORPSE) == 0);
}

static void test_at_max_length_eating_pays_and_does_not_grow(void) {
    SnakeArgs args = field(12, 8, 1);
    args.max_length = 4;
    begin_empty(args);
    LAY(0, 1, 4, 2, 4, 3, 4, 4, 4);
    put(5, 4, SNAKE_FOOD);
    step1(RIGHT);
    CHECK(w.rewards[0] == 0.5f && length(0) == 4 && code(1, 4) != SNAKE_BODY && code(2, 4) == SNAKE_BODY);
}

/* ---------------------------------------------------------------- ends */

static void test_the_dead_turn_into_corpses_without_the_tail_that_left(void) {
    begin_empty(field(12, 8, 1));
    LAY(0, 3, 2, 2, 2, 1, 2, 0, 2);
    step1(LEFT);
    CHECK(w.term[0] && count(SNAKE_CORPSE) == 3 && code(0, 2) == SNAKE_CORPSE && code(3, 2) != SNAKE_CORPSE);
    CHECK(w.g.log.n == 1 && w.g.log.score == 4 && w.g.log.episode_return == -1 && w.g.log.perf == 0.08);
}

static void test_without_corpses_the_dead_leave_nothing(void) {
    SnakeArgs args = field(12, 8, 1);
    args.corpse = 0;
    begin_empty(args);
    LAY(0, 3, 2, 2, 2, 1, 2, 0, 2);
    step1(LEFT);
    CHECK(w.term[0] && count(SNAKE_CORPSE) == 0 && count(SNAKE_BODY) == 0 && count(SNAKE_HEAD) == 1 && length(0) == 3);
}

static void test_the_last_observation_of_the_dead_shows_them_in_place(void) {
    begin_empty(field(12, 8, 1));
    LAY(0, 3, 2, 2, 2, 1, 2, 0, 2);
    step1(LEFT);
    const uint8_t *middle = w.final_obs + 2 * 5; /* the row of the head, with walls to its left */
    CHECK(memcmp(middle, (uint8_t[]){1, 1, 5, 4, 4}, 5) == 0);
    CHECK(w.obs[12] == SNAKE_OWN_HEAD); /* alive again elsewhere */
}

static void test_age_truncates_one_row_alone(void) {
    SnakeArgs args = field(20, 20, 2);
    args.max_steps = 3;
    begin_empty(args);
    LAY(0, 1, 4, 2, 4, 3, 4);
    LAY(1, 1, 8, 2, 8, 3, 8);
    w.g.snakes[1].age = 1;
    step2(RIGHT, RIGHT);
    CHECK(!w.trunc[0] && !w.trunc[1]);
    step2(RIGHT, RIGHT);
    CHECK(!w.trunc[0] && w.trunc[1] && !w.term[1] && w.rewards[1] == 0);
    CHECK(memcmp(w.final_obs + 25 + 10, (uint8_t[]){4, 4, 5, 0, 0}, 5) == 0);
    CHECK(code(5, 8) == SNAKE_CORPSE && code(4, 8) == SNAKE_CORPSE && code(3, 8) == SNAKE_CORPSE);
    CHECK(w.g.log.n == 1 && w.g.log.episode_length == 3 && w.g.log.score == 3);
    CHECK(w.g.snakes[1].age == 0 && is_at(0, 5, 4));
}

static void test_death_at_the_last_step_is_terminal_only(void) {
    SnakeArgs args = field(12, 8, 1);
    args.max_steps = args.world_steps = 1;
    begin_empty(args);
    LAY(0, 2, 0, 1, 0, 0, 0);
    step1(LEFT);
    CHECK(w.term[0] && !w.trunc[0] && w.g.log.n == 1);
}

static void test_world_steps_rebuild_the_world_and_truncate_the_living(void) {
    SnakeArgs args = field(12, 8, 2);
    args.world_steps = 2;
    begin_empty(args);
    LAY(0, 1, 0, 2, 0, 3, 0);
    LAY(1, 1, 8 - 1, 2, 8 - 1, 3, 8 - 1);
    for (int x = 0; x < 12; x++) put(x, 3, SNAKE_CORPSE);
    step2(RIGHT, RIGHT);
    CHECK(!w.trunc[0] && !w.trunc[1]);
    step2(UP, RIGHT); /* 0 dies */
    CHECK(w.term[0] && !w.trunc[0] && !w.term[1] && w.trunc[1]);
    CHECK(count(SNAKE_CORPSE) == 0 && count(SNAKE_FOOD) == 1 && count(SNAKE_HEAD) == 2 && count(SNAKE_BODY) == 0);
    CHECK(w.g.log.n == 2 && w.g.world_age == 0);
    check_grid_equals_rings();
}

/* ---------------------------------------------------------------- crowded worlds */

static void test_in_a_full_field_the_dead_respawn_on_corpses_and_food_waits(void) {
    begin_empty(field(8, 8, 1));
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) put(x, y, SNAKE_CORPSE);
    LAY(0, 3, 0, 2, 0, 1, 0);
    put(0, 0, SNAKE_FOOD);
    step1(LEFT);
    CHECK(!w.term[0] && length(0) == 4 && w.g.food_due == 1 && count(SNAKE_FOOD) == 0 && count(SNAKE_EMPTY) == 0);
    step1(LEFT); /* into the wall: its tail leaves the one empty cell, where the food returns */
    CHECK(w.term[0] && w.g.food_due == 0 && code(3, 0) == SNAKE_FOOD && count(SNAKE_HEAD) == 1 && count(SNAKE_CORPSE) == 62);
    check_grid_equals_rings();
}

static void test_where_all_else_is_food_the_dead_respawn_on_food(void) {
    SnakeArgs args = field(8, 8, 1);
    args.corpse = 0;
    args.num_food = 16;
    begin_empty(args);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) put(x, y, SNAKE_FOOD);
    LAY(0, 2, 0, 1, 0, 0, 0);
    w.g.food_due = 10;
    step1(LEFT); /* food fills the three cells first */
    CHECK(w.term[0] && count(SNAKE_FOOD) == 63 && w.g.food_due == 10 - 3 + 1 && count(SNAKE_HEAD) == 1);
}

static void test_grid_and_windows_always_equal_the_rings(void) {
    static const SnakeArgs worlds[] = {
        {.width = 8, .height = 8, .num_snakes = 4, .num_food = 16, .vision = 1, .max_length = 8, .corpse = 1},
        {.width = 8, .height = 8, .num_snakes = 1, .num_food = 8, .vision = 10, .max_length = 64, .corpse = 1, .max_steps = 50},
        {.width = 16, .height = 9, .num_snakes = 12, .num_food = 20, .vision = 2, .max_length = 5, .max_steps = 7},
        {.width = 32, .height = 32, .num_snakes = 64, .num_food = 128, .vision = 5, .max_length = 256, .corpse = 1,
         .world_steps = 97},
        {.width = 20, .height = 20, .num_snakes = 30, .num_food = 60, .vision = 3, .max_length = 16, .corpse = 1},
    };
    for (size_t k = 0; k < sizeof worlds / sizeof *worlds; k++) {
        begin(worlds[k], k);
        PufferRng rng;
        puffer_seed(&rng, 100 + k);
        for (int t = 0; t < 3000; t++) {
            check_grid_equals_rings();
            check_windows();
            for (int i = 0; i < worlds[k].num_snakes; i++) w.actions[i] = (int32_t)puffer_below(&rng, 4);
            snake_step(&w.g);
        }
    }
}

static void test_too_many_snakes_and_food_are_refused(void) {
    SnakeArgs args = field(8, 8, 4);
    args.num_food = 17;
    PufferIO io = {0};
    CHECK(snake_init(&w.g, &args, NULL, io) == 1 && strstr(snake_errors[1], "num_food"));
}

static const Test tests[] = {
    TEST(test_head_on_at_distance_1_both_die), TEST(test_head_on_at_distance_2_both_die_and_none_eats),
   
    TEST(test_following_a_tail_that_leaves_is_legal), TEST(test_following_a_tail_that_stays_kills),
    TEST(test_a_snake_of_4_may_chase_its_own_tail_and_one_of_5_may_not), TEST(test_a_stacked_tail_stays_taken),
    TEST(test_a_dying_snakes_body_still_kills), TEST(test_reversal_keeps_the_old_direction),
    TEST(test_out_of_range_actions_go_up_and_are_counted), TEST(test_a_spawned_snake_is_stacked_and_unrolls_in_any_direction),
    TEST(test_food_grows_and_returns_and_corpse_grows_and_does_not), TEST(test_at_max_length_eating_pays_and_does_not_grow),
    TEST(test_the_dead_turn_into_corpses_without_the_tail_that_left), TEST(test_without_corpses_the_dead_leave_nothing),
    TEST(test_the_last_observation_of_the_dead_shows_them_in_place), TEST(test_age_truncates_one_row_alone),
    TEST(test_death_at_the_last_step_is_terminal_only), TEST(test_world_steps_rebuild_the_world_and_truncate_the_living),
    TEST(test_in_a_full_field_the_dead_respawn_on_corpses_and_food_waits),
    TEST(test_where_all_else_is_food_the_dead_respawn_on_food), TEST(test_grid_and_windows_always_equal_the_rings),
    TEST(test_too_many_snakes_and_food_are_refused),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
