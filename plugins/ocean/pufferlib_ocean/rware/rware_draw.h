/* Rware's picture: the warehouse, what the robots carry, which shelves are requested. */
#ifndef RWARE_DRAW_H
#define RWARE_DRAW_H

#include "rware_world.h"

static inline void rware_draw_shelf(Draw *d, float x, float y, float cell, int is_requested) {
    draw_rect(d, x + 0.12f * cell, y + 0.12f * cell, 0.76f * cell, 0.76f * cell, is_requested ? DRAW_AMBER : 0x4A5866FFu);
}

/* A robot is a disc with a light towards its front; what it carries lies on top. */
static inline void rware_draw_agent(const Rware *g, const RwareAgent *a, Draw *d, float x, float y, float cell) {
    static const float ahead_x[4] = {0, 1, 0, -1}, ahead_y[4] = {-1, 0, 1, 0};
    float cx = x + 0.5f * cell, cy = y + 0.5f * cell;
    draw_circle(d, cx, cy, 0.46f * cell, DRAW_TEAL);
    uint32_t load = rware_carries_request(g, a) ? DRAW_AMBER : 0x4A5866FFu;
    if (a->shelf) draw_rect(d, x + 0.25f * cell, y + 0.25f * cell, 0.5f * cell, 0.5f * cell, load);
    draw_circle(d, cx + 0.34f * cell * ahead_x[a->heading], cy + 0.34f * cell * ahead_y[a->heading], 0.1f * cell, DRAW_INK);
}

static inline void rware_draw(const Rware *g, Draw *d) {
    float cell = puffer_minf(624.0f / (float)g->width, 420.0f / (float)g->height);
    if (cell > 4.0f) cell = floorf(cell);
    float left = (640.0f - cell * (float)g->width) / 2, top = 46.0f + (420.0f - cell * (float)g->height) / 2;
    int64_t deliveries = 0;
    for (int i = 0; i < g->args.num_agents; i++) deliveries += g->agents[i].deliveries;

    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "deliveries ", deliveries);
    draw_number(d, 230, 14, 20, DRAW_DIM, "step ", g->t);
    draw_rect(d, left, top, cell * (float)g->width, cell * (float)g->height, DRAW_FLOOR);
    draw_outline(d, left - 3, top - 3, cell * (float)g->width + 6, cell * (float)g->height + 6, 3, DRAW_EDGE);
    draw_rect(d, left + cell * (float)g->goal_x, top + cell * (float)(g->height - 1), 2 * cell, cell, 0x2F6B46FFu);
    for (int y = 0; y < g->height; y++)
        for (int x = 0; x < g->width; x++) {
            int flags = g->cells[rware_cell(g, x, y)];
            float px = left + cell * (float)x, py = top + cell * (float)y;
            if (flags & RWARE_HOME) draw_rect(d, px + 0.04f * cell, py + 0.04f * cell, 0.92f * cell, 0.92f * cell, 0x262F39FFu);
            if (flags & RWARE_SHELF) rware_draw_shelf(d, px, py, cell, flags & RWARE_REQUESTED);
        }
    for (int i = 0; i < g->args.num_agents; i++)
        rware_draw_agent(g, &g->agents[i], d, left + cell * (float)g->agents[i].x, top + cell * (float)g->agents[i].y, cell);
}

#endif
