/* Moba's bots. They act as a player does, through moves, verbs and preferences, and know what their side's windows show.
 *
 * All follow their role's lane (and go for the core once it can be hit), fight what is in range, stay out of a tower's reach
 * until their creeps are under it, and go home below a tenth of their hp. Level 1 adds skills, level 2 last hits and the
 * weakest target. */
#ifndef MOBA_BOT_H
#define MOBA_BOT_H

#include "moba_creatures.h"
#include "moba_heroes.h"

#define MOBA_BOT_RETREATS_BELOW 0.1f
#define MOBA_BOT_RETURNS_AT 0.9f

typedef struct MobaSeen {
    int enemies, heroes, weakest; /* in attack range; weakest: the creep of the lowest hp, or -1 */
} MobaSeen;

static inline MobaSeen moba_look(const Moba *g, int hero) {
    uint8_t units[MOBA_UNITS];
    MobaSeen seen = {0, 0, -1};
    int side = moba_side(hero), n = moba_around(g, g->x[hero], g->y[hero], moba_roles[moba_role(hero)].range, units);
    for (int i = 0; i < n; i++) {
        int unit = units[i];
        if (!moba_is_prey(g, unit, side) || moba_is_neutral(unit)) continue;
        seen.enemies++;
        seen.heroes += moba_is_hero(unit);
        if (moba_is_creep(unit) && (seen.weakest < 0 || g->hp[unit] < g->hp[seen.weakest])) seen.weakest = unit;
    }
    return seen;
}

/* Some own creep keeps the tower busy. */
static inline int moba_is_tower_busy(const Moba *g, int tower, int side) {
    for (int k = 0; k < MOBA_TEAM_CREEPS; k++) {
        int creep = MOBA_CREEP + side * MOBA_TEAM_CREEPS + k;
        if (moba_present(g, creep) && moba_distance(g, tower, creep) <= MOBA_TOWER_RANGE) return 1;
    }
    return 0;
}

/* Whether a hero is within an enemy tower's reach, or would be one step on, without a creep to take its fire. */
static inline int moba_is_exposed(const Moba *g, int hero) {
    int side = moba_side(hero), first = MOBA_TOWER + (1 - side) * MOBA_TEAM_TOWERS;
    for (int tower = first; tower < first + MOBA_TEAM_TOWERS; tower++) {
        int is_close = moba_present(g, tower) && moba_distance(g, tower, hero) <= MOBA_TOWER_RANGE + 1;
        if (is_close && !moba_is_tower_busy(g, tower, side)) return 1;
    }
    return 0;
}

/* 0: it stays */
static inline int moba_bot_move(const Moba *g, int hero, int target) { return moba_way(g, hero, target) + 1; }

/* Between two attacks there is time for a skill. */
static inline int moba_bot_verb(const Moba *g, int hero, int level, MobaSeen seen) {
    int is_rich = g->heroes[hero].mana > 0.6f * moba_roles[moba_role(hero)].mana;
    if (level == 0 || !g->cooldown[hero]) return MOBA_ATTACK;
    for (int skill = 2; skill >= 0; skill--)
        if (moba_can_use(g, hero, skill) && (seen.heroes > 0 || is_rich)) return MOBA_SKILL + skill;
    return MOBA_ATTACK;
}

static inline int moba_bot_prefers(const Moba *g, int hero, int level, MobaSeen seen) {
    if (level < 2) return MOBA_NEAREST;
    int can_last_hit = seen.weakest >= 0 && g->hp[seen.weakest] <= g->heroes[hero].damage;
    return seen.heroes > 0 || can_last_hit ? MOBA_LOWEST_HP : MOBA_NEAREST;
}

/* Its lane's next structure, or the core as soon as that can be hit. */
static inline int moba_bot_target(const Moba *g, int hero) {
    int other = 1 - moba_side(hero);
    if (!g->shielded[MOBA_CORE + other]) return MOBA_TO_CORE + other;
    return moba_lane_target(g, moba_side(hero), moba_role(hero) % MOBA_LANES);
}

static inline MobaAction moba_bot_acts(Moba *g, int hero, int level) {
    MobaAction action = {MOBA_STAY, MOBA_NO_VERB, MOBA_NEAREST};
    MobaHero *h = &g->heroes[hero];
    int side = moba_side(hero);
    if (!moba_present(g, hero)) return action;
    if (g->hp[hero] < MOBA_BOT_RETREATS_BELOW * g->max_hp[hero]) h->retreats = 1;
    if (g->hp[hero] >= MOBA_BOT_RETURNS_AT * g->max_hp[hero]) h->retreats = 0;
    MobaSeen seen = moba_look(g, hero);
    if (seen.enemies > 0) {
        action.verb = moba_bot_verb(g, hero, level, seen);
        action.prefer = moba_bot_prefers(g, hero, level, seen);
    }
    if (h->retreats || moba_is_exposed(g, hero)) action.move = moba_bot_move(g, hero, MOBA_TO_FOUNTAIN + side);
    else if (seen.enemies == 0) action.move = moba_bot_move(g, hero, moba_bot_target(g, hero));
    return action;
}

#endif
