/* How nmmo looks: the surroundings of row 0, a map of the whole island, and how row 0 fares. */
#ifndef NMMO_DRAW_H
#define NMMO_DRAW_H

#include "nmmo_obs.h"

enum { NMMO_CLOSE_X = 23, NMMO_CLOSE_Y = 27, NMMO_CLOSE_CELL = 15, NMMO_CLOSE_LEFT = 12, NMMO_CLOSE_TOP = 52 };
enum { NMMO_PANEL_LEFT = 373, NMMO_ISLAND = 256 };
enum { NMMO_TILE_UNITS = 16 };  /* on the island's map units are tiles, too: this plus who */
enum { NMMO_TILE_SHADES = 32 }; /* close by, some cells have another shade: this plus the terrain */

static const uint32_t nmmo_palette[256] = {
    [NMMO_WATER] = 0x1D4466FFu, [NMMO_STONE] = 0x4B525CFFu, [NMMO_BARE_NODE] = 0x4D473DFFu, [NMMO_BARE_FOREST] = 0x4F5A33FFu,
    [NMMO_GRASS] = 0x3A6038FFu, [NMMO_ORE] = 0xA9764DFFu, [NMMO_HERB] = 0xB86BA5FFu, [NMMO_CRYSTAL] = 0x6FC7DDFFu,
    [NMMO_FOREST] = 0x1F4A2AFFu,
    [NMMO_TILE_SHADES + NMMO_WATER] = 0x1F486BFFu, [NMMO_TILE_SHADES + NMMO_STONE] = 0x525963FFu,
    [NMMO_TILE_SHADES + NMMO_BARE_NODE] = 0x4D473DFFu, [NMMO_TILE_SHADES + NMMO_BARE_FOREST] = 0x4A5530FFu,
    [NMMO_TILE_SHADES + NMMO_GRASS] = 0x3E663CFFu, [NMMO_TILE_SHADES + NMMO_ORE] = 0xA9764DFFu,
    [NMMO_TILE_SHADES + NMMO_HERB] = 0xB86BA5FFu, [NMMO_TILE_SHADES + NMMO_CRYSTAL] = 0x6FC7DDFFu,
    [NMMO_TILE_SHADES + NMMO_FOREST] = 0x1A4125FFu,
    [NMMO_TILE_UNITS + NMMO_PLAYER] = DRAW_INK, [NMMO_TILE_UNITS + NMMO_PASSIVE] = 0x8FB08AFFu,
    [NMMO_TILE_UNITS + NMMO_NEUTRAL] = DRAW_AMBER, [NMMO_TILE_UNITS + NMMO_HOSTILE] = DRAW_CORAL};

/* ---------------------------------------------------------------- close by */

static inline void nmmo_draw_unit(const Nmmo *g, Draw *d, int unit, float x, float y) {
    const NmmoUnit *u = &g->units[unit];
    int max_hp = nmmo_is_agent(g, unit) ? NMMO_MAX_HP : g->npcs[unit - g->agents_end].max_hp;
    float half = 0.5f * NMMO_CLOSE_CELL, radius = half - 1.5f;
    if (nmmo_is_agent(g, unit)) {
        draw_circle(d, x + half, y + half, radius, unit == 0 ? DRAW_TEAL : DRAW_INK);
    } else {
        uint32_t color = nmmo_palette[NMMO_TILE_UNITS + u->who];
        draw_tri(d, x + half, y + half - radius, x + half + radius, y + half, x + half, y + half + radius, color);
        draw_tri(d, x + half, y + half - radius, x + half, y + half + radius, x + half - radius, y + half, color);
    }
    if (u->hp >= max_hp) return;
    draw_rect(d, x + 1, y - 2, NMMO_CLOSE_CELL - 2, 3, DRAW_BACKGROUND);
    draw_rect(d, x + 1, y - 2, (NMMO_CLOSE_CELL - 2) * (float)u->hp / (float)max_hp, 3, DRAW_GREEN);
}

static inline void nmmo_draw_close(const Nmmo *g, Draw *d) {
    uint8_t tiles[NMMO_CLOSE_X * NMMO_CLOSE_Y];
    int left = puffer_clipi(g->units[0].x - NMMO_CLOSE_X / 2, 0, g->size - NMMO_CLOSE_X);
    int top = puffer_clipi(g->units[0].y - NMMO_CLOSE_Y / 2, 0, g->size - NMMO_CLOSE_Y);
    for (int k = 0; k < NMMO_CLOSE_X * NMMO_CLOSE_Y; k++) {
        int cell = (top + k / NMMO_CLOSE_X) * g->size + left + k % NMMO_CLOSE_X;
        uint32_t scattered = (uint32_t)cell * 2654435761u; /* Knuth's multiplicative hash: about a third of the cells */
        tiles[k] = (uint8_t)(*nmmo_view(g, cell) + (scattered >> 28 < 5 ? NMMO_TILE_SHADES : 0));
    }
    draw_outline(d, NMMO_CLOSE_LEFT - 3, NMMO_CLOSE_TOP - 3, NMMO_CLOSE_X * NMMO_CLOSE_CELL + 6,
                 NMMO_CLOSE_Y * NMMO_CLOSE_CELL + 6, 3, DRAW_EDGE);
    draw_tiles(d, NMMO_CLOSE_LEFT, NMMO_CLOSE_TOP, NMMO_CLOSE_CELL, NMMO_CLOSE_X, NMMO_CLOSE_Y, tiles, nmmo_palette);
    for (int k = 0; k < NMMO_CLOSE_X * NMMO_CLOSE_Y; k++) {
        int column = k % NMMO_CLOSE_X, row = k / NMMO_CLOSE_X, unit = g->occupant[(top + row) * g->size + left + column] - 1;
        float x = (float)(NMMO_CLOSE_LEFT + column * NMMO_CLOSE_CELL), y = (float)(NMMO_CLOSE_TOP + row * NMMO_CLOSE_CELL);
        if (unit >= 0) nmmo_draw_unit(g, d, unit, x, y);
    }
}

/* ---------------------------------------------------------------- the island */

/* Where the map has more cells than the view has pixels, a tile shows one of block x block cells, units first. */
static inline uint8_t nmmo_island_tile(const Nmmo *g, int x0, int y0, int block) {
    const uint8_t *corner = nmmo_view(g, y0 * g->size + x0);
    uint8_t who = NMMO_NOBODY;
    for (int y = y0; y < y0 + block && y < g->size; y++)
        for (int x = x0; x < x0 + block && x < g->size; x++) {
            uint8_t here = nmmo_view(g, y * g->size + x)[NMMO_SEE_WHO];
            if (here > who) who = here;
        }
    return who ? (uint8_t)(NMMO_TILE_UNITS + who) : corner[NMMO_SEE_TERRAIN];
}

/* Row by row, since the map's size is not known when this is compiled. Players are drawn larger than they are. */
static inline void nmmo_draw_island(const Nmmo *g, Draw *d) {
    int block = (g->size + NMMO_ISLAND - 1) / NMMO_ISLAND, tiles = (g->size + block - 1) / block;
    int pixels = NMMO_ISLAND / tiles > 1 ? NMMO_ISLAND / tiles : 1;
    float scale = (float)pixels / (float)block, top = NMMO_CLOSE_TOP;
    for (int y = 0; y < tiles; y++) {
        uint8_t row[NMMO_ISLAND];
        for (int x = 0; x < tiles; x++) row[x] = nmmo_island_tile(g, x * block, y * block, block);
        draw_tiles(d, NMMO_PANEL_LEFT, top + (float)(y * pixels), (float)pixels, tiles, 1, row, nmmo_palette);
    }
    for (int i = g->agents_end - 1; i >= 0; i--) {
        float side = i == 0 ? 6.0f : 2.0f;
        float x = NMMO_PANEL_LEFT + scale * (float)g->units[i].x, y = top + scale * (float)g->units[i].y;
        draw_rect(d, x - side / 2 + 0.5f, y - side / 2 + 0.5f, side, side, i == 0 ? DRAW_TEAL : DRAW_INK);
    }
}

/* ---------------------------------------------------------------- row 0 */

static inline void nmmo_draw_bar(Draw *d, float y, const char *name, int value, int full, uint32_t color) {
    draw_text(d, NMMO_PANEL_LEFT, y, 10, DRAW_DIM, name);
    draw_rect(d, NMMO_PANEL_LEFT + 40, y, 84, 9, DRAW_FLOOR);
    draw_rect(d, NMMO_PANEL_LEFT + 40, y, 84.0f * (float)value / (float)full, 9, color);
}

static inline void nmmo_draw_slots(const NmmoAgent *a, Draw *d, float y) {
    static const uint32_t colors[1 + NMMO_ITEM_KINDS] = {DRAW_FLOOR, DRAW_CORAL,   DRAW_GREEN, DRAW_VIOLET,
                                                         DRAW_BLUE,  0xD98BC6FFu, DRAW_AMBER};
    static const char *const letters[1 + NMMO_ITEM_KINDS] = {"", "S", "B", "W", "A", "P", "R"}; /* sword, bow, wand, ... */
    for (int k = 0; k < NMMO_SLOTS; k++) {
        const NmmoItem *item = &a->slots[k];
        float x = (float)(NMMO_PANEL_LEFT + 33 * k);
        draw_rect(d, x, y, 28, 28, DRAW_FLOOR);
        if (item->equipped) draw_outline(d, x, y, 28, 28, 2, DRAW_INK);
        if (item->kind) draw_number(d, x + 8, y + 10, 10, colors[item->kind], letters[item->kind], item->tier);
    }
}

static inline void nmmo_draw_row(const Nmmo *g, Draw *d) {
    static const char *const skills[NMMO_SKILLS] = {"melee ", "ranged ", "magic ", "gather "};
    const NmmoAgent *a = &g->agents[0];
    float y = NMMO_CLOSE_TOP + NMMO_ISLAND + 16;
    nmmo_draw_bar(d, y, "hp", g->units[0].hp, NMMO_MAX_HP, DRAW_GREEN);
    nmmo_draw_bar(d, y + 18, "food", a->food, NMMO_FULL, DRAW_AMBER);
    nmmo_draw_bar(d, y + 36, "water", a->water, NMMO_FULL, DRAW_BLUE);
    for (int k = 0; k < NMMO_SKILLS; k++)
        draw_number(d, NMMO_PANEL_LEFT + 150, y + (float)(18 * k), 10, DRAW_INK, skills[k], a->level[k]);
    draw_number(d, NMMO_PANEL_LEFT, y + 54, 10, DRAW_AMBER, "gold ", a->gold);
    nmmo_draw_slots(a, d, y + 84);
}

static inline void nmmo_draw(const Nmmo *g, Draw *d) {
    int best = 0;
    for (int i = 0; i < g->agents_end; i++)
        if (g->units[i].level > best) best = g->units[i].level;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, NMMO_CLOSE_LEFT, 16, 20, DRAW_INK, "step ", g->t);
    draw_number(d, 190, 16, 20, DRAW_DIM, "agents ", g->agents_end);
    draw_number(d, NMMO_PANEL_LEFT, 16, 20, DRAW_DIM, "highest level ", best);
    nmmo_draw_close(g, d);
    nmmo_draw_island(g, d);
    nmmo_draw_row(g, d);
}

#endif
