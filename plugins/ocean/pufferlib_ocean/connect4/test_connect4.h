/* What the tests of connect4's rules and bot share: a world on its own arrays, and positions. test_connect4.py
 * compiles the C files with the address and undefined-behaviour sanitizers and runs their tests one by one. */
#include "connect4.h"
#include "testing.h"

typedef struct World {
    Connect4 g;
    float obs[88], final_obs[88], rewards[2];
    uint8_t term[2], trunc[2], mask[2], act_mask[14];
    int32_t actions[2];
} World;

static World w;

static inline Connect4Args against(int opponent) {
    return (Connect4Args){.opponent = opponent, .bot_epsilon = 0.05f, .reward_illegal = -0.02f, .bot_depth = 2};
}

static inline void begin(World *world, Connect4Args args, uint64_t seed) {
    PufferIO io = {.obs = world->obs, .final_obs = world->final_obs, .act = world->actions, .rew = world->rewards,
                   .term = world->term, .trunc = world->trunc, .mask = world->mask, .act_mask = world->act_mask};
    CHECK(connect4_init(&world->g, &args, NULL, io) == 0);
    connect4_reset(&world->g, seed);
}

static inline uint64_t cell(int column, int row) { return 1ULL << (7 * column + row); }

/* Random moves from the empty board, until `plies` are played or somebody would have four. Returns how many were. */
static inline int random_position(PufferRng *rng, int plies, uint64_t *own, uint64_t *other) {
    uint64_t stones[2] = {0, 0};
    int n = 0;
    for (; n < plies; n++) {
        uint8_t legal[7];
        uint64_t playable = connect4_playable(stones[0] | stones[1]);
        for (int c = 0; c < 7; c++) legal[c] = (playable & connect4_column(c)) != 0;
        uint64_t stone = playable & connect4_column(turns_random_action(rng, legal, 7));
        if (connect4_has_four(stones[n & 1] | stone)) break;
        stones[n & 1] |= stone;
    }
    *own = stones[n & 1];
    *other = stones[1 - (n & 1)];
    return n;
}
