/* The rules of tower_climb.h, each by a situation that one can check by hand, or against a slow and simple version of it.
 * test_tower_climb.py compiles this file with the address and undefined-behaviour sanitizers and runs its tests one by one:
 * `test_tower_climb NAME`. */
#include "tower_climb.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-6)

enum { UP, RIGHT, DOWN, LEFT, MAX_CELLS = 12 * 8 * 64 };

static struct {
    TowerClimb g;
    TowerClimbMap *maps;
    void *arena;
    uint8_t obs[TOWER_CLIMB_BOX + 3], final_obs[TOWER_CLIMB_BOX + 3], term, trunc, mask;
    float reward;
    int32_t action;
} w;

static void begin(int width, int depth, int height, int num_maps) {
    TowerClimbArgs args = {.width = width, .depth = depth, .height = height, .num_maps = num_maps, .reward_row = 0.5f,
                           .reward_fall = -0.1f, .reward_illegal = -0.004f};
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = &w.action, .rew = &w.reward, .term = &w.term, .trunc = &w.trunc,
                   .mask = &w.mask};
    free(w.maps), free(w.arena);
    w.maps = calloc(1, tower_climb_shared_bytes(&args));
    w.arena = calloc(1, tower_climb_bytes(&args));
    CHECK(w.maps && w.arena);
    args.maps = w.maps;
    CHECK(tower_climb_shared_init(w.maps, &args) == 0 && tower_climb_init(&w.g, &args, w.arena, io) == 0);
    tower_climb_reset(&w.g, 1);
}

/* An empty tower 8 x 6 x 10, and the agent somewhere. */
static void begin_empty(int x, int y, int z, int direction) {
    begin(8, 6, 10, 1);
    memset(w.g.layers, 0, tower_climb_bytes(&w.g.args));
    w.g.x = x, w.g.y = y, w.g.z = z, w.g.direction = direction;
    w.g.highest = z;
}

static void blocks(int x, int y, int from, int to) {
    for (int z = from; z <= to; z++) tower_climb_set(&w.g, x, y, z, 1);
}

static int block(int x, int y, int z) { return tower_climb_is_block(&w.g, x, y, z); }
static int is_at(int x, int y, int z) { return w.g.x == x && w.g.y == y && w.g.z == z; }

static void step(int action) {
    w.action = action;
    tower_climb_step(&w.g);
}

/* ---------------------------------------------------------------- walking */

static void test_turns_and_walks_on_the_ground_and_not_out_of_the_tower(void) {
    begin_empty(0, 0, 0, UP);
    step(TOWER_CLIMB_FORWARD);
    CHECK(is_at(0, 0, 0) && CLOSE(w.reward, -0.004));
    step(TOWER_CLIMB_RIGHT);
    CHECK(w.g.direction == RIGHT && w.reward == 0);
    step(TOWER_CLIMB_FORWARD);
    CHECK(is_at(1, 0, 0));
    step(TOWER_CLIMB_LEFT), step(TOWER_CLIMB_LEFT), step(TOWER_CLIMB_LEFT);
    step(TOWER_CLIMB_FORWARD);
    CHECK(w.g.direction == DOWN && is_at(1, 1, 0));
}

static void test_climbing_takes_room_above_both_cells(void) {
    begin_empty(2, 2, 0, RIGHT);
    blocks(3, 2, 0, 0);
    step(TOWER_CLIMB_FORWARD);
    CHECK(is_at(3, 2, 1) && CLOSE(w.reward, 0.5) && w.g.highest == 1);
    begin_empty(2, 2, 0, RIGHT);
    blocks(3, 2, 0, 1);
    step(TOWER_CLIMB_FORWARD);
    CHECK(is_at(2, 2, 0) && CLOSE(w.reward, -0.004));
    begin_empty(2, 2, 0, RIGHT);
    blocks(3, 2, 0, 0), blocks(2, 2, 1, 1);
    step(TOWER_CLIMB_FORWARD);
    CHECK(is_at(2, 2, 0) && CLOSE(w.reward, -0.004));
}

static void test_a_fall_of_two_levels_is_survived_and_one_of_three_is_not(void) {
    begin_empty(2, 2, 2, RIGHT);
    blocks(2, 2, 0, 1);
    step(TOWER_CLIMB_FORWARD);
    CHECK(is_at(3, 2, 0) && !w.term && CLOSE(w.reward, -0.2) && w.g.highest == 2);
    step(TOWER_CLIMB_STAY);
    CHECK(w.reward == 0); /* paid once */
    begin_empty(2, 2, 3, RIGHT);
    blocks(2, 2, 0, 2);
    step(TOWER_CLIMB_FORWARD);
    CHECK(w.term && !w.trunc && CLOSE(w.reward, -0.3) && w.final_obs[226] == 0 && w.final_obs[227] == 3);
}

static void test_the_summit_ends_the_episode_and_pays_1(void) {
    begin_empty(2, 2, 8, RIGHT);
    blocks(2, 2, 0, 7), blocks(3, 2, 0, 8);
    step(TOWER_CLIMB_FORWARD);
    CHECK(w.term && CLOSE(w.reward, 1.5) && w.g.log.perf == 1 && w.g.log.score == 9);
}

/* ---------------------------------------------------------------- pushing and pulling */

static void test_a_chain_of_three_is_pushed_as_one_and_not_out_of_the_tower(void) {
    begin_empty(1, 2, 0, RIGHT);
    blocks(2, 2, 0, 0), blocks(3, 2, 0, 0), blocks(4, 2, 0, 0);
    step(TOWER_CLIMB_PUSH);
    CHECK(w.reward == 0 && !block(2, 2, 0) && block(3, 2, 0) && block(4, 2, 0) && block(5, 2, 0) && is_at(1, 2, 0));
    step(TOWER_CLIMB_PUSH); /* nothing is right ahead any more */
    CHECK(CLOSE(w.reward, -0.004));
    w.g.x = 4, w.g.y = 2, w.g.z = 1, w.g.direction = RIGHT;
    begin_empty(4, 2, 0, RIGHT);
    blocks(5, 2, 0, 0), blocks(6, 2, 0, 0), blocks(7, 2, 0, 0);
    step(TOWER_CLIMB_PUSH);
    CHECK(CLOSE(w.reward, -0.004) && block(5, 2, 0) && block(7, 2, 0));
}

static void test_pulling_takes_a_block_ahead_and_a_floor_behind(void) {
    begin_empty(2, 2, 1, RIGHT);
    blocks(2, 2, 0, 0), blocks(1, 2, 0, 0), blocks(3, 2, 0, 1);
    step(TOWER_CLIMB_PULL);
    CHECK(w.reward == 0 && is_at(1, 2, 1) && block(2, 2, 1) && !block(3, 2, 1));
    begin_empty(2, 2, 1, RIGHT); /* behind is a hole */
    blocks(2, 2, 0, 0), blocks(3, 2, 0, 1);
    step(TOWER_CLIMB_PULL);
    CHECK(CLOSE(w.reward, -0.004) && is_at(2, 2, 1));
    begin_empty(0, 2, 0, RIGHT); /* behind is outside */
    blocks(1, 2, 0, 0);
    step(TOWER_CLIMB_PULL);
    CHECK(CLOSE(w.reward, -0.004) && is_at(0, 2, 0));
    begin_empty(2, 2, 0, RIGHT); /* nothing to pull */
    step(TOWER_CLIMB_PULL);
    CHECK(CLOSE(w.reward, -0.004));
}

static void test_a_block_stays_above_a_block_or_beside_one_below_and_falls_otherwise(void) {
    begin_empty(1, 2, 3, RIGHT);
    blocks(1, 2, 0, 2), blocks(2, 2, 0, 3), blocks(3, 2, 0, 1); /* pushed from (2, 2, 3) to (3, 2, 3): beside (2, 2, 2) */
    step(TOWER_CLIMB_PUSH);
    CHECK(block(3, 2, 3) && !block(3, 2, 2));
    w.g.x = 2, w.g.y = 2, w.g.z = 3;
    step(TOWER_CLIMB_PUSH); /* to (4, 2, 3): nothing but (3, 2, 1) is near; it falls until it is beside that */
    CHECK(!block(4, 2, 3) && block(4, 2, 2) && !w.term);
}

static void test_a_block_on_the_head_ends_the_episode(void) {
    begin_empty(2, 2, 0, RIGHT);
    blocks(3, 2, 0, 0);
    blocks(2, 2, 1, 1); /* above the agent, held by (3, 2, 0) only */
    step(TOWER_CLIMB_PUSH);
    CHECK(w.term && !w.trunc && w.g.log.n == 1);
}

/* ---------------------------------------------------------------- settling against a slow version, and in mirrors */

static void random_tower(PufferRng *rng, float density) {
    for (int z = 0; z < w.g.args.height; z++)
        for (int y = 0; y < w.g.args.depth; y++)
            for (int x = 0; x < w.g.args.width; x++) tower_climb_set(&w.g, x, y, z, puffer_chance(rng, density));
}

static void copy_cells(uint8_t *cells, int mirror_x, int mirror_y) {
    int width = w.g.args.width, depth = w.g.args.depth, k = 0;
    for (int z = 0; z < w.g.args.height; z++)
        for (int y = 0; y < depth; y++)
            for (int x = 0; x < width; x++)
                cells[k++] = (uint8_t)block(mirror_x ? width - 1 - x : x, mirror_y ? depth - 1 - y : y, z);
}

static void load_cells(const uint8_t *cells) {
    int k = 0;
    for (int z = 0; z < w.g.args.height; z++)
        for (int y = 0; y < w.g.args.depth; y++)
            for (int x = 0; x < w.g.args.width; x++) tower_climb_set(&w.g, x, y, z, cells[k++]);
}

static void settle_slowly(uint8_t *cells) {
    int width = w.g.args.width, depth = w.g.args.depth, layer = width * depth;
    for (int moved = 1; moved;) {
        moved = 0;
        for (int z = 1; z < w.g.args.height; z++) {
            uint8_t falls[12 * 8], *here = cells + z * layer, *below = here - layer;
            for (int y = 0; y < depth; y++)
                for (int x = 0; x < width; x++) {
                    int k = y * width + x, held = below[k];
                    if (x > 0) held |= below[k - 1];
                    if (x < width - 1) held |= below[k + 1];
                    if (y > 0) held |= below[k - width];
                    if (y < depth - 1) held |= below[k + width];
                    falls[k] = here[k] && !held;
                }
            for (int k = 0; k < layer; k++)
                if (falls[k]) here[k] = 0, below[k] = 1, moved = 1;
        }
    }
}

static void test_settling_equals_a_slow_version_and_does_not_know_left_from_right(void) {
    static const int sizes[][3] = {{8, 6, 24}, {12, 8, 64}, {4, 3, 8}, {12, 3, 16}, {5, 8, 16}};
    static uint8_t start[4][MAX_CELLS], settled[MAX_CELLS], expected[MAX_CELLS];
    PufferRng rng;
    puffer_seed(&rng, 3);
    for (int k = 0; k < 60; k++) {
        const int *size = sizes[k % 5];
        size_t cells = (size_t)(size[0] * size[1] * size[2]);
        if (k < 5 || k % 5 != (k - 1) % 5) begin(size[0], size[1], size[2], 1);
        w.g.x = w.g.y = w.g.z = 0;
        random_tower(&rng, puffer_range(&rng, 0.02f, 0.3f));
        for (int m = 0; m < 4; m++) copy_cells(start[m], m & 1, m >> 1);
        for (int m = 0; m < 4; m++) {
            load_cells(start[m]);
            tower_climb_settle(&w.g);
            copy_cells(settled, m & 1, m >> 1); /* mirrored back */
            if (m == 0) {
                memcpy(expected, start[0], cells);
                settle_slowly(expected);
            }
            CHECK(memcmp(settled, expected, cells) == 0);
        }
    }
}

/* ---------------------------------------------------------------- observations */

static void test_the_box_is_what_lies_around_in_the_agents_own_axes(void) {
    PufferRng rng;
    puffer_seed(&rng, 4);
    static const int sizes[][3] = {{8, 6, 24}, {12, 8, 16}, {4, 3, 8}};
    for (int k = 0; k < 600; k++) {
        const int *size = sizes[k / 200];
        if (k % 200 == 0) begin(size[0], size[1], size[2], 1);
        if (k % 20 == 0) random_tower(&rng, 0.3f);
        w.g.x = (int)puffer_below(&rng, (uint32_t)size[0]), w.g.y = (int)puffer_below(&rng, (uint32_t)size[1]);
        w.g.z = (int)puffer_below(&rng, (uint32_t)size[2]), w.g.direction = k % 4;
        tower_climb_write_obs(&w.g, w.obs);
        const uint8_t *seen = w.obs;
        int dx = tower_climb_dx[k % 4], dy = tower_climb_dy[k % 4];
        for (int up = -2; up <= 2; up++)
            for (int ahead = 2; ahead >= -2; ahead--)
                for (int right = -4; right <= 4; right++, seen++) { /* to its right: turned by 90 degrees */
                    int x = w.g.x + ahead * dx - right * dy, y = w.g.y + ahead * dy + right * dx, z = w.g.z + up;
                    int is_inside = tower_climb_inside(&w.g, x, y) && z >= 0 && z < size[2];
                    CHECK(*seen == (!is_inside ? 2 : block(x, y, z) ? 1 : z == size[2] - 1 ? 3 : 0));
                }
        CHECK(w.obs[225] == k % 4 && w.obs[226] == w.g.z);
    }
}

/* ---------------------------------------------------------------- the towers */

/* The hand policy: a shortest way to the summit, by breadth-first search over places and directions with walking, climbing and
 * turning alone, then walked in the game itself. */
static int climb_by_search(void) {
    static int32_t from[64 * 12 * 8 * 4], queue[64 * 12 * 8 * 4];
    static int8_t how[64 * 12 * 8 * 4];
    static int actions[64 * 12 * 8 * 4];
    int width = w.g.args.width, depth = w.g.args.depth, head = 0, tail = 0, goal = -1, n = 0;
    TowerClimb start = w.g;
    memset(from, 0xFF, sizeof from);
#define STATE(g) ((((g).z * depth + (g).y) * width + (g).x) * 4 + (g).direction)
    queue[tail++] = STATE(start);
    from[queue[0]] = queue[0];
    while (head < tail && goal < 0) {
        int state = queue[head++];
        for (int action = TOWER_CLIMB_FORWARD; action <= TOWER_CLIMB_RIGHT && goal < 0; action++) {
            w.g.direction = state % 4, w.g.x = state / 4 % width;
            w.g.y = state / 4 / width % depth, w.g.z = state / 4 / width / depth;
            TowerClimbResult result = tower_climb_act(&w.g, action);
            if (!result.is_legal || result.is_lost || from[STATE(w.g)] >= 0) continue;
            from[STATE(w.g)] = state;
            how[STATE(w.g)] = (int8_t)action;
            if (w.g.z == w.g.args.height - 1) goal = STATE(w.g);
            queue[tail++] = STATE(w.g);
        }
    }
    w.g = start;
    if (goal < 0) return 0;
    for (int state = goal; from[state] != state; state = from[state]) actions[n++] = how[state];
#undef STATE
    while (n > 0) step(actions[--n]);
    return 1;
}

static void test_the_hand_policy_climbs_every_tower(void) {
    static const int sizes[][3] = {{8, 6, 24}, {4, 3, 8}, {4, 3, 64}, {12, 8, 16}};
    for (int s = 0; s < 4; s++) {
        begin(sizes[s][0], sizes[s][1], sizes[s][2], 40);
        for (int k = 0; k < 60; k++) {
            uint8_t before[MAX_CELLS], after[MAX_CELLS];
            copy_cells(before, 0, 0);
            tower_climb_settle(&w.g);
            copy_cells(after, 0, 0);
            CHECK(memcmp(before, after, (size_t)(sizes[s][0] * sizes[s][1] * sizes[s][2])) == 0); /* stable from the start */
            CHECK(tower_climb_stands(&w.g, w.g.x, w.g.y, w.g.z) && !block(w.g.x, w.g.y, w.g.z));
            CHECK(climb_by_search() && w.term);
        }
        CHECK(w.g.log.n == 60 && w.g.log.perf == 60);
    }
}

static void test_the_staircase_can_be_climbed(void) {
    static const int sizes[][3] = {{8, 6, 24}, {4, 3, 64}, {12, 8, 64}};
    for (int s = 0; s < 3; s++) {
        begin(sizes[s][0], sizes[s][1], sizes[s][2], 1);
        memset(w.maps, 0, sizeof *w.maps);
        tower_climb_staircase(w.maps, &w.g.args);
        tower_climb_reset(&w.g, 1);
        CHECK(!tower_climb_settle(&w.g) && climb_by_search() && w.term);
    }
}

static const Test tests[] = {
    TEST(test_turns_and_walks_on_the_ground_and_not_out_of_the_tower),
    TEST(test_climbing_takes_room_above_both_cells),
    TEST(test_a_fall_of_two_levels_is_survived_and_one_of_three_is_not),
    TEST(test_the_summit_ends_the_episode_and_pays_1),
    TEST(test_a_chain_of_three_is_pushed_as_one_and_not_out_of_the_tower),
    TEST(test_pulling_takes_a_block_ahead_and_a_floor_behind),
    TEST(test_a_block_stays_above_a_block_or_beside_one_below_and_falls_otherwise),
    TEST(test_a_block_on_the_head_ends_the_episode),
    TEST(test_settling_equals_a_slow_version_and_does_not_know_left_from_right),
    TEST(test_the_box_is_what_lies_around_in_the_agents_own_axes),
    TEST(test_the_hand_policy_climbs_every_tower),
    TEST(test_the_staircase_can_be_climbed),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
