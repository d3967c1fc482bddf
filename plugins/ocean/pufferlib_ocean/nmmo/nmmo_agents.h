/* Nmmo's agents: their levels, what they gather and eat where they walk, their attacks, and their needs. */
#ifndef NMMO_AGENTS_H
#define NMMO_AGENTS_H

#include "nmmo_items.h"

enum { NMMO_ACTIONS = 3, NMMO_MOVES = 5, NMMO_ATTACKS = 1 + NMMO_STYLES };
enum { NMMO_GATHER_XP = 5, NMMO_PVP_LEVEL = 3 };
enum { NMMO_FOREST_HALVES = 40, NMMO_DRINK_HALVES = 40, NMMO_WELL_FED_HALVES = 100, NMMO_STARVING_HP = 2 };
#define NMMO_NODE_CHANCE 0.3f

static const int nmmo_ranges[NMMO_STYLES] = {1, NMMO_RANGE, NMMO_RANGE};

/* ---------------------------------------------------------------- levels */

/* The experience at which a level is reached. */
static inline int nmmo_xp_for(int level) { return level > 1 ? 20 * level * level : 0; }

static inline void nmmo_gain(Nmmo *g, int i, int skill, int xp) {
    NmmoAgent *a = &g->agents[i];
    int level = a->level[skill];
    if (level == NMMO_MAX_LEVEL) return;
    a->xp[skill] += xp;
    while (level < NMMO_MAX_LEVEL && a->xp[skill] >= nmmo_xp_for(level + 1)) {
        level += 1;
        g->io.rew[i] += g->args.reward_level;
    }
    int from = nmmo_xp_for(level), to = nmmo_xp_for(level + 1);
    a->level[skill] = (uint8_t)level;
    a->xp_shown[skill] = (uint8_t)(level == NMMO_MAX_LEVEL ? 255 : 255 * (a->xp[skill] - from) / (to - from));
    if (skill != NMMO_GATHER && level > g->units[i].level) g->units[i].level = (uint8_t)level;
}

/* ---------------------------------------------------------------- walking */

/* What was taken from this step on grows back NMMO_REGROW_STEPS later, where the same bucket of the ring comes round. */
static inline void nmmo_make_bare(Nmmo *g, int cell, int bare) {
    int bucket = (int)(g->t % NMMO_REGROW_STEPS);
    *nmmo_view(g, cell) = (uint8_t)bare;
    g->bare[bucket * g->agents_end + g->bare_count[bucket]++] = cell;
}

static inline void nmmo_regrow(Nmmo *g) {
    int bucket = (int)(g->t % NMMO_REGROW_STEPS);
    const int32_t *cells = g->bare + bucket * g->agents_end;
    for (int k = 0; k < g->bare_count[bucket]; k++) *nmmo_view(g, cells[k]) = g->map[cells[k]] & NMMO_TERRAIN_MASK;
    g->bare_count[bucket] = 0;
}

static inline void nmmo_gather(Nmmo *g, int i, int terrain) {
    static const uint8_t kinds[NMMO_NODE_KINDS] = {NMMO_FIRST_WEAPON, NMMO_ITEM_POTION, NMMO_ITEM_ARMOUR}; /* ore, herb, crystal */
    int kind = kinds[terrain - NMMO_ORE];
    if (puffer_chance(&g->rng, NMMO_NODE_CHANCE)) {
        if (kind == NMMO_FIRST_WEAPON) kind += (int)puffer_below(&g->rng, NMMO_STYLES);
        nmmo_find_item(g, i, kind, nmmo_tier(g->agents[i].level[NMMO_GATHER]));
    }
    nmmo_gain(g, i, NMMO_GATHER, NMMO_GATHER_XP);
}

static inline void nmmo_enter(Nmmo *g, int i) {
    NmmoAgent *a = &g->agents[i];
    int cell = g->units[i].cell, terrain = *nmmo_view(g, cell);
    if (terrain == NMMO_FOREST) {
        a->food = (int16_t)puffer_clipi(a->food + NMMO_FOREST_HALVES, 0, NMMO_FULL);
        nmmo_make_bare(g, cell, NMMO_BARE_FOREST);
    } else if (terrain >= NMMO_ORE) {
        nmmo_gather(g, i, terrain);
        nmmo_make_bare(g, cell, NMMO_BARE_NODE);
    }
}

/* All at once: what was taken before anybody moved stays closed, and of those who wish for one cell the first in the rotation
 * gets it. */
static inline void nmmo_move_agents(Nmmo *g, int rotation) {
    const int32_t *actions = (const int32_t *)g->io.act;
    int n = g->agents_end, moved = 0;
    for (int k = 0, i = rotation; k < n; k++, i = i + 1 < n ? i + 1 : 0) {
        int way = puffer_discrete(actions[i * NMMO_ACTIONS], NMMO_MOVES, &g->log.invalid_actions);
        NmmoUnit *u = &g->units[i];
        if (way == 0 || !nmmo_is_free(g, u->cell + g->move[way])) continue;
        g->left[moved++] = u->cell;
        nmmo_place(g, i, u->x + nmmo_dx[way], u->y + nmmo_dy[way]);
        nmmo_enter(g, i);
    }
    for (int k = 0; k < moved; k++) nmmo_clear_cell(g, g->left[k]);
}

/* ---------------------------------------------------------------- attacks */

static inline void nmmo_attack(Nmmo *g, int i, int style) {
    NmmoAgent *a = &g->agents[i];
    int fights_players = g->args.pvp && g->units[i].level >= NMMO_PVP_LEVEL;
    int target = nmmo_nearest(g, i, nmmo_ranges[style], fights_players ? NMMO_PVP_LEVEL : NMMO_MAX_LEVEL + 1, 1);
    if (target < 0) return;
    NmmoUnit *u = &g->units[target];
    a->swing = (int8_t)style;
    if (!nmmo_hits(g, a->level[style], u->level)) return;
    int armour = 0;
    if (nmmo_is_agent(g, target)) {
        armour = nmmo_equipped_tier(&g->agents[target], NMMO_ITEM_ARMOUR);
        g->agents[target].struck_by = (int8_t)style;
    }
    int weapon = nmmo_equipped_tier(a, NMMO_FIRST_WEAPON + style);
    a->earned = (int16_t)nmmo_damage(a->level[style], weapon, nmmo_beats(style, u->style), armour);
    u->damage += a->earned;
    if (u->striker < 0) u->striker = (int16_t)i;
}

/* Damage is gathered first, so that two can kill each other. NPCs take theirs in their own turn. */
static inline void nmmo_attack_all(Nmmo *g) {
    const int32_t *actions = (const int32_t *)g->io.act;
    for (int u = 0; u < g->units_end; u++) g->units[u].damage = 0, g->units[u].striker = -1;
    for (int i = 0; i < g->agents_end; i++) {
        int attack = puffer_discrete(actions[i * NMMO_ACTIONS + 1], NMMO_ATTACKS, &g->log.invalid_actions);
        g->agents[i].swing = NMMO_NO_STYLE;
        g->agents[i].earned = 0;
        if (attack > 0) nmmo_attack(g, i, attack - 1);
    }
    for (int i = 0; i < g->agents_end; i++) {
        NmmoUnit *u = &g->units[i];
        NmmoAgent *a = &g->agents[i];
        if (a->swing != NMMO_NO_STYLE) u->style = a->swing;
        if (a->earned > 0) nmmo_gain(g, i, a->swing, a->earned);
        u->hp = (int16_t)(u->hp > u->damage ? u->hp - u->damage : 0);
        if (u->hp > 0) u->striker = -1; /* who lives has no killer, whatever comes in this step */
    }
}

static inline void nmmo_item_verbs(Nmmo *g, int rotation) {
    const int32_t *actions = (const int32_t *)g->io.act;
    int n = g->agents_end;
    nmmo_lower_prices(g);
    for (int k = 0, i = rotation; k < n; k++, i = i + 1 < n ? i + 1 : 0) {
        int verb = puffer_discrete(actions[i * NMMO_ACTIONS + 2], NMMO_VERBS, &g->log.invalid_actions);
        if (g->units[i].hp > 0) nmmo_item_verb(g, i, verb);
    }
}

/* ---------------------------------------------------------------- needs */

static inline int nmmo_is_beside_water(const Nmmo *g, int cell) {
    int beside = 0;
    for (int k = 1; k < NMMO_MOVES; k++) beside |= *nmmo_view(g, cell + g->move[k]) == NMMO_WATER;
    return beside;
}

static inline void nmmo_live(Nmmo *g, int i) {
    NmmoAgent *a = &g->agents[i];
    NmmoUnit *u = &g->units[i];
    if (u->hp > 0) {
        a->food = (int16_t)(a->food > 0 ? a->food - 1 : 0);
        a->water = (int16_t)(a->water > 0 ? a->water - 1 : 0);
        if (nmmo_is_beside_water(g, u->cell)) a->water = (int16_t)puffer_clipi(a->water + NMMO_DRINK_HALVES, 0, NMMO_FULL);
        int change = a->food > NMMO_WELL_FED_HALVES && a->water > NMMO_WELL_FED_HALVES ? 1 : 0;
        change -= NMMO_STARVING_HP * ((a->food == 0) + (a->water == 0));
        u->hp = (int16_t)puffer_clipi(u->hp + change, 0, NMMO_MAX_HP);
    }
    nmmo_show(g, u);
}

/* ---------------------------------------------------------------- lives */

static inline void nmmo_spawn(Nmmo *g, int i) {
    int cell = nmmo_random_cell(g);
    g->units[i] = (NmmoUnit){.hp = NMMO_MAX_HP, .level = 1, .who = NMMO_PLAYER, .style = NMMO_NO_STYLE, .striker = -1};
    g->agents[i] = (NmmoAgent){
        .born = g->t, .food = NMMO_FULL, .water = NMMO_FULL, .level = {1, 1, 1, 1}, .struck_by = NMMO_NO_STYLE};
    nmmo_place(g, i, cell % g->size, cell / g->size);
}

/* All that a row owns leaves the world with it. */
static inline void nmmo_bury(Nmmo *g, int i) {
    NmmoAgent *a = &g->agents[i];
    nmmo_withdraw_offers(g, i);
    for (int k = 0; k < NMMO_SLOTS; k++) g->books.items_out += a->slots[k].kind != NMMO_NO_ITEM;
    g->books.gold_out += a->gold;
    nmmo_clear_cell(g, g->units[i].cell);
}

#endif
