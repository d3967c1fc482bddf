/* The rules of maze.h, each by a situation that one can check by hand. test_maze.py compiles this file with the address
 * and undefined-behaviour sanitizers and runs its tests one by one: `test_maze NAME`. */
#include "maze.h"
#include "testing.h"

enum { STAY, UP, RIGHT, DOWN, LEFT };

typedef struct World {
    Maze g;
    void *arena;
    uint8_t obs[443], final_obs[443], term, trunc, mask;
    float reward;
    int32_t action;
} World;

static World w;
static uint8_t corridor[4]; /* a maze of size 5 whose only corridor is the row y = 1: x = 1, 2, 3 */

static MazeArgs pool(int size, float loops, int num_maps) {
    return (MazeArgs){.size = size, .vision = 2, .num_maps = num_maps, .map_seed = 3, .loops = loops, .max_steps = 0};
}

static uint8_t *build_pool(const MazeArgs *args) {
    uint8_t *maps = malloc(maze_shared_bytes(args));
    CHECK(maps && maze_shared_init(maps, args) == 0);
    return maps;
}

static void begin(MazeArgs args, uint64_t seed) {
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = &w.action, .rew = &w.reward, .term = &w.term,
                   .trunc = &w.trunc, .mask = &w.mask};
    free(w.arena);
    w.arena = malloc(maze_bytes(&args));
    CHECK(w.arena && maze_init(&w.g, &args, w.arena, io) == 0);
    maze_reset(&w.g, seed);
}

/* In the corridor, with the agent at its left end and the goal at its right end. */
static void begin_in_corridor(int max_steps) {
    MazeArgs args = pool(5, 0, 1);
    args.maps = corridor;
    args.max_steps = max_steps;
    for (int x = 1; x <= 3; x++) maze_dig(corridor, 5 + x);
    uint64_t seed = 0;
    do begin(args, seed++);
    while (w.g.shortest != 2 || w.g.start > w.g.goal);
}

static void step(int action) {
    w.action = action;
    maze_step(&w.g);
}

/* ---------------------------------------------------------------- the pool */

static int open_cells(const uint8_t *map, int size) {
    int n = 0;
    for (int k = 0; k < size * size; k++) n += maze_is_open(map, k);
    return n;
}

static int reachable_cells(const uint8_t *map, int size) {
    uint8_t seen[MAZE_MAX_SIZE * MAZE_MAX_SIZE] = {0};
    int todo[4 * MAZE_MAX_SIZE * MAZE_MAX_SIZE], n = 0, found = 0;
    todo[n++] = size + 1;
    while (n > 0) {
        int cell = todo[--n];
        if (seen[cell] || !maze_is_open(map, cell)) continue;
        seen[cell] = 1;
        found++;
        todo[n++] = cell - size, todo[n++] = cell + 1, todo[n++] = cell + size, todo[n++] = cell - 1;
    }
    return found;
}

static void check_pool(int size, float loops) {
    MazeArgs args = pool(size, loops, size < 21 ? 1024 : 128);
    uint8_t *maps = build_pool(&args);
    int rooms = (size / 2) * (size / 2), tree = 2 * rooms - 1, walls = 2 * (size / 2) * (size / 2 - 1);
    for (int i = 0; i < args.num_maps; i++) {
        const uint8_t *map = maps + (size_t)i * maze_map_bytes(&args);
        CHECK(reachable_cells(map, size) == open_cells(map, size));
        for (int k = 0; k < size; k++)
            CHECK(!maze_is_open(map, k) && !maze_is_open(map, (size - 1) * size + k) && !maze_is_open(map, k * size) &&
                  !maze_is_open(map, k * size + size - 1));
        for (int y = 1; y < size; y += 2)
            for (int x = 1; x < size; x += 2) CHECK(maze_is_open(map, y * size + x));
        for (int y = 2; y < size; y += 2)
            for (int x = 2; x < size; x += 2) CHECK(!maze_is_open(map, y * size + x));
        if (loops == 0) CHECK(open_cells(map, size) == tree); /* connected, and without a circle */
        if (loops == 1) CHECK(open_cells(map, size) == rooms + walls);
    }
    free(maps);
}

static void test_every_maze_of_a_pool_is_connected(void) {
    for (int size = 5; size <= 47; size += size < 21 ? 2 : 26)
        for (int loops = 0; loops < 3; loops++) check_pool(size, (float[]){0.0f, 0.05f, 1.0f}[loops]);
}

static void test_loops_open_their_share_of_the_walls(void) {
    MazeArgs args = pool(21, 0.05f, 1024);
    uint8_t *maps = build_pool(&args);
    double opened = 0;
    for (int i = 0; i < 1024; i++) opened += open_cells(maps + (size_t)i * maze_map_bytes(&args), 21) - 199;
    CHECK(fabs(opened / 1024 / 81 - 0.05) < 0.004); /* of 180 walls between corridors, 99 fall to the tree */
    free(maps);
}

static void test_mazes_differ_and_a_larger_pool_begins_alike(void) {
    MazeArgs few = pool(21, 0.05f, 8), many = pool(21, 0.05f, 64);
    uint8_t *a = build_pool(&few), *b = build_pool(&many);
    CHECK(memcmp(a, b, maze_shared_bytes(&few)) == 0);
    for (int i = 1; i < 64; i++) CHECK(memcmp(b, b + (size_t)i * maze_map_bytes(&many), maze_map_bytes(&many)) != 0);
    many.map_seed = 4;
    uint8_t *c = build_pool(&many);
    CHECK(memcmp(b, c, maze_map_bytes(&many)) != 0);
    free(a), free(b), free(c);
}

/* ---------------------------------------------------------------- episodes */

static void test_start_and_goal_are_distinct_open_cells_everywhere(void) {
    MazeArgs args = pool(5, 0, 1);
    uint8_t *maps = build_pool(&args);
    args.maps = maps;
    begin(args, 1);
    int starts[81] = {0}, goals[81] = {0}, cells = 0;
    for (int k = 0; k < 5000; k++) {
        maze_restart(&w.g);
        CHECK(w.g.start != w.g.goal && w.g.grid[w.g.goal] == MAZE_GOAL && w.g.grid[w.g.start] == MAZE_VISITED);
        starts[w.g.start]++, goals[w.g.goal]++;
    }
    for (int k = 0; k < 81; k++) {
        cells += starts[k] > 0;
        if (starts[k]) CHECK(abs(starts[k] - 5000 / 7) < 130 && abs(goals[k] - 5000 / 7) < 130); /* 5 standard deviations */
    }
    CHECK(cells == 7);
    free(maps);
}

static void test_shortest_way_and_perf(void) {
    begin_in_corridor(0);
    step(STAY);
    step(RIGHT);
    CHECK(!w.term && w.reward == -0.001f);
    step(LEFT);
    step(RIGHT);
    step(RIGHT);
    CHECK(w.term && !w.trunc && fabsf(w.reward - 0.999f) < 1e-6f);
    CHECK(w.g.log.n == 1 && w.g.log.score == 1 && w.g.log.episode_length == 5 && fabs(w.g.log.perf - 2.0 / 5) < 1e-12);
    CHECK(fabs(w.g.log.episode_return - 0.995) < 1e-6 && w.g.t == 0);
}

static void test_walls_block_and_time_goes_on(void) {
    begin_in_corridor(3);
    int32_t start = w.g.self;
    step(UP);
    step(LEFT);
    CHECK(w.g.self == start && !w.trunc);
    step(DOWN);
    CHECK(w.trunc && !w.term && w.reward == -0.001f && w.g.log.n == 1 && w.g.log.score == 0 && w.g.log.perf == 0);
}

static void test_the_goal_on_the_last_step_is_terminal(void) {
    begin_in_corridor(2);
    step(RIGHT);
    step(RIGHT);
    CHECK(w.term && !w.trunc && w.g.log.perf == 1);
}

static void test_observation_of_the_corridor(void) {
    begin_in_corridor(0);
    const uint8_t at_start[25] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    CHECK(memcmp(w.obs, at_start, 25) == 0 && w.obs[25] == 2 && w.obs[26] == 1);
    step(RIGHT);
    const uint8_t after[5] = {1, 3, 4, 2, 1};
    CHECK(memcmp(w.obs + 10, after, 5) == 0 && w.obs[25] == 2 && w.obs[26] == 1);
    step(RIGHT);
    const uint8_t at_goal[5] = {3, 3, 4, 1, 1};
    CHECK(memcmp(w.final_obs + 10, at_goal, 5) == 0 && w.final_obs[25] == 1 && w.final_obs[26] == 1);
}

static void test_out_of_range_actions_stay_and_are_counted(void) {
    begin_in_corridor(0);
    int32_t start = w.g.self;
    step(5);
    step(-1);
    CHECK(w.g.self == start && w.g.log.invalid_actions == 2);
}

static const Test tests[] = {
    TEST(test_every_maze_of_a_pool_is_connected),
    TEST(test_loops_open_their_share_of_the_walls),
    TEST(test_mazes_differ_and_a_larger_pool_begins_alike),
    TEST(test_start_and_goal_are_distinct_open_cells_everywhere),
    TEST(test_shortest_way_and_perf),
    TEST(test_walls_block_and_time_goes_on),
    TEST(test_the_goal_on_the_last_step_is_terminal),
    TEST(test_observation_of_the_corridor),
    TEST(test_out_of_range_actions_stay_and_are_counted),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
