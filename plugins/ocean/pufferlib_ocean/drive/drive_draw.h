/* Drive's picture: the surroundings of the first car, its route and its goal; in the corner the whole map. */
#ifndef DRIVE_DRAW_H
#define DRIVE_DRAW_H

#include "drive_world.h"

#define DRIVE_ZOOM 7.0f /* pixels a metre */
#define DRIVE_INSET 170.0f
#define DRIVE_ASPHALT 0x39424DFFu
#define DRIVE_GRASS 0x1A2620FFu
#define DRIVE_PAINT 0xC9B458FFu

enum { DRIVE_MOST_LINES = 5000 }; /* of the map in the corner: larger ones are shown in part */

typedef struct DriveView {
    float x, y, scale, left, top; /* the map's place (x, y) is drawn at (left, top) */
    float range;                  /* metres; what is farther away is not drawn */
} DriveView;

static inline float drive_px(const DriveView *v, float x) { return v->left + v->scale * (x - v->x); }
static inline float drive_py(const DriveView *v, float y) { return v->top - v->scale * (y - v->y); }

static inline int drive_in_view(const DriveView *v, float x, float y) {
    return fabsf(x - v->x) < v->range && fabsf(y - v->y) < v->range;
}

static inline void drive_draw_line(const DriveView *v, Draw *d, DrivePoint a, DrivePoint b, float metres, uint32_t color) {
    draw_line(d, drive_px(v, a.x), drive_py(v, a.y), drive_px(v, b.x), drive_py(v, b.y), v->scale * metres, color);
}

/* Along the samples rather than the points: they are near each other, so that whole lines are in view or not. */
static inline void drive_draw_lanes(const DriveMap *m, const DriveView *v, Draw *d, int is_inset, uint32_t color) {
    for (int32_t i = 0; i < m->size.lanes && d->count < 2 * DRIVE_MOST_LINES; i++) {
        const DriveLane *l = &drive_lanes(m)[i];
        const DrivePoint *p = drive_points(m) + l->first_point;
        for (int32_t k = 1; is_inset && k < l->points; k++) drive_draw_line(v, d, p[k - 1], p[k], l->width + 1.0f, color);
        if (is_inset) continue;
        for (int32_t k = 0; k < l->samples; k++) {
            const DriveSample *s = &drive_samples(m)[l->first_sample + k];
            float reach = 0.75f * (float)DRIVE_SPACING, wide = l->width + 2.0f * DRIVE_SHOULDER;
            if (!drive_in_view(v, s->x, s->y)) continue;
            drive_draw_line(v, d, (DrivePoint){s->x - reach * s->hx, s->y - reach * s->hy},
                            (DrivePoint){s->x + reach * s->hx, s->y + reach * s->hy}, wide, color);
        }
    }
}

/* Dashes on the left side of straight lanes: the middle of the road. */
static inline void drive_draw_paint(const DriveMap *m, const DriveView *v, Draw *d) {
    for (int32_t i = 0; i < m->size.lanes; i++) {
        const DriveLane *l = &drive_lanes(m)[i];
        for (int32_t k = 1; l->points == 2 && k < l->samples - 1 && d->count < 2 * DRIVE_MOST_LINES; k += 3) {
            const DriveSample *s = &drive_samples(m)[l->first_sample + k];
            if (!drive_in_view(v, s->x, s->y)) continue;
            DrivePoint a = {s->x - 0.5f * l->width * s->hy, s->y + 0.5f * l->width * s->hx};
            drive_draw_line(v, d, a, (DrivePoint){a.x + 2.0f * s->hx, a.y + 2.0f * s->hy}, 0.15f, DRIVE_PAINT);
        }
    }
}

static inline void drive_draw_route(const Drive *g, const DriveView *v, Draw *d, int i) {
    const DriveCar *c = &g->cars[i];
    DriveRoute r = drive_route(g, i);
    DrivePoint before = {c->x, c->y};
    for (int32_t k = c->at + 1; k < c->route_length && d->count < 3 * DRIVE_MOST_LINES; k++) {
        const DriveSample *s = &drive_samples(g->map)[r.samples[k]];
        if (drive_in_view(v, s->x, s->y)) drive_draw_line(v, d, before, (DrivePoint){s->x, s->y}, 2.5f / v->scale, 0xF2B84BA0u);
        before = (DrivePoint){s->x, s->y};
    }
}

static inline void drive_draw_goal(const Drive *g, const DriveView *v, Draw *d, int i) {
    float x = drive_px(v, g->cars[i].goal_x), y = drive_py(v, g->cars[i].goal_y), r = v->scale * g->args.goal_radius;
    draw_circle(d, x, y, puffer_maxf(r, 4.0f), 0xF2B84B50u);
    draw_circle(d, x, y, puffer_maxf(0.35f * r, 2.0f), DRAW_AMBER);
}

/* A rectangle around (x, y), turned with the car. */
static inline void drive_draw_plate(const DriveView *v, Draw *d, const DriveCar *c, float along, float length, float width, uint32_t color) {
    float x = drive_px(v, c->x + along * c->hx), y = drive_py(v, c->y + along * c->hy), s = 0.5f * v->scale;
    float ax = s * length * c->hx, ay = -s * length * c->hy, bx = s * width * c->hy, by = s * width * c->hx;
    draw_tri(d, x - ax - bx, y - ay - by, x + ax - bx, y + ay - by, x + ax + bx, y + ay + by, color);
    draw_tri(d, x - ax - bx, y - ay - by, x + ax + bx, y + ay + by, x - ax + bx, y - ay + by, color);
}

static inline uint32_t drive_color(const DriveCar *c, int i, int hero) {
    static const uint32_t colors[4] = {DRAW_BLUE, DRAW_VIOLET, DRAW_GREEN, 0xA9B7C6FFu};
    if (c->status == DRIVE_STOPPED) return DRAW_EDGE;
    if (c->touches || c->is_off) return DRAW_CORAL;
    return i == hero ? DRAW_TEAL : colors[i % 4];
}

static inline void drive_draw_car(const DriveView *v, Draw *d, const DriveCar *c, uint32_t color) {
    if (!drive_in_view(v, c->x, c->y)) return;
    drive_draw_plate(v, d, c, 0, c->length, c->width, color);
    drive_draw_plate(v, d, c, 0.14f * c->length, 0.16f * c->length, 0.8f * c->width, DRAW_BACKGROUND);
    drive_draw_plate(v, d, c, -0.32f * c->length, 0.1f * c->length, 0.8f * c->width, DRAW_BACKGROUND);
}

/* The row that the picture follows: the first one in the world. */
static inline int drive_hero(const Drive *g) {
    for (int i = 0; i < g->args.num_cars; i++)
        if (drive_is_present(&g->cars[i])) return i;
    return -1;
}

static inline void drive_draw_inset(const Drive *g, Draw *d, int hero) {
    const DriveMap *m = g->map;
    float w = (float)m->size.raster_w, h = (float)m->size.raster_h, scale = DRIVE_INSET / puffer_maxf(w, h);
    DriveView v = {m->x0, m->y0 + h, scale, 632.0f - scale * w, 472.0f - scale * h, INFINITY};
    draw_rect(d, v.left - 2, v.top - 2, scale * w + 4, scale * h + 4, DRAW_EDGE);
    draw_rect(d, v.left, v.top, scale * w, scale * h, DRAW_BACKGROUND);
    drive_draw_lanes(m, &v, d, 1, DRAW_EDGE);
    for (int i = 0; i < g->args.num_cars; i++) {
        const DriveCar *c = &g->cars[i];
        if (drive_is_present(c)) draw_circle(d, drive_px(&v, c->x), drive_py(&v, c->y), 2, drive_color(c, i, hero));
    }
    if (hero < 0) return;
    drive_draw_route(g, &v, d, hero);
    drive_draw_goal(g, &v, d, hero);
    draw_circle(d, drive_px(&v, g->cars[hero].x), drive_py(&v, g->cars[hero].y), 3.5f, DRAW_TEAL);
}

static inline void drive_draw(const Drive *g, Draw *d) {
    int hero = drive_hero(g), present = 0;
    const DriveCar *c = &g->cars[hero < 0 ? 0 : hero];
    DriveView v = {c->x, c->y, DRIVE_ZOOM, 320, 240, 60};
    for (int i = 0; i < g->args.num_cars; i++) present += drive_is_present(&g->cars[i]);

    draw_clear(d, DRIVE_GRASS);
    drive_draw_lanes(g->map, &v, d, 0, DRIVE_ASPHALT);
    drive_draw_paint(g->map, &v, d);
    if (hero >= 0) drive_draw_route(g, &v, d, hero);
    if (hero >= 0) drive_draw_goal(g, &v, d, hero);
    for (int i = 0; i < g->args.num_cars; i++)
        if (drive_is_present(&g->cars[i])) drive_draw_car(&v, d, &g->cars[i], drive_color(&g->cars[i], i, hero));
    drive_draw_inset(g, d, hero);
    draw_rect(d, 8, 8, 330, 34, 0x12161CC0u);
    draw_number(d, 16, 15, 20, DRAW_INK, "step ", c->t);
    draw_number(d, 136, 15, 20, DRAW_DIM, "km/h ", (int64_t)(3.6f * fabsf(c->speed)));
    draw_number(d, 250, 15, 20, DRAW_DIM, "cars ", present);
}

#endif
