/* The rules of rware.h, each by a situation that one can check by hand. test_rware.py compiles this file with the address
 * and undefined-behaviour sanitizers and runs its tests one by one: `test_rware NAME`. */
#include "rware.h"
#include "testing.h"

enum { MAX_ROWS = 8, UP = 0, RIGHT = 1, DOWN = 2, LEFT = 3 };

static struct {
    Rware g;
    void *arena;
    float obs[MAX_ROWS * RWARE_OBS], rewards[MAX_ROWS];
    uint8_t term[MAX_ROWS], trunc[MAX_ROWS], mask[MAX_ROWS];
    int32_t actions[MAX_ROWS];
} w;

/* The default warehouse: 10 x 20, homes at x = 1 2 4 5 7 8, y = 1 .. 8 and 10 .. 17, goals at (4, 19) and (5, 19). */
static void begin(int agents) {
    RwareArgs args = {.num_agents = agents, .shelf_columns = 3, .column_height = 8, .shelf_rows = 2, .requests = 1};
    PufferIO io = {.obs = w.obs, .act = w.actions, .rew = w.rewards, .term = w.term, .trunc = w.trunc, .mask = w.mask};
    free(w.arena);
    w.arena = calloc(1, rware_bytes(&args));
    CHECK(w.arena && rware_init(&w.g, &args, w.arena, io) == 0);
    rware_reset(&w.g, 1);
    for (int i = 0; i < agents; i++) { /* nobody is anywhere, until placed */
        w.g.cells[w.g.agents[i].cell] &= (uint8_t)~RWARE_AGENT;
        w.g.agent_at[w.g.agents[i].cell] = 0;
    }
}

static void place(int i, int x, int y, int heading) {
    RwareAgent *a = &w.g.agents[i];
    *a = (RwareAgent){.x = x, .y = y, .cell = rware_cell(&w.g, x, y), .heading = heading};
    w.g.cells[a->cell] |= RWARE_AGENT;
    w.g.agent_at[a->cell] = (uint8_t)(i + 1);
}

static void request(int k, int x, int y) {
    int old = w.g.request_shelf[k], cell = rware_cell(&w.g, x, y), shelf = w.g.shelf_at[cell] - 1;
    w.g.requested[old] = 0;
    w.g.cells[rware_find_shelf(&w.g, old)] &= (uint8_t)~RWARE_REQUESTED;
    w.g.request_shelf[k] = (uint16_t)shelf;
    w.g.requested[shelf] = (uint16_t)(k + 1);
    rware_track(&w.g, k, cell);
}

static int is_at(int i, int x, int y) {
    return w.g.agents[i].x == x && w.g.agents[i].y == y && w.g.agents[i].cell == rware_cell(&w.g, x, y);
}

/* The same action for all. */
static void step(int action) {
    for (int i = 0; i < w.g.args.num_agents; i++) w.actions[i] = action;
    rware_step(&w.g);
}

static void test_a_ring_of_four_turns(void) {
    begin(4);
    place(0, 3, 9, RIGHT), place(1, 4, 9, DOWN), place(2, 4, 10, LEFT), place(3, 3, 10, UP);
    step(RWARE_FORWARD);
    CHECK(is_at(0, 4, 9) && is_at(1, 4, 10) && is_at(2, 3, 10) && is_at(3, 3, 9));
}

static void test_two_cannot_swap_and_who_follows_them_waits(void) {
    begin(3);
    place(0, 3, 9, RIGHT), place(1, 4, 9, LEFT), place(2, 5, 9, LEFT);
    step(RWARE_FORWARD);
    CHECK(is_at(0, 3, 9) && is_at(1, 4, 9) && is_at(2, 5, 9));
}

static void test_a_chain_moves_into_a_free_cell_and_stops_behind_one_that_stays(void) {
    begin(3);
    place(2, 2, 9, RIGHT), place(1, 1, 9, RIGHT), place(0, 0, 9, RIGHT);
    step(RWARE_FORWARD);
    CHECK(is_at(0, 1, 9) && is_at(1, 2, 9) && is_at(2, 3, 9));
    w.actions[2] = RWARE_LEFT;
    rware_step(&w.g);
    CHECK(is_at(0, 1, 9) && is_at(1, 2, 9) && is_at(2, 3, 9) && w.g.agents[2].heading == UP);
}

static void test_of_two_for_one_cell_the_lower_index_gets_it(void) {
    begin(2);
    place(1, 2, 9, RIGHT), place(0, 4, 9, LEFT);
    step(RWARE_FORWARD);
    CHECK(is_at(0, 3, 9) && is_at(1, 2, 9));
}

static void test_nobody_leaves_the_grid(void) {
    begin(2);
    place(0, 0, 0, UP), place(1, 9, 19, RIGHT);
    step(RWARE_FORWARD);
    CHECK(is_at(0, 0, 0) && is_at(1, 9, 19));
}

static void test_an_empty_robot_walks_beneath_shelves_and_a_loaded_one_does_not(void) {
    begin(1);
    place(0, 0, 3, RIGHT);
    step(RWARE_FORWARD);
    CHECK(is_at(0, 1, 3));
    step(RWARE_TOGGLE);
    CHECK(w.g.agents[0].shelf && !w.g.shelf_at[rware_cell(&w.g, 1, 3)] && w.g.num_free_homes == 1);
    step(RWARE_FORWARD);
    CHECK(is_at(0, 1, 3));
    w.g.agents[0].heading = LEFT;
    step(RWARE_FORWARD);
    CHECK(is_at(0, 0, 3));
    step(RWARE_TOGGLE); /* no home here */
    CHECK(w.g.agents[0].shelf);
    w.g.agents[0].heading = RIGHT;
    step(RWARE_FORWARD);
    CHECK(is_at(0, 1, 3) && w.obs[4] == 1);
    step(RWARE_TOGGLE);
    CHECK(!w.g.agents[0].shelf && w.g.shelf_at[rware_cell(&w.g, 1, 3)] && w.g.num_free_homes == 0);
}

static void test_a_requested_shelf_on_a_goal_pays_once_and_another_is_requested(void) {
    begin(1);
    request(0, 4, 17);
    place(0, 4, 17, DOWN);
    step(RWARE_TOGGLE);
    CHECK(w.obs[2] == 1 && w.obs[3] == 1);
    step(RWARE_FORWARD);
    CHECK(w.rewards[0] == 0);
    int delivered = w.g.agents[0].shelf - 1;
    step(RWARE_FORWARD);
    CHECK(is_at(0, 4, 19) && w.rewards[0] == 1 && w.g.agents[0].deliveries == 1);
    CHECK(w.g.request_shelf[0] != delivered && !w.g.requested[delivered] && w.obs[3] == 0);
    step(RWARE_NONE);
    CHECK(w.rewards[0] == 0);
    /* now the nearest free home, which is where it came from: two cells ahead of one who looks up */
    w.g.agents[0].heading = UP;
    step(RWARE_NONE);
    CHECK(w.obs[36] == 0 && fabsf(w.obs[37] + 2.0f / 20) < 1e-6f && w.obs[38] == 0 && w.obs[39] == 0);
}

static void test_what_is_around_and_offsets_turn_with_the_robot(void) {
    begin(2);
    place(0, 3, 3, RIGHT), place(1, 3, 4, UP); /* the other one is to its right */
    request(0, 4, 2);                          /* ahead-left */
    step(RWARE_NONE);
    const float *cell = w.obs + 9;
    CHECK(cell[0] == 0 && cell[1] == 1 && cell[2] == 1);              /* ahead-left */
    CHECK(cell[3] == 0 && cell[4] == 1 && cell[5] == 0);              /* ahead */
    CHECK(cell[12] == 1 && cell[15] == 1 && cell[16] == 0);           /* itself, and right */
    CHECK(fabsf(w.obs[36] + 1.0f / 20) < 1e-6f && fabsf(w.obs[37] + 1.0f / 10) < 1e-6f);
    CHECK(fabsf(w.obs[38] - 16.0f / 20) < 1e-6f && fabsf(w.obs[39] + 1.0f / 10) < 1e-6f); /* the goal: 16 to its right, 1 ahead */
}

static const Test tests[] = {
    TEST(test_a_ring_of_four_turns),
    TEST(test_two_cannot_swap_and_who_follows_them_waits),
    TEST(test_a_chain_moves_into_a_free_cell_and_stops_behind_one_that_stays),
    TEST(test_of_two_for_one_cell_the_lower_index_gets_it),
    TEST(test_nobody_leaves_the_grid),
    TEST(test_an_empty_robot_walks_beneath_shelves_and_a_loaded_one_does_not),
    TEST(test_a_requested_shelf_on_a_goal_pays_once_and_another_is_requested),
    TEST(test_what_is_around_and_offsets_turn_with_the_robot),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
