/* What the tests of nmmo's rules share: one world on its own arrays, a meadow, and ways to put units where a rule shows.
 * test_nmmo.py compiles the C files with the address and undefined-behaviour sanitizers and runs their tests one by one. */
#include "nmmo.h"
#include "testing.h"

enum { STAY, UP, RIGHT, DOWN, LEFT, MELEE = 1, RANGED, MAGIC, MAX_ROWS = 1024, SIDE = 128, NUMBERS = NMMO_WINDOW_BYTES };

typedef struct World {
    Nmmo g;
    void *arena, *maps;
    uint8_t obs[MAX_ROWS][NMMO_OBS], final_obs[MAX_ROWS][NMMO_OBS];
    float rewards[MAX_ROWS];
    uint8_t term[MAX_ROWS], trunc[MAX_ROWS], mask[MAX_ROWS];
    int32_t actions[MAX_ROWS][NMMO_ACTIONS];
} World;

static World w;

/* ---------------------------------------------------------------- worlds */

static inline void begin(NmmoArgs args, void *maps, uint64_t seed) {
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = w.actions, .rew = w.rewards, .term = w.term,
                   .trunc = w.trunc, .mask = w.mask};
    free(w.arena), free(w.maps);
    w.maps = maps;
    args.maps = maps;
    w.arena = malloc(nmmo_bytes(&args));
    memset(w.actions, 0, sizeof w.actions);
    CHECK(w.arena && nmmo_init(&w.g, &args, w.arena, io) == 0);
    nmmo_reset(&w.g, seed);
}

static inline void *make_maps(const NmmoArgs *args) {
    void *maps = malloc(nmmo_shared_bytes(args));
    CHECK(maps && nmmo_shared_init(maps, args) == 0);
    return maps;
}

/* A meadow with the usual border of water, on which `lay` puts what a test needs. Units first stand far away: agent i at
 * (10 + 2 i, 100), NPC k, level 10 and neutral, at (10 + 12 k, 80). */
static inline void begin_on_meadow(int agents, int npcs) {
    NmmoArgs args = {.num_agents = agents, .size = SIDE, .num_npcs = npcs, .num_maps = 1, .market = 1, .pvp = 1,
                     .reward_level = 1, .reward_death = -1, .reward_item = 0.5f};
    uint8_t *map = malloc(SIDE * SIDE);
    memset(map, NMMO_GRASS | NMMO_MAINLAND, SIDE * SIDE);
    nmmo_make_border(map, SIDE);
    begin(args, map, 1);
    for (int u = 0; u < agents + npcs; u++) nmmo_clear_cell(&w.g, w.g.units[u].cell);
    for (int u = 0; u < agents; u++) nmmo_place(&w.g, u, 10 + 2 * u % 100, 100 + 2 * (u / 50));
    for (int k = 0; k < npcs; k++) {
        NmmoUnit *u = &w.g.units[agents + k];
        *u = (NmmoUnit){.hp = 60, .level = 10, .who = NMMO_NEUTRAL, .style = NMMO_MELEE, .striker = -1};
        nmmo_place(&w.g, agents + k, 10 + 12 * (k % 9), 80 - 5 * (k / 9));
        w.g.npcs[k] = (NmmoNpc){.home = u->cell, .home_x = u->x, .home_y = u->y, .target = -1, .max_hp = 60};
    }
}

static inline NmmoUnit *unit(int i) { return &w.g.units[i]; }
static inline NmmoAgent *agent(int i) { return &w.g.agents[i]; }
static inline NmmoItem *slot(int i, int k) { return &w.g.agents[i].slots[k]; }
static inline int at(int x, int y) { return y * SIDE + x; }
static inline int terrain(int x, int y) { return *nmmo_view(&w.g, at(x, y)); }
static inline int is_at(int i, int x, int y) { return unit(i)->x == x && unit(i)->y == y && w.g.occupant[at(x, y)] == i + 1; }
static inline int item(int i, int k) { return slot(i, k)->kind * 10 + slot(i, k)->tier; }
static inline const NmmoStall *stall(int goods) { return &w.g.stalls[goods]; }

/* ---------------------------------------------------------------- putting things in place */

/* Both the world's terrain and the map to which it grows back. */
static inline void lay(int x, int y, int what) {
    ((uint8_t *)w.maps)[at(x, y)] = (uint8_t)(what | NMMO_MAINLAND);
    *nmmo_view(&w.g, at(x, y)) = (uint8_t)what;
}

static inline void put(int i, int x, int y) {
    nmmo_clear_cell(&w.g, unit(i)->cell);
    nmmo_place(&w.g, i, x, y);
    if (i < w.g.agents_end) return;
    NmmoNpc *npc = &w.g.npcs[i - w.g.agents_end];
    npc->home = unit(i)->cell, npc->home_x = (int16_t)x, npc->home_y = (int16_t)y;
}

static inline void give(int i, int k, int kind, int tier) {
    *slot(i, k) = (NmmoItem){(uint8_t)kind, (uint8_t)tier, 0};
    w.g.books.items_in += 1;
}

static inline void set_level(int i, int skill, int level) {
    agent(i)->level[skill] = (uint8_t)level;
    agent(i)->xp[skill] = nmmo_xp_for(level);
    if (skill != NMMO_GATHER && level > unit(i)->level) unit(i)->level = (uint8_t)level;
}

static inline void feed_all(void) {
    for (int i = 0; i < w.g.agents_end; i++) agent(i)->food = agent(i)->water = NMMO_FULL;
}

/* An agent that dies of hunger at the end of the next step. */
static inline void starve(int i) { unit(i)->hp = 1, agent(i)->food = 0; }

/* ---------------------------------------------------------------- steps */

static inline void act(int i, int move, int attack, int verb) {
    w.actions[i][0] = move, w.actions[i][1] = attack, w.actions[i][2] = verb;
}

/* One step of the actions given by `act`, which then are over. */
static inline void step(void) {
    nmmo_step(&w.g);
    memset(w.actions, 0, sizeof w.actions);
}

/* Until it hits: xp tells. */
static inline void attack_until_hit(int i, int style) {
    int before = agent(i)->xp[style - 1];
    for (int k = 0; k < 100 && agent(i)->xp[style - 1] == before && !w.term[i]; k++) act(i, 0, style, 0), step();
}
