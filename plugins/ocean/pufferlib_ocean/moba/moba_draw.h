/* Moba's picture: the whole map, and beside it the score of both teams. Never changes a world. */
#ifndef MOBA_DRAW_H
#define MOBA_DRAW_H

#include "moba_world.h"

#define MOBA_CELL 3.5f /* pixels */
#define MOBA_MAP_AT 16.0f
#define MOBA_PANEL_AT 478.0f

static const uint32_t moba_team_colors[3] = {DRAW_TEAL, DRAW_CORAL, DRAW_AMBER};

static inline float moba_pixel(int cell) { return MOBA_MAP_AT + MOBA_CELL * ((float)cell + 0.5f); }

static inline void moba_draw_bar(Draw *d, float x, float y, float width, float share, uint32_t color) {
    draw_rect(d, x - 1, y - 1, width + 2, 4, DRAW_BACKGROUND);
    draw_rect(d, x, y, width * share, 2, color);
}

static inline void moba_draw_structure(const Moba *g, Draw *d, int unit) {
    float x = moba_pixel(g->x[unit]), y = moba_pixel(g->y[unit]), r = unit < MOBA_CORE ? 6.0f : 10.0f;
    uint32_t color = moba_team_colors[moba_team(unit)];
    draw_rect(d, x - r, y - r, 2 * r, 2 * r, DRAW_BACKGROUND);
    draw_outline(d, x - r, y - r, 2 * r, 2 * r, 2, color);
    if (!g->shielded[unit]) draw_rect(d, x - r + 4, y - r + 4, 2 * r - 8, 2 * r - 8, color);
    moba_draw_bar(d, x - r, y - r - 5, 2 * r, g->hp[unit] / g->max_hp[unit], color);
}

static inline void moba_draw_hero(const Moba *g, Draw *d, int hero) {
    static const char *const letters[MOBA_TEAM] = {"S", "A", "M", "T", "C"};
    float x = moba_pixel(g->x[hero]), y = moba_pixel(g->y[hero]);
    draw_circle(d, x, y, 8, DRAW_BACKGROUND);
    draw_circle(d, x, y, 7, moba_team_colors[moba_side(hero)]);
    draw_text(d, x - 3, y - 5, 10, DRAW_BACKGROUND, letters[moba_role(hero)]);
    moba_draw_bar(d, x - 8, y - 13, 16, g->hp[hero] / g->max_hp[hero], DRAW_GREEN);
}

static inline void moba_draw_unit(const Moba *g, Draw *d, int unit) {
    if (!moba_present(g, unit)) return;
    if (moba_is_structure(unit)) moba_draw_structure(g, d, unit);
    else if (moba_is_hero(unit)) moba_draw_hero(g, d, unit);
    else {
        float radius = g->ranged[unit] ? 1.8f : 2.4f;
        draw_circle(d, moba_pixel(g->x[unit]), moba_pixel(g->y[unit]), radius, moba_team_colors[moba_team(unit)]);
    }
}

static inline void moba_draw_panel(const Moba *g, Draw *d, int side, float y) {
    static const char *const names[MOBA_TEAM] = {"support", "assassin", "mage", "tank", "carry"};
    uint32_t color = moba_team_colors[side];
    draw_text(d, MOBA_PANEL_AT, y, 20, color, side ? "upper team" : "lower team");
    draw_number(d, MOBA_PANEL_AT, y + 26, 10, DRAW_INK, "towers left ", MOBA_TEAM_TOWERS - g->towers_lost[side]);
    draw_number(d, MOBA_PANEL_AT + 96, y + 26, 10, DRAW_INK, "kills ", g->kills[side]);
    for (int role = 0; role < MOBA_TEAM; role++) {
        int hero = side * MOBA_TEAM + role;
        const MobaHero *h = &g->heroes[hero];
        float top = y + 48 + 26 * (float)role;
        int alive = moba_present(g, hero);
        draw_text(d, MOBA_PANEL_AT, top, 10, alive ? DRAW_INK : DRAW_DIM, names[role]);
        draw_number(d, MOBA_PANEL_AT + 60, top, 10, DRAW_DIM, "level ", h->level);
        if (!alive) draw_number(d, MOBA_PANEL_AT + 114, top, 10, DRAW_DIM, "in ", h->returns_at - g->t + 1);
        moba_draw_bar(d, MOBA_PANEL_AT, top + 13, 140, alive ? g->hp[hero] / g->max_hp[hero] : 0, DRAW_GREEN);
        moba_draw_bar(d, MOBA_PANEL_AT, top + 17, 140, alive ? h->mana / moba_roles[role].mana : 0, DRAW_BLUE);
    }
}

/* Lanes, which are ground like any other, are lighter. */
static inline void moba_draw_map(const Moba *g, Draw *d) {
    enum { LANE = 3 };
    static const uint32_t palette[256] = {
        [MOBA_GROUND] = 0x222B33FFu, [MOBA_WALL] = 0x14181EFFu, [MOBA_RIVER] = 0x1F3C57FFu, [LANE] = 0x323E49FFu};
    uint8_t codes[MOBA_CELLS];
    for (int cell = 0; cell < MOBA_CELLS; cell++) {
        int is_lane = g->map->terrain[cell] == MOBA_GROUND && moba_on_lane(cell % MOBA_SIDE, cell / MOBA_SIDE);
        codes[cell] = is_lane ? LANE : g->map->terrain[cell];
    }
    draw_tiles(d, MOBA_MAP_AT, MOBA_MAP_AT, MOBA_CELL, MOBA_SIDE, MOBA_SIDE, codes, palette);
}

static inline void moba_draw(const Moba *g, Draw *d) {
    draw_clear(d, DRAW_BACKGROUND);
    moba_draw_map(g, d);
    for (int unit = MOBA_UNITS - 1; unit >= 0; unit--) moba_draw_unit(g, d, unit); /* heroes lie on top */
    moba_draw_panel(g, d, 1, 16);
    moba_draw_panel(g, d, 0, 250);
    draw_number(d, MOBA_PANEL_AT, 450, 10, DRAW_DIM, "step ", g->t);
}

#endif
