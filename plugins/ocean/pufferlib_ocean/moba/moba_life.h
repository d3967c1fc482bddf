/* Moba's economy of lives: deaths and what they pay, waves and returns, and what passes with every step. */
#ifndef MOBA_LIFE_H
#define MOBA_LIFE_H

#include "moba_world.h"

enum { MOBA_CREEP_XP = 40, MOBA_NEUTRAL_XP = 50, MOBA_HERO_XP = 100, MOBA_HERO_XP_A_LEVEL = 20 };
enum { MOBA_CREEP_GOLD = 20, MOBA_NEUTRAL_GOLD = 30, MOBA_HERO_GOLD = 150, MOBA_TOWER_GOLD = 100 };
enum { MOBA_WAVE_MELEE = 4, MOBA_WAVE = 5, MOBA_SPAWN_RADIUS = 4 };

static const float moba_tower_hp[MOBA_TOWERS_A_LANE] = {1500, 1800, 2000};
#define MOBA_CORE_HP 3000.0f
#define MOBA_CREEP_HP 300.0f
#define MOBA_RANGED_CREEP_HP 200.0f
#define MOBA_NEUTRAL_HP 350.0f

/* ---------------------------------------------------------------- arrivals */

static inline void moba_arrive(Moba *g, int unit, int cell, float hp) {
    g->hp[unit] = g->max_hp[unit] = hp;
    g->cooldown[unit] = g->stun[unit] = g->slow[unit] = g->taunt[unit] = g->killer[unit] = 0;
    moba_place(g, unit, cell % MOBA_SIDE, cell / MOBA_SIDE);
}

static inline void moba_hero_arrives(Moba *g, int hero) {
    int side = moba_side(hero), fountain = MOBA_TO_FOUNTAIN + side;
    MobaHero *h = &g->heroes[hero];
    moba_grow(g, hero);
    moba_arrive(g, hero, moba_free_cell(g, g->map->target_x[fountain], g->map->target_y[fountain], side), g->max_hp[hero]);
    h->mana = moba_roles[moba_role(hero)].mana;
    h->armour = h->haste = h->struck_for = h->retreats = 0;
    memset(h->skill_cooldown, 0, sizeof h->skill_cooldown);
}

static inline void moba_camp_arrives(Moba *g, int camp) {
    for (int i = 0; i < MOBA_CAMP; i++) {
        int x = g->map->target_x[MOBA_TO_CAMP + camp], y = g->map->target_y[MOBA_TO_CAMP + camp];
        int cell = moba_free_cell(g, x, y, camp >= MOBA_TEAM_CAMPS);
        moba_arrive(g, MOBA_NEUTRAL + MOBA_CAMP * camp + i, cell, MOBA_NEUTRAL_HP);
    }
}

/* The first free cell near the base, in row-major order as the side sees it; -1: none is. */
static inline int moba_spawn_cell(const Moba *g, int side) {
    for (int dy = -MOBA_SPAWN_RADIUS; dy <= MOBA_SPAWN_RADIUS; dy++)
        for (int dx = -MOBA_SPAWN_RADIUS; dx <= MOBA_SPAWN_RADIUS; dx++) {
            int x = MOBA_BASE_X + dx, y = MOBA_BASE_Y + dy;
            if (side ? moba_is_free(g, y, x) : moba_is_free(g, x, y)) return side ? moba_cell(y, x) : moba_cell(x, y);
        }
    return -1;
}

/* Nobody comes where 40 are alive, or the base is full. */
static inline void moba_creep_arrives(Moba *g, int side, int lane, int is_ranged) {
    int creep = MOBA_CREEP + side * MOBA_TEAM_CREEPS, end = creep + MOBA_TEAM_CREEPS, cell = moba_spawn_cell(g, side);
    while (creep < end && moba_present(g, creep)) creep++;
    if (creep == end || cell < 0) return;
    g->lane[creep] = (uint8_t)lane;
    g->ranged[creep] = (uint8_t)is_ranged;
    moba_arrive(g, creep, cell, is_ranged ? MOBA_RANGED_CREEP_HP : MOBA_CREEP_HP);
}

static inline void moba_wave_arrives(Moba *g) {
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < MOBA_LANES * MOBA_WAVE; k++)
            moba_creep_arrives(g, side, k / MOBA_WAVE, k % MOBA_WAVE >= MOBA_WAVE_MELEE);
}

static inline void moba_arrivals(Moba *g, int first) {
    for (int k = 0; k < MOBA_HEROES; k++) {
        int hero = ((k & 1) ^ first) * MOBA_TEAM + k / 2;
        if (!moba_present(g, hero) && g->t >= g->heroes[hero].returns_at) moba_hero_arrives(g, hero);
    }
    if ((g->t + 1) % MOBA_WAVE_STEPS == 0) moba_wave_arrives(g);
    for (int k = 0; k < 2 * MOBA_TEAM_CAMPS; k++) {
        int camp = ((k & 1) ^ first) * MOBA_TEAM_CAMPS + k / 2, neutral = MOBA_NEUTRAL + MOBA_CAMP * camp;
        int is_empty = !moba_present(g, neutral) && !moba_present(g, neutral + 1) && !moba_present(g, neutral + 2);
        if (is_empty && g->t >= g->camp_returns_at[camp]) moba_camp_arrives(g, camp);
    }
}

static inline void moba_structures_arrive(Moba *g) {
    for (int k = 0; k < 2 * MOBA_TEAM_TOWERS; k++) {
        int place = k % MOBA_TOWERS_A_LANE;
        moba_arrive(g, MOBA_TOWER + k, moba_cell(g->map->target_x[k], g->map->target_y[k]), moba_tower_hp[place]);
        g->shielded[MOBA_TOWER + k] = place > 0;
    }
    for (int side = 0; side < 2; side++) {
        int core = MOBA_TO_CORE + side;
        moba_arrive(g, MOBA_CORE + side, moba_cell(g->map->target_x[core], g->map->target_y[core]), MOBA_CORE_HP);
        g->shielded[MOBA_CORE + side] = 1;
    }
}

/* ---------------------------------------------------------------- deaths */

static inline float moba_xp_of_level(int level) { return 50.0f * (float)(level * (level + 1)); }

static inline void moba_gain_xp(Moba *g, int hero, float xp) {
    MobaHero *h = &g->heroes[hero];
    h->xp += xp;
    moba_reward(g, hero, g->args.reward_xp * xp);
    while (h->level < MOBA_MAX_LEVEL && h->xp >= moba_xp_of_level(h->level + 1)) {
        h->level++;
        moba_grow(g, hero);
    }
}

/* Enemies who are near share it, those who die in this step too. */
static inline void moba_share_xp(Moba *g, int unit, int xp) {
    int near[MOBA_HEROES], n = 0;
    for (int hero = 0; hero < MOBA_HEROES; hero++) {
        int is_enemy = moba_team(hero) != moba_team(unit) && moba_present(g, hero);
        if (is_enemy && moba_distance(g, hero, unit) <= MOBA_XP_RADIUS) near[n++] = hero;
    }
    for (int i = 0; i < n; i++) moba_gain_xp(g, near[i], g->args.xp_scale * (float)xp / (float)n);
}

static inline void moba_pay_killer(Moba *g, int unit, int gold) {
    if (g->killer[unit]) g->heroes[g->killer[unit] - 1].gold += gold;
}

static inline void moba_hero_dies(Moba *g, int hero) {
    MobaHero *h = &g->heroes[hero];
    moba_pay_killer(g, hero, MOBA_HERO_GOLD);
    moba_reward(g, hero, g->args.reward_death);
    if (g->killer[hero]) g->heroes[g->killer[hero] - 1].kills++;
    g->kills[1 - moba_side(hero)]++;
    h->deaths++;
}

static inline void moba_tower_falls(Moba *g, int tower) {
    int side = moba_side(tower), is_inner = (tower - MOBA_TOWER) % MOBA_TOWERS_A_LANE == MOBA_TOWERS_A_LANE - 1;
    g->towers_lost[side]++;
    g->shielded[is_inner ? MOBA_CORE + side : tower + 1] = 0;
    for (int hero = 0; hero < MOBA_HEROES; hero++) {
        if (moba_side(hero) != side) g->heroes[hero].gold += MOBA_TOWER_GOLD;
        moba_reward(g, hero, moba_side(hero) == side ? -g->args.reward_tower : g->args.reward_tower);
    }
}

static inline int moba_xp_for(const Moba *g, int unit) {
    if (moba_is_hero(unit)) return MOBA_HERO_XP + MOBA_HERO_XP_A_LEVEL * g->heroes[unit].level;
    return moba_is_creep(unit) ? MOBA_CREEP_XP : moba_is_neutral(unit) ? MOBA_NEUTRAL_XP : 0;
}

static inline void moba_pay_for(Moba *g, int unit, int xp) {
    if (xp > 0) moba_share_xp(g, unit, xp);
    if (moba_is_hero(unit)) moba_hero_dies(g, unit);
    else if (moba_is_creep(unit)) moba_pay_killer(g, unit, MOBA_CREEP_GOLD);
    else if (moba_is_neutral(unit)) moba_pay_killer(g, unit, MOBA_NEUTRAL_GOLD);
    else if (unit < MOBA_CORE) moba_tower_falls(g, unit);
    else g->core_lost[moba_side(unit)] = 1;
}

/* A camp's last one to leave sets the time; a hero's level sets its own. */
static inline void moba_leave(Moba *g, int unit) {
    if (moba_is_hero(unit)) g->heroes[unit].returns_at = g->t + 20 + 4 * g->heroes[unit].level;
    if (moba_is_neutral(unit)) g->camp_returns_at[moba_camp(unit)] = g->t + MOBA_CAMP_STEPS;
    moba_take_off(g, unit);
    g->hp[unit] = 0;
}

/* The sides in turn: the same pair of numbers for a world and its transpose. */
static inline int moba_unit_of_pair(int pair, int side) {
    static const uint8_t groups[5][2] = {
        {MOBA_HERO, MOBA_TEAM}, {MOBA_CREEP, MOBA_TEAM_CREEPS}, {MOBA_NEUTRAL, MOBA_TEAM_NEUTRALS},
        {MOBA_TOWER, MOBA_TEAM_TOWERS}, {MOBA_CORE, 1}};
    int i = 0;
    for (; pair >= groups[i][1]; i++) pair -= groups[i][1];
    return groups[i][0] + side * groups[i][1] + pair;
}

/* What each is worth is settled first, and all are paid for before one leaves: so no death changes what another one pays. */
static inline void moba_deaths(Moba *g, int first) {
    uint8_t dead[MOBA_UNITS];
    int xp[MOBA_UNITS], n = 0;
    if (!g->dying) return;
    for (int k = 0; k < MOBA_UNITS; k++) {
        int unit = moba_unit_of_pair(k / 2, (k & 1) ^ first);
        if (!moba_present(g, unit) || g->hp[unit] > 0) continue;
        xp[n] = moba_xp_for(g, unit);
        dead[n++] = (uint8_t)unit;
    }
    for (int i = 0; i < n; i++) moba_pay_for(g, dead[i], xp[i]);
    for (int i = 0; i < n; i++) moba_leave(g, dead[i]);
    g->dying = 0;
}

/* ---------------------------------------------------------------- what passes with every step */

static inline void moba_hero_rests(Moba *g, int hero) {
    MobaHero *h = &g->heroes[hero];
    int fountain = MOBA_TO_FOUNTAIN + moba_side(hero);
    float mana = moba_roles[moba_role(hero)].mana;
    int at_home = moba_distance_to(g, hero, g->map->target_x[fountain], g->map->target_y[fountain]) <= MOBA_FOUNTAIN_RADIUS;
    moba_heal(g, hero, g->max_hp[hero] * (at_home ? 0.05f : 0.002f));
    h->mana = puffer_minf(h->mana + mana * (at_home ? 0.1f : 0.004f), mana);
    while (at_home && h->gold >= MOBA_PRICE && h->bought < MOBA_MAX_BOUGHT) {
        h->gold -= MOBA_PRICE;
        h->bought++;
        moba_grow(g, hero);
    }
}

static inline void moba_count_down(uint8_t *steps_left, int n) {
    for (int i = 0; i < n; i++) steps_left[i] = (uint8_t)(steps_left[i] - (steps_left[i] > 0));
}

static inline void moba_time_passes(Moba *g) {
    moba_count_down(g->cooldown, MOBA_SLOTS);
    moba_count_down(g->stun, MOBA_SLOTS);
    moba_count_down(g->slow, MOBA_SLOTS);
    moba_count_down(g->taunt, MOBA_SLOTS);
    for (int hero = 0; hero < MOBA_HEROES; hero++) {
        MobaHero *h = &g->heroes[hero];
        moba_count_down(h->skill_cooldown, 3);
        moba_count_down(&h->armour, 1);
        moba_count_down(&h->haste, 1);
        moba_count_down(&h->struck_for, 1);
        if (moba_present(g, hero)) moba_hero_rests(g, hero);
    }
}

#endif
