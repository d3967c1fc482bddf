/* Nmmo's world: who there is, where they stand, and what agents and NPCs do alike: be placed, be shown, look around, fight.
 *
 * Units are numbered: agents (the rows) first, then NPCs. Beside an occupancy grid stands `view`, four bytes a cell just as
 * observations show them (terrain, who, level, hp / 4), kept up to date where something changes, so that a window is a copy
 * of eleven pieces of rows. Units stay on the mainland, 8 cells or more from the edge: no window or range leaves the map. */
#ifndef NMMO_WORLD_H
#define NMMO_WORLD_H

#include "nmmo_map.h"

enum { NMMO_SEE_TERRAIN, NMMO_SEE_WHO, NMMO_SEE_LEVEL, NMMO_SEE_HP, NMMO_SEEN_BYTES };
enum { NMMO_NOBODY, NMMO_PLAYER, NMMO_PASSIVE, NMMO_NEUTRAL, NMMO_HOSTILE, NMMO_SELF }; /* who */
enum { NMMO_MELEE, NMMO_RANGED, NMMO_MAGIC, NMMO_GATHER, NMMO_SKILLS, NMMO_STYLES = 3 };
enum { NMMO_NO_STYLE = -1 };
enum { NMMO_WEAPON, NMMO_ARMOUR, NMMO_POTION, NMMO_RATION, NMMO_GOODS };
enum { NMMO_SLOTS = 8, NMMO_TIERS = 5, NMMO_OFFERS = 64, NMMO_REGROW_STEPS = 100, NMMO_SPAWN_TRIES = 64 };
enum { NMMO_MAX_LEVEL = 50, NMMO_MAX_HP = 100, NMMO_FULL = 200, NMMO_RANGE = 4 }; /* food and water in halves */

/* kind: 0 none, 1-3 weapon by style, 4 armour, 5 potion, 6 ration; tier 1-5. As observations show it. */
typedef struct NmmoItem {
    uint8_t kind, tier, equipped;
} NmmoItem;

typedef struct NmmoUnit {
    int32_t cell, damage; /* damage: gathered in this step's attacks */
    int16_t x, y, hp, striker; /* striker: the lowest agent who hit it in this step, or -1 */
    uint8_t level, who; /* level: of agents, the combat level */
    int8_t style; /* it used last; NPCs have one for life */
} NmmoUnit;

typedef struct NmmoAgent {
    int64_t gold, born; /* born: the step in which it acts first */
    double episode_return;
    int32_t xp[NMMO_SKILLS], kills, trades, offers; /* offers: that stand in the market */
    int16_t food, water;
    uint8_t level[NMMO_SKILLS], xp_shown[NMMO_SKILLS]; /* shown: the way to the next level, of 255 */
    uint8_t best_tier[2]; /* ever equipped of weapons, of armour */
    int8_t struck_by; /* the style that hit it last */
    int8_t swing; /* the style that it attacks with in this step */
    int16_t earned; /* xp by that */
    NmmoItem slots[NMMO_SLOTS];
} NmmoAgent;

typedef struct NmmoNpc {
    int64_t returns_at, since; /* step of its return, if dead; the step in which it took its target */
    int32_t home;
    int16_t home_x, home_y, target, max_hp; /* target: an agent, or -1 */
} NmmoNpc;

typedef struct NmmoOffer {
    int64_t due; /* the step in which its price falls */
    int32_t price;
    int16_t seller;
    uint8_t kind, tier;
} NmmoOffer;

/* Of one kind of goods: offers in the order in which they are due. */
typedef struct NmmoStall {
    int32_t count, last_price[NMMO_TIERS];
    NmmoOffer offers[NMMO_OFFERS];
} NmmoStall;

/* What came into the world and left it, so that tests can balance the books. */
typedef struct NmmoBooks {
    int64_t gold_in, gold_out, items_in, items_out;
} NmmoBooks;

typedef struct NmmoLog {
    PUFFER_LOG_FIELDS;
    double lifetime, kills, trades;
} NmmoLog;

typedef struct Nmmo {
    PufferIO io;
    PufferRng rng;
    NmmoLog log;
    NmmoArgs args;
    /* derived */
    int32_t size, agents_end, units_end;
    int32_t move[5];       /* stay, up, right, down, left */
    uint8_t share[1024];   /* i / size, of 255 */
    /* state; the arrays lie in the arena */
    int64_t t;
    const uint8_t *map;
    uint8_t *view;         /* [area, 4] */
    int16_t *occupant;     /* [area] unit number + 1, or 0 */
    NmmoUnit *units;
    NmmoAgent *agents;
    NmmoNpc *npcs;
    int32_t *left;         /* [agents] cells that are left in this step */
    int32_t *bare;         /* [NMMO_REGROW_STEPS, agents] cells by the step in which they grow back */
    int32_t bare_count[NMMO_REGROW_STEPS];
    NmmoStall stalls[NMMO_GOODS];
    NmmoBooks books;
} Nmmo;

/* ---------------------------------------------------------------- the grid */

static const int nmmo_dx[5] = {0, 0, 1, 0, -1}, nmmo_dy[5] = {0, -1, 0, 1, 0};

static inline uint8_t *nmmo_view(const Nmmo *g, int cell) { return g->view + (size_t)cell * NMMO_SEEN_BYTES; }
static inline int nmmo_is_free(const Nmmo *g, int cell) {
    const uint8_t *seen = nmmo_view(g, cell);
    return nmmo_is_open(seen[NMMO_SEE_TERRAIN]) && !seen[NMMO_SEE_WHO];
}
static inline int nmmo_is_agent(const Nmmo *g, int unit) { return unit < g->agents_end; }
static inline int nmmo_abs(int x) { return x < 0 ? -x : x; }

/* Chebyshev */
static inline int nmmo_distance(const NmmoUnit *u, int x, int y) {
    int dx = nmmo_abs(u->x - x), dy = nmmo_abs(u->y - y);
    return dx > dy ? dx : dy;
}

/* Who lives shows some hp. */
static inline void nmmo_show(Nmmo *g, const NmmoUnit *u) {
    uint8_t *seen = nmmo_view(g, u->cell);
    seen[NMMO_SEE_WHO] = u->who;
    seen[NMMO_SEE_LEVEL] = u->level;
    seen[NMMO_SEE_HP] = (uint8_t)((u->hp + 3) / 4);
}

static inline void nmmo_clear_cell(Nmmo *g, int cell) {
    g->occupant[cell] = 0;
    memset(nmmo_view(g, cell) + NMMO_SEE_WHO, 0, NMMO_SEEN_BYTES - NMMO_SEE_WHO);
}

static inline void nmmo_place(Nmmo *g, int unit, int x, int y) {
    NmmoUnit *u = &g->units[unit];
    u->x = (int16_t)x;
    u->y = (int16_t)y;
    u->cell = y * g->size + x;
    g->occupant[u->cell] = (int16_t)(unit + 1);
    nmmo_show(g, u);
}

/* A random free cell of the mainland: some tries, then the first one after the last try. There always is one, since the
 * mainland has 25 cells for each unit. */
static inline int nmmo_random_cell(Nmmo *g) {
    int area = nmmo_area(&g->args), cell = 0;
    for (int i = 0; i < NMMO_SPAWN_TRIES; i++) {
        cell = (int)puffer_below(&g->rng, (uint32_t)area);
        if (g->map[cell] & NMMO_MAINLAND && !g->occupant[cell]) return cell;
    }
    while (!(g->map[cell] & NMMO_MAINLAND) || g->occupant[cell]) cell = cell + 1 < area ? cell + 1 : 0;
    return cell;
}

/* ---------------------------------------------------------------- looking around */

/* Whether anybody is in ten cells of the view: most rows of a range are empty, and one look settles them. */
static inline int nmmo_is_row_taken(const uint8_t *cells) {
    static const uint8_t who_bytes[8] = {0, 255, 0, 0, 0, 255, 0, 0};
    uint64_t two[5], who;
    memcpy(two, cells, sizeof two);
    memcpy(&who, who_bytes, sizeof who);
    return ((two[0] | two[1] | two[2] | two[3] | two[4]) & who) != 0;
}

/* The living unit nearest to `unit` (Chebyshev), lowest number first, among agents of `min_level` or more and, if `npcs`, all
 * NPCs. -1: none within `range`, which is at most 4. */
static inline int nmmo_nearest(const Nmmo *g, int unit, int range, int min_level, int npcs) {
    const NmmoUnit *self = &g->units[unit];
    int nearest = -1, least = range + 1;
    for (int dy = -range; dy <= range; dy++) {
        int first = self->cell + dy * g->size - range, far_y = nmmo_abs(dy);
        if (!nmmo_is_row_taken(nmmo_view(g, first))) continue;
        for (int i = 0; i <= 2 * range; i++) {
            int other = g->occupant[first + i] - 1, far_x = nmmo_abs(i - range), far = far_x > far_y ? far_x : far_y;
            if (other < 0 || other == unit || far > least || (far == least && other > nearest)) continue;
            const NmmoUnit *u = &g->units[other];
            int suits = nmmo_is_agent(g, other) ? u->level >= min_level : npcs;
            if (suits && u->hp > 0) nearest = other, least = far;
        }
    }
    return nearest;
}

/* ---------------------------------------------------------------- fighting */

/* Melee beats ranged beats magic beats melee. */
static inline int nmmo_beats(int style, int other) { return other != NMMO_NO_STYLE && other == (style + 1) % NMMO_STYLES; }

static inline int nmmo_hits(Nmmo *g, int attack, int defence) {
    return puffer_chance(&g->rng, puffer_clip(0.6f + 0.02f * (float)(attack - defence), 0.2f, 0.95f));
}

/* Whole points, rounded down, from quarters: 4 + level / 2 + 3 * weapon, half more with the better style, less 2 * armour. */
static inline int nmmo_damage(int level, int weapon, int is_better, int armour) {
    int quarters = 16 + 2 * level + 12 * weapon;
    if (is_better) quarters += quarters / 2;
    int points = (quarters - 8 * armour) >> 2;
    return points > 1 ? points : 1;
}

#endif
