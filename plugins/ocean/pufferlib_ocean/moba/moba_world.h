/* Moba's world: who there is, where they stand, and what all of them do alike: look around, step, be hit.
 *
 * Units have fixed numbers and their properties lie in arrays by that number; a grid holds who occupies each cell. A unit
 * whose x is 0 is not on the map. Every unit sees the map from its own side's lower left ("turned" for side 1), which
 * settles all ties, so that a transposed world with the teams swapped goes on as the transpose. */
#ifndef MOBA_WORLD_H
#define MOBA_WORLD_H

#include "moba_map.h"

/* Unit numbers; each group holds side 0's, then side 1's. Neutrals are of the side in whose half their camp lies. */
enum { MOBA_HERO = 0, MOBA_CREEP = 10, MOBA_NEUTRAL = 90, MOBA_TOWER = 126, MOBA_CORE = 144, MOBA_UNITS = 146, MOBA_SLOTS = 160 };
enum { MOBA_TEAM = 5, MOBA_HEROES = 10, MOBA_TEAM_CREEPS = 40, MOBA_CAMP = 3, MOBA_TEAM_NEUTRALS = 18 };
enum { MOBA_SUPPORT, MOBA_ASSASSIN, MOBA_MAGE, MOBA_TANK, MOBA_CARRY }; /* roles: a hero's number in its team */
enum { MOBA_SELF, MOBA_BOT };
enum { MOBA_NO_TEAM = 2 };
enum { MOBA_BLOCK_BITS = 3, MOBA_BLOCKS = MOBA_SIDE >> MOBA_BLOCK_BITS };

enum { MOBA_COOLDOWN = 4, MOBA_SIGHT = 2, MOBA_LEASH = 6, MOBA_WAVE_STEPS = 150, MOBA_CAMP_STEPS = 200 };
enum { MOBA_MAX_LEVEL = 15, MOBA_MAX_BOUGHT = 20, MOBA_PRICE = 250, MOBA_XP_RADIUS = 12, MOBA_FOUNTAIN_RADIUS = 8 };
enum { MOBA_TOWER_RANGE = 7, MOBA_CREEP_RANGE = 1, MOBA_RANGED_CREEP_RANGE = 4 };

typedef struct MobaRole {
    float hp, mana, damage;
    int32_t range;
    float hp_a_level, damage_a_level;
} MobaRole;

static const MobaRole moba_roles[MOBA_TEAM] = {
    {500, 400, 45, 5, 40, 3}, {450, 250, 70, 1, 45, 6}, {420, 450, 50, 6, 40, 4},
    {800, 250, 40, 1, 90, 3}, {450, 250, 60, 6, 45, 7}};

typedef struct MobaArgs {
    int32_t opponent, bot_level, max_steps;
    float xp_scale, reward_death, reward_xp, reward_tower, reward_win;
    const void *map;
} MobaArgs;

typedef struct MobaLog {
    PUFFER_LOG_FIELDS;
    double towers_taken, towers_lost, kills, deaths, level;
} MobaLog;

typedef struct MobaHero {
    float mana, damage, xp;
    int32_t gold, kills, deaths, returns_at; /* the step in which a dead hero is back */
    uint8_t level, bought, skill_cooldown[3], armour, haste;
    uint8_t struck, struck_for; /* the hero whom this one hit last, and for how long towers resent it */
    uint8_t retreats;           /* a bot's only memory */
    double episode_return;
} MobaHero;

typedef struct Moba {
    PufferIO io;
    PufferRng rng;
    MobaLog log;
    MobaArgs args;
    /* derived */
    const MobaMap *map;
    int32_t rows;
    /* state */
    int32_t t, kills[2], towers_lost[2], camp_returns_at[2 * MOBA_TEAM_CAMPS];
    int32_t core_lost[2], dying; /* dying: how many were killed in this step */
    MobaHero heroes[MOBA_HEROES];
    float hp[MOBA_SLOTS], max_hp[MOBA_SLOTS];
    uint8_t x[MOBA_SLOTS], y[MOBA_SLOTS], killer[MOBA_SLOTS]; /* killer: the hero who made the last hit, plus 1 */
    uint8_t cooldown[MOBA_SLOTS], stun[MOBA_SLOTS], slow[MOBA_SLOTS], taunt[MOBA_SLOTS]; /* steps left */
    uint8_t taunted_by[MOBA_SLOTS];
    uint8_t lane[MOBA_SLOTS], ranged[MOBA_SLOTS]; /* of creeps */
    uint8_t shielded[MOBA_SLOTS];                 /* structures behind others that stand */
    uint8_t crowd[2][MOBA_BLOCKS * MOBA_BLOCKS];  /* units of each team in each block of 8 x 8 cells */
    uint8_t occupant[MOBA_CELLS];                 /* unit number + 1, or 0 */
} Moba;

/* ---------------------------------------------------------------- who is who */

static inline int moba_is_hero(int unit) { return unit < MOBA_CREEP; }
static inline int moba_is_creep(int unit) { return unit >= MOBA_CREEP && unit < MOBA_NEUTRAL; }
static inline int moba_is_neutral(int unit) { return unit >= MOBA_NEUTRAL && unit < MOBA_TOWER; }
static inline int moba_is_structure(int unit) { return unit >= MOBA_TOWER; }
static inline int moba_role(int hero) { return hero % MOBA_TEAM; }

static inline int moba_side(int unit) {
    if (unit < MOBA_CREEP) return unit >= MOBA_TEAM;
    if (unit < MOBA_NEUTRAL) return unit >= MOBA_CREEP + MOBA_TEAM_CREEPS;
    if (unit < MOBA_TOWER) return unit >= MOBA_NEUTRAL + MOBA_TEAM_NEUTRALS;
    return unit < MOBA_CORE ? unit >= MOBA_TOWER + MOBA_TEAM_TOWERS : unit - MOBA_CORE;
}

static inline int moba_team(int unit) { return moba_is_neutral(unit) ? MOBA_NO_TEAM : moba_side(unit); }
static inline int moba_present(const Moba *g, int unit) { return g->x[unit] != 0; }
static inline int moba_camp(int neutral) { return (neutral - MOBA_NEUTRAL) / MOBA_CAMP; }

static inline int moba_abs(int x) { return x < 0 ? -x : x; }

/* Chebyshev */
static inline int moba_distance_to(const Moba *g, int unit, int x, int y) {
    int dx = moba_abs(g->x[unit] - x), dy = moba_abs(g->y[unit] - y);
    return dx > dy ? dx : dy;
}

static inline int moba_distance(const Moba *g, int a, int b) { return moba_distance_to(g, a, g->x[b], g->y[b]); }

/* The place of a unit in a row-major scan of the map as `side` sees it. */
static inline int moba_scan_order(const Moba *g, int unit, int side) {
    return side ? moba_cell(g->y[unit], g->x[unit]) : moba_cell(g->x[unit], g->y[unit]);
}

/* ---------------------------------------------------------------- the grid */

static inline void moba_count(Moba *g, int unit, int one) {
    if (moba_is_neutral(unit)) return;
    uint8_t *block = &g->crowd[moba_side(unit)][(g->y[unit] >> MOBA_BLOCK_BITS) * MOBA_BLOCKS + (g->x[unit] >> MOBA_BLOCK_BITS)];
    *block = (uint8_t)(*block + one);
}

static inline void moba_place(Moba *g, int unit, int x, int y) {
    g->x[unit] = (uint8_t)x;
    g->y[unit] = (uint8_t)y;
    g->occupant[moba_cell(x, y)] = (uint8_t)(unit + 1);
    moba_count(g, unit, 1);
}

static inline void moba_take_off(Moba *g, int unit) {
    moba_count(g, unit, -1);
    g->occupant[moba_cell(g->x[unit], g->y[unit])] = 0;
    g->x[unit] = g->y[unit] = 0;
}

static inline int moba_is_free(const Moba *g, int x, int y) {
    return moba_is_open(g->map, x, y) && !g->occupant[moba_cell(x, y)];
}

/* Lists all units within r of (x, y), itself included. Most of the map is empty: eight cells are looked at together. */
static inline int moba_around(const Moba *g, int x, int y, int r, uint8_t *units) {
    int left = x - r < 0 ? 0 : x - r, right = x + r >= MOBA_SIDE ? MOBA_SIDE - 1 : x + r, n = 0;
    int top = y - r < 0 ? 0 : y - r, bottom = y + r >= MOBA_SIDE - 1 ? MOBA_SIDE - 2 : y + r;
    for (int row = top; row <= bottom; row++) {
        const uint8_t *cells = g->occupant + moba_cell(0, row);
        for (int first = left; first <= right; first += 8) {
            uint64_t eight;
            memcpy(&eight, cells + first, 8); /* may reach into the next row, which exists */
            if (!eight) continue;
            int end = first + 8 <= right + 1 ? first + 8 : right + 1;
            for (int k = first; k < end; k++)
                if (cells[k]) units[n++] = (uint8_t)(cells[k] - 1);
        }
    }
    return n;
}

/* Whether a team may have units within r of (x, y): false is certain, and spares a look at the grid. */
static inline int moba_may_be_near(const Moba *g, int team, int x, int y, int r) {
    const int last = MOBA_SIDE - 1;
    int left = puffer_clipi(x - r, 0, last) >> MOBA_BLOCK_BITS, right = puffer_clipi(x + r, 0, last) >> MOBA_BLOCK_BITS;
    int top = puffer_clipi(y - r, 0, last) >> MOBA_BLOCK_BITS, bottom = puffer_clipi(y + r, 0, last) >> MOBA_BLOCK_BITS, any = 0;
    for (int row = top; row <= bottom; row++)
        for (int k = left; k <= right; k++) any |= g->crowd[team][row * MOBA_BLOCKS + k];
    return any;
}

/* The first free cell of a square spiral around (x, y), as `side` sees it. There is always one. */
static inline int moba_free_cell(const Moba *g, int x, int y, int side) {
    if (moba_is_free(g, x, y)) return moba_cell(x, y);
    for (int r = 1;; r++)
        for (int k = 0; k < 8 * r; k++) {
            int edge = k / (2 * r), i = k % (2 * r) - r;
            int dx = edge == 0 ? i : edge == 1 ? r : edge == 2 ? -i : -r;
            int dy = edge == 0 ? -r : edge == 1 ? i : edge == 2 ? r : -i;
            int to_x = x + (side ? dy : dx), to_y = y + (side ? dx : dy);
            if (moba_is_free(g, to_x, to_y)) return moba_cell(to_x, to_y);
        }
}

/* ---------------------------------------------------------------- steps */

static inline int moba_can_step(const Moba *g, int unit, int direction) {
    int cell = moba_cell(g->x[unit], g->y[unit]);
    return (g->map->steps[cell] >> direction & 1) && !g->occupant[cell + moba_offset[direction]];
}

static inline void moba_step_to(Moba *g, int unit, int direction) {
    int x = g->x[unit] + moba_dx[direction], y = g->y[unit] + moba_dy[direction];
    moba_take_off(g, unit);
    moba_place(g, unit, x, y);
}

/* A free direction: the wanted one, else the next one clockwise, else anticlockwise, as the unit's side sees it; or -1. */
static inline int moba_steer(const Moba *g, int unit, int wanted) {
    int clockwise = moba_side(unit) ? 7 : 1;
    if (moba_can_step(g, unit, wanted)) return wanted;
    if (moba_can_step(g, unit, (wanted + clockwise) & 7)) return (wanted + clockwise) & 7;
    return moba_can_step(g, unit, (wanted + 8 - clockwise) & 7) ? (wanted + 8 - clockwise) & 7 : -1;
}

/* The direction of the shortest way to a target, around who stands in it; -1: there, or held up. */
static inline int moba_way(const Moba *g, int unit, int target) {
    int direction = g->map->ways[target][moba_cell(g->x[unit], g->y[unit])];
    return direction < 8 ? moba_steer(g, unit, direction) : -1;
}

static inline void moba_follow(Moba *g, int unit, int target) {
    int direction = moba_way(g, unit, target);
    if (direction >= 0) moba_step_to(g, unit, direction);
}

static inline void moba_chase(Moba *g, int unit, int prey) {
    static const int8_t directions[3][3] = {{7, 0, 1}, {6, -1, 2}, {5, 4, 3}}; /* by the signs of dy and dx */
    int dx = g->x[prey] - g->x[unit], dy = g->y[prey] - g->y[unit];
    int wanted = directions[(dy > 0) - (dy < 0) + 1][(dx > 0) - (dx < 0) + 1];
    int direction = wanted < 0 ? -1 : moba_steer(g, unit, wanted);
    if (direction >= 0) moba_step_to(g, unit, direction);
}

/* A slowed unit moves every other step. */
static inline int moba_may_move(const Moba *g, int unit) { return !g->stun[unit] && !(g->slow[unit] && (g->t & 1)); }

/* ---------------------------------------------------------------- fights */

/* An enemy who can be hit. Who has been killed in this step is let be, though it acts once more. */
static inline int moba_is_prey(const Moba *g, int unit, int team) {
    return g->hp[unit] > 0 && moba_team(unit) != team && !g->shielded[unit];
}

/* Deaths are settled at the end of the step, so two can kill each other. */
static inline void moba_hit(Moba *g, int attacker, int victim, float damage) {
    if (moba_is_hero(victim) && g->heroes[victim].armour) damage *= 0.5f;
    if (g->hp[victim] <= 0) return;
    g->hp[victim] -= damage;
    if (g->hp[victim] <= 0) {
        g->killer[victim] = (uint8_t)(moba_is_hero(attacker) ? attacker + 1 : 0);
        g->dying++;
    }
    if (moba_is_hero(attacker) && moba_is_hero(victim)) {
        g->heroes[attacker].struck = (uint8_t)victim;
        g->heroes[attacker].struck_for = MOBA_COOLDOWN;
    }
}

/* Whom a taunted unit has to attack if it can; else -1. */
static inline int moba_taunter(const Moba *g, int unit, int range) {
    int by = g->taunted_by[unit];
    return g->taunt[unit] && moba_present(g, by) && g->hp[by] > 0 && moba_distance(g, unit, by) <= range ? by : -1;
}

static inline void moba_reward(Moba *g, int hero, float reward) {
    if (hero < g->rows) g->io.rew[hero] += reward;
}

/* A hero's maximum and damage by its level and what it bought; hp grows by what the maximum grows. */
static inline void moba_grow(Moba *g, int hero) {
    const MobaRole *role = &moba_roles[moba_role(hero)];
    MobaHero *h = &g->heroes[hero];
    float bought = 1.0f + 0.05f * (float)h->bought, before = g->max_hp[hero];
    g->max_hp[hero] = (role->hp + role->hp_a_level * (float)h->level) * bought;
    h->damage = (role->damage + role->damage_a_level * (float)h->level) * bought;
    if (g->hp[hero] > 0) g->hp[hero] = puffer_minf(g->hp[hero] + (g->max_hp[hero] - before), g->max_hp[hero]);
}

static inline void moba_heal(Moba *g, int unit, float amount) {
    g->hp[unit] = puffer_minf(g->hp[unit] + amount, g->max_hp[unit]);
}

#endif
