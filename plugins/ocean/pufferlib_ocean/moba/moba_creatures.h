/* Moba's creeps, neutrals and towers: whom they fight and where they go, when nobody plays them.
 *
 * Who has attacked stands still until its cooldown is over. Where order matters, the side whose hero was drawn first begins,
 * and the sides take turns. */
#ifndef MOBA_CREATURES_H
#define MOBA_CREATURES_H

#include "moba_world.h"

#define MOBA_CREEP_DAMAGE 12.0f
#define MOBA_RANGED_CREEP_DAMAGE 18.0f
#define MOBA_NEUTRAL_DAMAGE 20.0f
#define MOBA_TOWER_DAMAGE 90.0f

/* ---------------------------------------------------------------- whom to fight */

/* A hero of the other side who has just hit one of ours under this tower. */
static inline int moba_resents(const Moba *g, int tower, int hero) {
    const MobaHero *h = &g->heroes[hero];
    return h->struck_for && moba_present(g, h->struck) && moba_distance(g, tower, h->struck) <= MOBA_TOWER_RANGE;
}

/* Lower ones first; 0: never. */
static inline int moba_urgency(const Moba *g, int unit, int prey) {
    if (moba_is_hero(prey)) return moba_is_structure(unit) && moba_resents(g, unit, prey) ? 1 : 3;
    if (moba_is_creep(prey)) return 2;
    return moba_is_creep(unit) && moba_is_structure(prey) ? 4 : 0;
}

/* The first of creep, hero, structure in range, else in sight (both Chebyshev); the first in row-major order of its kind.
 * -1: nobody is there. */
static inline int moba_find_prey(const Moba *g, int unit, int range, int sight) {
    uint8_t units[MOBA_UNITS];
    int x = g->x[unit], y = g->y[unit], team = moba_team(unit), side = moba_side(unit), best = -1, best_key = 0;
    int enemies = moba_may_be_near(g, 1 - side, x, y, sight) || (team == MOBA_NO_TEAM && moba_may_be_near(g, side, x, y, sight));
    if (!enemies) return -1;
    int n = moba_around(g, x, y, sight, units);
    if (g->taunt[unit] && moba_taunter(g, unit, sight) >= 0) return moba_taunter(g, unit, sight);
    for (int i = 0; i < n; i++) {
        int prey = units[i], urgency;
        if (!moba_is_prey(g, prey, team) || !(urgency = moba_urgency(g, unit, prey))) continue;
        int is_far = moba_distance(g, unit, prey) > range;
        int key = (8 * is_far + urgency) * MOBA_CELLS + moba_scan_order(g, prey, side);
        if (best >= 0 && key > best_key) continue;
        best = prey;
        best_key = key;
    }
    return best;
}

static inline void moba_fight(Moba *g, int unit, int prey, float damage) {
    moba_hit(g, unit, prey, damage);
    g->cooldown[unit] = MOBA_COOLDOWN;
}

/* ---------------------------------------------------------------- each kind */

/* What a creep or a bot of this side walks to: its lane's outermost enemy tower that stands, then the core. */
static inline int moba_lane_target(const Moba *g, int side, int lane) {
    int first = (1 - side) * MOBA_TEAM_TOWERS + lane * MOBA_TOWERS_A_LANE;
    for (int k = first; k < first + MOBA_TOWERS_A_LANE; k++)
        if (moba_present(g, MOBA_TOWER + k)) return MOBA_TO_TOWER + k;
    return MOBA_TO_CORE + 1 - side;
}

static inline void moba_creep_acts(Moba *g, int creep) {
    int range = g->ranged[creep] ? MOBA_RANGED_CREEP_RANGE : MOBA_CREEP_RANGE;
    int prey = moba_find_prey(g, creep, range, range + MOBA_SIGHT);
    if (prey >= 0 && moba_distance(g, creep, prey) <= range)
        moba_fight(g, creep, prey, g->ranged[creep] ? MOBA_RANGED_CREEP_DAMAGE : MOBA_CREEP_DAMAGE);
    else if (!moba_may_move(g, creep)) return;
    else if (prey >= 0) moba_chase(g, creep, prey);
    else moba_follow(g, creep, moba_lane_target(g, moba_side(creep), g->lane[creep]));
}

/* Neutrals stay within a leash of their camp, and go back to it when nobody is left. */
static inline void moba_neutral_acts(Moba *g, int neutral) {
    int camp = MOBA_TO_CAMP + moba_camp(neutral), prey = moba_find_prey(g, neutral, 1, 1 + MOBA_SIGHT);
    int x = g->map->target_x[camp], y = g->map->target_y[camp];
    if (prey >= 0 && moba_distance(g, neutral, prey) <= 1) moba_fight(g, neutral, prey, MOBA_NEUTRAL_DAMAGE);
    else if (!moba_may_move(g, neutral)) return;
    else if (prey >= 0 && moba_distance_to(g, prey, x, y) <= MOBA_LEASH) moba_chase(g, neutral, prey);
    else if (moba_distance_to(g, neutral, x, y) > 1) moba_follow(g, neutral, camp);
}

static inline void moba_tower_acts(Moba *g, int tower) {
    int prey = moba_find_prey(g, tower, MOBA_TOWER_RANGE, MOBA_TOWER_RANGE);
    if (prey >= 0) moba_fight(g, tower, prey, MOBA_TOWER_DAMAGE);
}

static inline int moba_is_ready(const Moba *g, int unit) { return moba_present(g, unit) && !g->cooldown[unit] && !g->stun[unit]; }

static inline void moba_creatures_act(Moba *g, int first) {
    for (int k = 0; k < 2 * MOBA_TEAM_CREEPS; k++) {
        int unit = MOBA_CREEP + ((k & 1) ^ first) * MOBA_TEAM_CREEPS + k / 2;
        if (moba_is_ready(g, unit)) moba_creep_acts(g, unit);
    }
    for (int k = 0; k < 2 * MOBA_TEAM_NEUTRALS; k++) {
        int unit = MOBA_NEUTRAL + ((k & 1) ^ first) * MOBA_TEAM_NEUTRALS + k / 2;
        if (moba_is_ready(g, unit)) moba_neutral_acts(g, unit);
    }
    for (int k = 0; k < 2 * MOBA_TEAM_TOWERS; k++) {
        int unit = MOBA_TOWER + ((k & 1) ^ first) * MOBA_TEAM_TOWERS + k / 2;
        if (moba_is_ready(g, unit)) moba_tower_acts(g, unit);
    }
}

#endif
