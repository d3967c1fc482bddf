/* Nmmo's NPCs: the further from the edge the stronger, and the more hostile. Each keeps near the place where it was put, strikes
 * who stands beside it, and takes a step in four, so that one can walk away from it. */
#ifndef NMMO_NPCS_H
#define NMMO_NPCS_H

#include "nmmo_agents.h"

enum { NMMO_NEUTRAL_LEVEL = 5, NMMO_HOSTILE_LEVEL = 16, NMMO_LEASH = 10, NMMO_PACE = 4, NMMO_RETURN_STEPS = 60 };
#define NMMO_DROP_CHANCE 0.4f

static inline int nmmo_npc_level(int size, int x, int y) { return 1 + (NMMO_MAX_LEVEL - 1) * 2 * nmmo_to_edge(size, x, y) / size; }
static inline int nmmo_npc_hp(int level) { return 20 + 4 * level; }

static inline void nmmo_create_npc(Nmmo *g, int k) {
    int cell = nmmo_random_cell(g), x = cell % g->size, y = cell / g->size, level = nmmo_npc_level(g->size, x, y);
    NmmoNpc *npc = &g->npcs[k];
    *npc = (NmmoNpc){.home = cell, .home_x = (int16_t)x, .home_y = (int16_t)y, .target = -1, .max_hp = (int16_t)nmmo_npc_hp(level)};
    g->units[g->agents_end + k] = (NmmoUnit){
        .hp = npc->max_hp, .level = (uint8_t)level, .style = (int8_t)puffer_below(&g->rng, NMMO_STYLES), .striker = -1,
        .who = level < NMMO_NEUTRAL_LEVEL ? NMMO_PASSIVE : level < NMMO_HOSTILE_LEVEL ? NMMO_NEUTRAL : NMMO_HOSTILE};
    nmmo_place(g, g->agents_end + k, x, y);
}

/* ---------------------------------------------------------------- dying and returning */

static inline void nmmo_drop(Nmmo *g, int level, int killer) {
    g->agents[killer].kills += 1;
    g->agents[killer].gold += level;
    g->books.gold_in += level;
    if (puffer_chance(&g->rng, NMMO_DROP_CHANCE))
        nmmo_find_item(g, killer, 1 + (int)puffer_below(&g->rng, NMMO_ITEM_KINDS), nmmo_tier(level));
}

/* Returns whether it lives on. */
static inline int nmmo_suffer(Nmmo *g, int k) {
    NmmoUnit *u = &g->units[g->agents_end + k];
    NmmoNpc *npc = &g->npcs[k];
    u->hp = (int16_t)(u->hp > u->damage ? u->hp - u->damage : 0);
    if (u->hp == 0) {
        nmmo_clear_cell(g, u->cell);
        nmmo_drop(g, u->level, u->striker);
        npc->returns_at = g->t + NMMO_RETURN_STEPS;
        return 0;
    }
    nmmo_show(g, u);
    if (u->who == NMMO_PASSIVE || npc->target >= 0) return 1;
    npc->target = u->striker;
    npc->since = g->t;
    return 1;
}

/* At home; while somebody stands there, it waits. */
static inline void nmmo_return(Nmmo *g, int k) {
    NmmoNpc *npc = &g->npcs[k];
    if (g->t < npc->returns_at || g->occupant[npc->home]) return;
    g->units[g->agents_end + k].hp = npc->max_hp;
    npc->target = -1;
    nmmo_place(g, g->agents_end + k, npc->home_x, npc->home_y);
}

/* ---------------------------------------------------------------- hunting and strolling */

/* Whether it could step that way, and did. */
static inline int nmmo_npc_steps(Nmmo *g, int k, int way) {
    NmmoUnit *u = &g->units[g->agents_end + k];
    const NmmoNpc *npc = &g->npcs[k];
    int x = u->x + nmmo_dx[way], y = u->y + nmmo_dy[way], from = u->cell;
    if (nmmo_abs(x - npc->home_x) > NMMO_LEASH || nmmo_abs(y - npc->home_y) > NMMO_LEASH) return 0;
    if (!nmmo_is_free(g, from + g->move[way])) return 0;
    nmmo_clear_cell(g, from);
    nmmo_place(g, g->agents_end + k, x, y);
    return 1;
}

/* Along the longer axis, or else along the other one. */
static inline void nmmo_chase(Nmmo *g, int k, const NmmoUnit *prey) {
    const NmmoUnit *u = &g->units[g->agents_end + k];
    int dx = prey->x - u->x, dy = prey->y - u->y, across = dx > 0 ? 2 : 4, along = dy > 0 ? 3 : 1;
    int x_first = nmmo_abs(dx) >= nmmo_abs(dy);
    if (nmmo_npc_steps(g, k, x_first ? across : along)) return;
    if (x_first ? dy != 0 : dx != 0) nmmo_npc_steps(g, k, x_first ? along : across);
}

static inline void nmmo_npc_strike(Nmmo *g, int k, int target) {
    const NmmoUnit *u = &g->units[g->agents_end + k];
    NmmoUnit *prey = &g->units[target];
    if (!nmmo_hits(g, u->level, prey->level)) return;
    int armour = nmmo_equipped_tier(&g->agents[target], NMMO_ITEM_ARMOUR);
    int damage = nmmo_damage(u->level, 0, nmmo_beats(u->style, prey->style), armour);
    prey->hp = (int16_t)(prey->hp > damage ? prey->hp - damage : 0);
    g->agents[target].struck_by = u->style;
}

/* The agent that it hunts, or -1: that life has ended, or is out of sight. */
static inline int nmmo_prey(Nmmo *g, int k) {
    NmmoUnit *u = &g->units[g->agents_end + k];
    NmmoNpc *npc = &g->npcs[k];
    if (npc->target >= 0) {
        const NmmoUnit *prey = &g->units[npc->target];
        int is_same_life = prey->hp > 0 && g->agents[npc->target].born <= npc->since;
        if (is_same_life && nmmo_distance(prey, u->x, u->y) <= NMMO_RANGE) return npc->target;
        npc->target = -1;
    }
    if (u->who != NMMO_HOSTILE) return -1;
    npc->target = (int16_t)nmmo_nearest(g, g->agents_end + k, NMMO_RANGE, 0, 0);
    npc->since = g->t;
    return npc->target;
}

static inline void nmmo_act_npc(Nmmo *g, int k) {
    NmmoUnit *u = &g->units[g->agents_end + k];
    if (u->hp == 0) {
        nmmo_return(g, k);
        return;
    }
    if (u->damage > 0 && !nmmo_suffer(g, k)) return;
    int target = nmmo_prey(g, k), moves = (g->t + k) % NMMO_PACE == 0;
    if (target >= 0) {
        const NmmoUnit *prey = &g->units[target];
        if (nmmo_distance(prey, u->x, u->y) <= 1) nmmo_npc_strike(g, k, target);
        else if (moves) nmmo_chase(g, k, prey);
    } else if (moves) {
        nmmo_npc_steps(g, k, 1 + (int)puffer_below(&g->rng, 4));
    }
}

#endif
