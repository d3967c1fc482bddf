/* Moba's heroes: whom they choose, their attacks and fifteen skills, their moves. */
#ifndef MOBA_HEROES_H
#define MOBA_HEROES_H

#include "moba_world.h"

enum { MOBA_STAY, MOBA_MOVES = 9 };
enum { MOBA_NO_VERB, MOBA_ATTACK, MOBA_SKILL, MOBA_VERBS = 5 }; /* MOBA_SKILL + k: skill k of three */
enum { MOBA_HEROES_FIRST, MOBA_NEAREST, MOBA_LOWEST_HP, MOBA_STRUCTURES_FIRST, MOBA_PREFERENCES };

typedef struct MobaAction {
    int32_t move, verb, prefer; /* move: 0, or 1 + a direction of the map */
} MobaAction;

typedef struct MobaSkill {
    float mana;
    uint8_t cooldown;
} MobaSkill;

static const MobaSkill moba_skills[MOBA_TEAM][3] = {
    {{60, 10}, {50, 12}, {120, 30}}, {{60, 8}, {40, 10}, {100, 30}}, {{70, 6}, {100, 12}, {130, 30}},
    {{50, 15}, {60, 20}, {110, 25}}, {{60, 18}, {70, 10}, {120, 30}}};
static const uint8_t moba_skill_level[3] = {1, 3, 6};

/* ---------------------------------------------------------------- the choice of a target */

static inline float moba_preference(const Moba *g, int hero, int unit, int prefer) {
    if (prefer == MOBA_HEROES_FIRST) return moba_is_hero(unit) ? 0.0f : 1.0f;
    if (prefer == MOBA_NEAREST) return (float)moba_distance(g, hero, unit);
    if (prefer == MOBA_LOWEST_HP) return g->hp[unit];
    return moba_is_structure(unit) || moba_is_neutral(unit) ? 0.0f : 1.0f;
}

static inline int moba_is_wounded(const Moba *g, int unit) { return g->hp[unit] > 0 && g->hp[unit] < g->max_hp[unit]; }

/* Of those within range, the most preferred; ties go to the first in row-major order. Enemies, or with `wounded` own heroes
 * who can be healed. -1: there is none. */
static inline int moba_choose(const Moba *g, int hero, int range, int prefer, int wounded) {
    uint8_t units[MOBA_UNITS];
    int side = moba_side(hero), best = -1, best_order = 0, n, taunter = wounded ? -1 : moba_taunter(g, hero, range);
    float best_value = 0;
    if (taunter >= 0) return taunter;
    n = moba_around(g, g->x[hero], g->y[hero], range, units);
    for (int i = 0; i < n; i++) {
        int unit = units[i];
        int can_heal = moba_is_hero(unit) && moba_team(unit) == side && moba_is_wounded(g, unit);
        if (wounded ? !can_heal : !moba_is_prey(g, unit, side)) continue;
        float value = moba_preference(g, hero, unit, prefer);
        int order = moba_scan_order(g, unit, side);
        if (best >= 0 && (value > best_value || (value == best_value && order > best_order))) continue;
        best = unit;
        best_value = value;
        best_order = order;
    }
    return best;
}

static inline int moba_reach(int hero) { return moba_roles[moba_role(hero)].range + 2; }

/* ---------------------------------------------------------------- attacks and skills */

static inline void moba_attack(Moba *g, int hero, int prefer) {
    MobaHero *h = &g->heroes[hero];
    if (g->cooldown[hero]) return;
    int target = moba_choose(g, hero, moba_roles[moba_role(hero)].range, prefer, 0);
    if (target < 0) return;
    moba_hit(g, hero, target, h->damage);
    g->cooldown[hero] = h->haste ? MOBA_COOLDOWN / 2 : MOBA_COOLDOWN;
}

static inline void moba_lengthen(uint8_t *steps_left, int steps) {
    if (*steps_left < steps) *steps_left = (uint8_t)steps;
}

/* The skills below return whether anything happened: otherwise they cost nothing. */
static inline int moba_strike(Moba *g, int hero, int range, int prefer, float damage) {
    int target = moba_choose(g, hero, range, prefer, 0);
    if (target >= 0) moba_hit(g, hero, target, damage);
    return target >= 0;
}

/* Damage, stun and taunt (steps; 0: none) for all enemies within r of a unit. Structures are only damaged. */
static inline int moba_burst(Moba *g, int hero, int centre, int r, float damage, int stun, int taunt) {
    uint8_t units[MOBA_UNITS];
    int n = moba_around(g, g->x[centre], g->y[centre], r, units), hits = 0;
    for (int i = 0; i < n; i++) {
        int unit = units[i];
        if (!moba_is_prey(g, unit, moba_side(hero)) || (damage == 0 && moba_is_structure(unit))) continue;
        hits++;
        if (damage > 0) moba_hit(g, hero, unit, damage);
        if (moba_is_structure(unit)) continue;
        moba_lengthen(&g->stun[unit], stun);
        if (taunt) g->taunt[unit] = (uint8_t)taunt, g->taunted_by[unit] = (uint8_t)hero;
    }
    return hits > 0;
}

static inline int moba_heal_all(Moba *g, int hero, int r, float amount) {
    uint8_t units[MOBA_UNITS];
    int n = moba_around(g, g->x[hero], g->y[hero], r, units), healed = 0;
    for (int i = 0; i < n; i++) {
        int unit = units[i];
        if (moba_team(unit) != moba_side(hero) || moba_is_structure(unit) || !moba_is_wounded(g, unit)) continue;
        moba_heal(g, unit, amount);
        healed++;
    }
    return healed > 0;
}

static inline int moba_dash(Moba *g, int hero, int move, int cells) {
    int moved = 0;
    while (move != MOBA_STAY && moved < cells && moba_can_step(g, hero, move - 1)) moba_step_to(g, hero, move - 1), moved++;
    return moved > 0;
}

/* Along a line of cells, through whoever stands there, up to a wall. */
static inline int moba_pierce(Moba *g, int hero, int move, int cells, float damage) {
    int cell = moba_cell(g->x[hero], g->y[hero]), hits = 0;
    for (int k = 0; move != MOBA_STAY && k < cells && (g->map->steps[cell] >> (move - 1) & 1); k++) {
        cell += moba_offset[move - 1];
        int unit = g->occupant[cell] - 1;
        if (unit < 0 || !moba_is_prey(g, unit, moba_side(hero))) continue;
        moba_hit(g, hero, unit, damage);
        hits++;
    }
    return hits > 0;
}

static inline int moba_support_skill(Moba *g, int hero, int skill, const MobaAction *a, float scale) {
    if (skill == 2) return moba_heal_all(g, hero, 5, 80 * scale);
    int target = moba_choose(g, hero, moba_reach(hero), a->prefer, skill == 0);
    if (target < 0) return 0;
    if (skill == 0) return moba_heal(g, target, 120 * scale), 1;
    if (moba_is_structure(target)) return 0;
    return moba_lengthen(&g->slow[target], 6), 1;
}

static inline int moba_assassin_skill(Moba *g, int hero, int skill, const MobaAction *a, float scale) {
    if (skill == 0) return moba_strike(g, hero, moba_reach(hero), a->prefer, 130 * scale);
    if (skill == 1) return moba_dash(g, hero, a->move, 5);
    int target = moba_choose(g, hero, moba_reach(hero), a->prefer, 0);
    if (target < 0) return 0;
    int is_weak = g->hp[target] < 0.5f * g->max_hp[target];
    return moba_hit(g, hero, target, (is_weak ? 250 : 100) * scale), 1;
}

static inline int moba_mage_skill(Moba *g, int hero, int skill, const MobaAction *a, float scale) {
    int target = moba_choose(g, hero, moba_reach(hero), a->prefer, 0);
    if (target < 0) return 0;
    if (skill == 1) return moba_burst(g, hero, target, 3, 90 * scale, 0, 0);
    moba_hit(g, hero, target, (skill == 0 ? 140 : 100) * scale);
    if (skill == 2 && !moba_is_structure(target)) moba_lengthen(&g->stun[target], 5);
    return 1;
}

static inline int moba_tank_skill(Moba *g, int hero, int skill, float scale) {
    if (skill == 0) return moba_burst(g, hero, hero, 4, 0, 0, 5);
    if (skill == 1) return g->heroes[hero].armour = 8, 1;
    return moba_burst(g, hero, hero, 2, 100 * scale, 2, 0);
}

static inline int moba_carry_skill(Moba *g, int hero, int skill, const MobaAction *a, float scale) {
    if (skill == 0) return g->heroes[hero].haste = 8, 1;
    if (skill == 1) return moba_pierce(g, hero, a->move, 7, 90 * scale);
    return moba_strike(g, hero, 10, a->prefer, 220 * scale);
}

static inline int moba_can_use(const Moba *g, int hero, int skill) {
    const MobaHero *h = &g->heroes[hero];
    int is_ready = h->level >= moba_skill_level[skill] && !h->skill_cooldown[skill];
    return is_ready && h->mana >= moba_skills[moba_role(hero)][skill].mana;
}

static inline void moba_use_skill(Moba *g, int hero, int skill, const MobaAction *a) {
    MobaHero *h = &g->heroes[hero];
    int role = moba_role(hero), happened = 0;
    float scale = 1.0f + 0.1f * (float)h->level;
    if (!moba_can_use(g, hero, skill)) return;
    if (role == MOBA_SUPPORT) happened = moba_support_skill(g, hero, skill, a, scale);
    if (role == MOBA_ASSASSIN) happened = moba_assassin_skill(g, hero, skill, a, scale);
    if (role == MOBA_MAGE) happened = moba_mage_skill(g, hero, skill, a, scale);
    if (role == MOBA_TANK) happened = moba_tank_skill(g, hero, skill, scale);
    if (role == MOBA_CARRY) happened = moba_carry_skill(g, hero, skill, a, scale);
    if (!happened) return;
    h->mana -= moba_skills[role][skill].mana;
    h->skill_cooldown[skill] = moba_skills[role][skill].cooldown;
}

/* ---------------------------------------------------------------- a step of all heroes */

static inline void moba_heroes_act(Moba *g, const MobaAction *actions, const uint8_t *order) {
    for (int i = 0; i < MOBA_HEROES; i++) {
        int hero = order[i];
        const MobaAction *a = &actions[hero];
        if (!moba_present(g, hero) || g->stun[hero] || a->verb == MOBA_NO_VERB) continue;
        if (a->verb == MOBA_ATTACK) moba_attack(g, hero, a->prefer);
        else moba_use_skill(g, hero, a->verb - MOBA_SKILL, a);
    }
}

static inline void moba_heroes_move(Moba *g, const MobaAction *actions, const uint8_t *order) {
    for (int i = 0; i < MOBA_HEROES; i++) {
        int hero = order[i], direction = actions[hero].move - 1;
        if (!moba_present(g, hero) || direction < 0 || !moba_may_move(g, hero)) continue;
        if (moba_can_step(g, hero, direction)) moba_step_to(g, hero, direction);
    }
}

#endif
