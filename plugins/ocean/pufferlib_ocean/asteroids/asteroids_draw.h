/* Asteroids' picture: the field in the middle, score, wave and lives above it. */
#ifndef ASTEROIDS_DRAW_H
#define ASTEROIDS_DRAW_H

#include "asteroids_world.h"

#define ASTEROIDS_VIEW 424.0f /* side of the field in px */
#define ASTEROIDS_VIEW_LEFT (0.5f * (640.0f - ASTEROIDS_VIEW))
#define ASTEROIDS_VIEW_TOP 50.0f

static inline void asteroids_draw_rock(Draw *d, float x, float y, float radius, int kind) {
    static const float craters[3][4] = {{-.3f, -.2f, .35f, .3f}, {.25f, -.35f, -.1f, .4f}, {-.35f, .25f, .3f, -.1f}};
    draw_circle(d, x, y, radius, DRAW_DIM);
    draw_circle(d, x, y, radius - 2, 0x46525FFFu);
    draw_circle(d, x + craters[kind][0] * radius, y + craters[kind][1] * radius, 0.28f * radius, DRAW_EDGE);
    draw_circle(d, x + craters[kind][2] * radius, y + craters[kind][3] * radius, 0.18f * radius, DRAW_EDGE);
}

/* A rock that reaches over an edge shows at the opposite one, too; the frame is painted afterwards. */
static inline void asteroids_draw_rocks(const Asteroids *g, Draw *d) {
    for (int i = 0; i < g->rocks; i++)
        for (int wrap = 0; wrap < 9; wrap++) {
            float x = g->rock[i].at.x + (float)(wrap % 3 - 1), y = g->rock[i].at.y + (float)(wrap / 3 - 1);
            float radius = asteroids_radius[g->rock[i].size];
            if (x < -radius || x > 1 + radius || y < -radius || y > 1 + radius) continue;
            asteroids_draw_rock(d, ASTEROIDS_VIEW_LEFT + ASTEROIDS_VIEW * x, ASTEROIDS_VIEW_TOP + ASTEROIDS_VIEW * y,
                                ASTEROIDS_VIEW * radius, i % 3);
        }
}

static inline void asteroids_draw_ship(Draw *d, float x, float y, AsteroidsVector nose, uint32_t color) {
    AsteroidsVector tail = {x - 8 * nose.x, y - 8 * nose.y}, side = {-6 * nose.y, 6 * nose.x};
    draw_tri(d, x + 11 * nose.x, y + 11 * nose.y, tail.x + side.x, tail.y + side.y, x - 4 * nose.x, y - 4 * nose.y, color);
    draw_tri(d, x + 11 * nose.x, y + 11 * nose.y, tail.x - side.x, tail.y - side.y, x - 4 * nose.x, y - 4 * nose.y, color);
}

static inline void asteroids_draw(const Asteroids *g, Draw *d) {
    const float left = ASTEROIDS_VIEW_LEFT, top = ASTEROIDS_VIEW_TOP, side = ASTEROIDS_VIEW;
    float x = left + side * g->ship.x, y = top + side * g->ship.y;
    draw_clear(d, DRAW_FLOOR);
    asteroids_draw_rocks(g, d);
    for (int i = 0; i < ASTEROIDS_SHOTS; i++)
        if (g->shot[i].life > 0) draw_circle(d, left + side * g->shot[i].at.x, top + side * g->shot[i].at.y, 3, DRAW_AMBER);
    if (g->safety > 0) {
        draw_circle(d, x, y, 17, DRAW_TEAL);
        draw_circle(d, x, y, 15, DRAW_FLOOR);
    }
    asteroids_draw_ship(d, x, y, g->nose, DRAW_TEAL);

    draw_rect(d, 0, 0, 640, top, DRAW_BACKGROUND);
    draw_rect(d, 0, top + side, 640, 480, DRAW_BACKGROUND);
    draw_rect(d, 0, 0, left, 480, DRAW_BACKGROUND);
    draw_rect(d, left + side, 0, left, 480, DRAW_BACKGROUND);
    draw_outline(d, left - 2, top - 2, side + 4, side + 4, 2, DRAW_EDGE);
    draw_number(d, 16, 14, 20, DRAW_INK, "score ", asteroids_score(g));
    draw_number(d, 280, 14, 20, DRAW_DIM, "wave ", g->wave + 1);
    for (int i = 0; i < g->lives; i++) asteroids_draw_ship(d, 618.0f - 22.0f * (float)i, 26, (AsteroidsVector){0, -1}, DRAW_TEAL);
}

#endif
