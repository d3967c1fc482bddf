/* What the tests of moba's rules share: one world on its own arrays, and ways to put units where a rule shows.
 * test_moba.py compiles the C files with the address and undefined-behaviour sanitizers and runs their tests one by one. */
#include "moba.h"
#include "testing.h"

enum { UP = 1, UP_RIGHT, RIGHT, DOWN_RIGHT, DOWN, DOWN_LEFT, LEFT, UP_LEFT };
enum { ATTACK = 1, SKILL_1, SKILL_2, SKILL_3 };

typedef struct World {
    Moba g;
    uint8_t obs[MOBA_HEROES][MOBA_OBS], final_obs[MOBA_HEROES][MOBA_OBS];
    uint8_t term[MOBA_HEROES], trunc[MOBA_HEROES], mask[MOBA_HEROES];
    float reward[MOBA_HEROES];
    int32_t act[MOBA_HEROES][3];
} World;

static World w;
static MobaMap map;

static inline MobaArgs defaults(void) {
    return (MobaArgs){.opponent = MOBA_SELF, .bot_level = 1, .max_steps = 0, .xp_scale = 1, .reward_death = -0.5f,
                      .reward_xp = 0.002f, .reward_tower = 0.5f, .reward_win = 2, .map = &map};
}

static inline int random_below(PufferRng *rng, int n) { return (int)puffer_below(rng, (uint32_t)n); }

static inline MobaAction random_action(PufferRng *rng) {
    MobaAction a = {random_below(rng, MOBA_MOVES), 0, 0};
    a.verb = random_below(rng, MOBA_VERBS);
    a.prefer = random_below(rng, MOBA_PREFERENCES);
    return a;
}

static inline void open_world(World *world, MobaArgs args, uint64_t seed) {
    PufferIO io = {.obs = world->obs, .final_obs = world->final_obs, .act = world->act, .rew = world->reward, .term = world->term,
                   .trunc = world->trunc, .mask = world->mask};
    if (map.steps[moba_cell(64, 64)] == 0) moba_map_init(&map, NULL);
    memset(world, 0, sizeof *world);
    CHECK(moba_init(&world->g, &args, NULL, io) == 0);
    moba_reset(&world->g, seed);
}

/* A world without creeps and neutrals, whose heroes wait at their fountains. */
static inline void begin(MobaArgs args) {
    open_world(&w, args, 1);
    for (int unit = MOBA_CREEP; unit < MOBA_TOWER; unit++)
        if (moba_present(&w.g, unit)) moba_leave(&w.g, unit);
}

static inline void put(int unit, int x, int y) {
    if (moba_present(&w.g, unit)) moba_take_off(&w.g, unit);
    CHECK(moba_is_free(&w.g, x, y));
    moba_place(&w.g, unit, x, y);
}

/* A creep or a neutral that was not there. */
static inline void add(int unit, int x, int y, float hp) { moba_arrive(&w.g, unit, moba_cell(x, y), hp); }

static inline void act(int hero, int move, int verb, int prefer) {
    w.act[hero][0] = move;
    w.act[hero][1] = verb;
    w.act[hero][2] = prefer;
}

/* One step; every hero to whom nothing was told stays. */
static inline void step(void) {
    moba_step(&w.g);
    memset(w.act, 0, sizeof w.act);
}

static inline void steps(int n) {
    while (n-- > 0) step();
}

static inline int is_near(float a, float b) { return fabsf(a - b) < 1e-3f; }

/* What a living hero away from home has after a step that took `damage` from it. */
static inline float rested(float hp, float max_hp, float damage) { return puffer_minf(hp - damage + 0.002f * max_hp, max_hp); }
