/* What a row of moba sees: three planes of the cells around its hero, and 45 numbers about itself and the game.
 *
 * The terrain is copied row by row from the shared map, and only the units near are drawn over it. Side 1 sees the transpose:
 * its terrain is the map's at the transposed place. */
#ifndef MOBA_OBS_H
#define MOBA_OBS_H

#include "moba_world.h"

enum { MOBA_VISION = 5, MOBA_WINDOW = 2 * MOBA_VISION + 1, MOBA_PLANE = MOBA_WINDOW * MOBA_WINDOW };
enum { MOBA_SEE_CREEP = 3, MOBA_SEE_NEUTRAL, MOBA_SEE_TOWER, MOBA_SEE_CORE, MOBA_SEE_HERO };
enum { MOBA_OWN_NUMBERS = 20, MOBA_SIDE_STRUCTURES = 10, MOBA_CLOCKS = 5 };
enum { MOBA_SHARED_NUMBERS = 2 * MOBA_SIDE_STRUCTURES + MOBA_CLOCKS };
enum { MOBA_OBS = 3 * MOBA_PLANE + MOBA_OWN_NUMBERS + MOBA_SHARED_NUMBERS, MOBA_DEAD_TIME = 3 * MOBA_PLANE + 6,
       MOBA_CLOCK = MOBA_OBS - MOBA_CLOCKS };

static inline uint8_t moba_byte(float share) { return (uint8_t)(255.0f * puffer_clip(share, 0.0f, 1.0f) + 0.5f); }

/* A share above 0 never shows as 0. */
static inline int moba_part(float hp, float max_hp, int parts) {
    int whole = (int)((float)parts * hp / max_hp);
    return hp <= 0 ? 0 : whole < parts ? whole + 1 : parts;
}

static inline int moba_code(int unit) {
    if (moba_is_hero(unit)) return MOBA_SEE_HERO + moba_role(unit);
    if (moba_is_creep(unit)) return MOBA_SEE_CREEP;
    return moba_is_neutral(unit) ? MOBA_SEE_NEUTRAL : unit < MOBA_CORE ? MOBA_SEE_TOWER : MOBA_SEE_CORE;
}

static inline void moba_write_window(const Moba *g, int hero, uint8_t *out) {
    uint8_t units[MOBA_UNITS];
    int x = g->x[hero], y = g->y[hero], side = moba_side(hero), n = moba_around(g, x, y, MOBA_VISION, units);
    const uint8_t *corner = g->map->terrain + (side ? moba_cell(y, x) : moba_cell(x, y)) - MOBA_VISION * (MOBA_SIDE + 1);
    for (int row = 0; row < MOBA_WINDOW; row++) memcpy(out + row * MOBA_WINDOW, corner + row * MOBA_SIDE, MOBA_WINDOW);
    memset(out + MOBA_PLANE, 0, 2 * MOBA_PLANE);
    for (int i = 0; i < n; i++) {
        int unit = units[i], dx = g->x[unit] - x + MOBA_VISION, dy = g->y[unit] - y + MOBA_VISION;
        int cell = side ? dx * MOBA_WINDOW + dy : dy * MOBA_WINDOW + dx;
        out[cell] = (uint8_t)moba_code(unit);
        out[MOBA_PLANE + cell] = (uint8_t)(moba_is_neutral(unit) ? 0 : moba_team(unit) == side ? 1 : 2);
        out[2 * MOBA_PLANE + cell] = (uint8_t)moba_part(g->hp[unit], g->max_hp[unit], 15);
    }
}

static inline void moba_write_own(const Moba *g, int hero, uint8_t *out) {
    const MobaHero *h = &g->heroes[hero];
    int side = moba_side(hero), role = moba_role(hero);
    memset(out, 0, MOBA_OWN_NUMBERS);
    out[0] = (uint8_t)(2 * (side ? g->y[hero] : g->x[hero]));
    out[1] = (uint8_t)(2 * (side ? g->x[hero] : g->y[hero]));
    out[2] = (uint8_t)moba_part(g->hp[hero], g->max_hp[hero], 255);
    out[3] = moba_byte(h->mana / moba_roles[role].mana);
    out[4] = (uint8_t)(17 * h->level);
    out[5] = moba_byte((float)h->gold * 0.001f);
    /* out[6], the time until it is back, is a dead hero's only number */
    for (int k = 0; k < 3; k++) out[7 + k] = (uint8_t)(8 * h->skill_cooldown[k]);
    out[10] = h->level >= 1 ? 255 : 0;
    out[11] = h->level >= 3 ? 255 : 0;
    out[12] = h->level >= 6 ? 255 : 0;
    out[13 + role] = 255;
    out[18] = (uint8_t)(51 * g->stun[hero]);
    out[19] = (uint8_t)(42 * g->slow[hero]);
}

/* As `side` sees it: structures by hp, the clock, levels of both teams, kills ahead, and the time until the next wave. */
static inline void moba_write_shared(const Moba *g, int side, uint8_t *out) {
    int levels[2] = {0, 0}, waited = g->t % MOBA_WAVE_STEPS;
    for (int s = 0; s < 2; s++) {
        int team = s ^ side;
        for (int k = 0; k < MOBA_SIDE_STRUCTURES; k++) {
            int unit = k < MOBA_TEAM_TOWERS ? MOBA_TOWER + team * MOBA_TEAM_TOWERS + k : MOBA_CORE + team;
            *out++ = (uint8_t)(moba_present(g, unit) ? moba_part(g->hp[unit], g->max_hp[unit], 255) : 0);
        }
        for (int role = 0; role < MOBA_TEAM; role++) levels[s] += g->heroes[team * MOBA_TEAM + role].level;
    }
    out[0] = g->args.max_steps > 0 ? moba_byte((float)g->t / (float)g->args.max_steps) : 0;
    out[1] = (uint8_t)(3 * levels[0]);
    out[2] = (uint8_t)(3 * levels[1]);
    out[3] = (uint8_t)(128 + puffer_clipi(g->kills[side] - g->kills[1 - side], -128, 127));
    out[4] = (uint8_t)(MOBA_WAVE_STEPS - waited);
}

static inline void moba_write_obs(const Moba *g, void *rows) {
    uint8_t shared[2][MOBA_SHARED_NUMBERS];
    for (int side = 0; side < 2; side++) moba_write_shared(g, side, shared[side]);
    for (int hero = 0; hero < g->rows; hero++) {
        uint8_t *out = (uint8_t *)rows + (size_t)hero * MOBA_OBS;
        const uint8_t *of_side = shared[moba_side(hero)];
        if (!moba_present(g, hero)) {
            memset(out, 0, MOBA_OBS);
            out[MOBA_DEAD_TIME] = (uint8_t)(3 * (g->heroes[hero].returns_at - g->t + 1));
            out[MOBA_CLOCK] = of_side[2 * MOBA_SIDE_STRUCTURES];
            continue;
        }
        moba_write_window(g, hero, out);
        moba_write_own(g, hero, out + 3 * MOBA_PLANE);
        memcpy(out + 3 * MOBA_PLANE + MOBA_OWN_NUMBERS, of_side, MOBA_SHARED_NUMBERS);
    }
}

#endif
