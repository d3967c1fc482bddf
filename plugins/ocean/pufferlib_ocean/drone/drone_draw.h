/* Drone's picture: the arena from above one edge, shadows below what flies. Never changes a world. */
#ifndef DRONE_DRAW_H
#define DRONE_DRAW_H

#include "drone_world.h"

typedef struct DroneView {
    float scale, x, y; /* pixels a metre; where the middle of the floor is */
} DroneView;

typedef struct DronePixel {
    float x, y;
} DronePixel;

/* Seen from the south, somewhat from the east, and from 25 degrees above the horizon. */
static inline DronePixel drone_project(DroneView view, DroneVec a) {
    float across = 0.94f * a.x - 0.34f * a.y, away = 0.34f * a.x + 0.94f * a.y;
    return (DronePixel){view.x + view.scale * across, view.y - view.scale * (0.42f * away + 0.91f * a.z)};
}

static inline void drone_draw_line(Draw *d, DroneView view, DroneVec a, DroneVec b, float width, uint32_t color) {
    DronePixel p = drone_project(view, a), q = drone_project(view, b);
    draw_line(d, p.x, p.y, q.x, q.y, width, color);
}

static inline void drone_draw_floor(const Drone *g, Draw *d, DroneView view) {
    float a = g->args.arena;
    DronePixel p = drone_project(view, (DroneVec){-a, -a, 0}), q = drone_project(view, (DroneVec){a, -a, 0});
    DronePixel r = drone_project(view, (DroneVec){a, a, 0}), s = drone_project(view, (DroneVec){-a, a, 0});
    draw_tri(d, p.x, p.y, q.x, q.y, r.x, r.y, DRAW_FLOOR);
    draw_tri(d, p.x, p.y, r.x, r.y, s.x, s.y, DRAW_FLOOR);
    for (int k = -4; k <= 4; k++) {
        float at = 0.25f * a * (float)k;
        drone_draw_line(d, view, (DroneVec){at, -a, 0}, (DroneVec){at, a, 0}, 1, 0x2A333EFFu);
        drone_draw_line(d, view, (DroneVec){-a, at, 0}, (DroneVec){a, at, 0}, 1, 0x2A333EFFu);
    }
    for (int k = 0; k < 4; k++) { /* corner posts */
        float x = k & 1 ? a : -a, y = k & 2 ? a : -a;
        drone_draw_line(d, view, (DroneVec){x, y, 0}, (DroneVec){x, y, a}, 1, DRAW_EDGE);
    }
}

/* What is in the air stands on a thin line to its shadow, or nobody could tell where it is. */
static inline void drone_draw_shadow(Draw *d, DroneView view, DroneVec at, float radius) {
    DroneVec below = {at.x, at.y, 0};
    DronePixel p = drone_project(view, below);
    drone_draw_line(d, view, at, below, 1, DRAW_EDGE);
    draw_circle(d, p.x, p.y, radius, 0x0B0E12FFu);
}

static inline void drone_draw_ring(Draw *d, DroneView view, const DroneRing *ring, uint32_t color) {
    DroneVec n = ring->normal;
    float flat = puffer_maxf(1e-6f, sqrtf(n.x * n.x + n.y * n.y)), r = DRONE_RING;
    DroneVec u = {-n.y / flat, n.x / flat, 0}, v = {n.y * u.z - n.z * u.y, n.z * u.x - n.x * u.z, n.x * u.y - n.y * u.x};
    DroneVec last = {0, 0, 0};
    for (int k = 0; k <= 24; k++) {
        float c = r * puffer_cosf((float)k * (PUFFER_PI / 12)), s = r * puffer_sinf((float)k * (PUFFER_PI / 12));
        DroneVec here = {ring->at.x + c * u.x + s * v.x, ring->at.y + c * u.y + s * v.y, ring->at.z + c * u.z + s * v.z};
        if (k > 0) drone_draw_line(d, view, last, here, 3, color);
        last = here;
    }
}

/* Larger than life, and front rotors in another colour. */
static inline void drone_draw_body(const Drone *g, Draw *d, DroneView view) {
    DroneQuat q = g->body.q;
    DroneVec ahead = {1 - 2 * (q.y * q.y + q.z * q.z), 2 * (q.x * q.y + q.w * q.z), 2 * (q.x * q.z - q.w * q.y)};
    DroneVec left = {2 * (q.x * q.y - q.w * q.z), 1 - 2 * (q.x * q.x + q.z * q.z), 2 * (q.y * q.z + q.w * q.x)};
    float arm = 0.06f * g->args.arena, radius = 0.4f * arm * view.scale, speeds[4];
    memcpy(speeds, &g->body.rotors, sizeof speeds);
    for (int i = 3; i >= 0; i--) {
        float x = i < 2 ? arm : -arm, y = i == 0 || i == 3 ? arm : -arm;
        DroneVec tip = {g->body.p.x + x * ahead.x + y * left.x, g->body.p.y + x * ahead.y + y * left.y,
                        g->body.p.z + x * ahead.z + y * left.z};
        DronePixel p = drone_project(view, tip);
        drone_draw_line(d, view, g->body.p, tip, 3, DRAW_DIM);
        draw_circle(d, p.x, p.y, radius * (0.6f + 0.8f * speeds[i]), i < 2 ? DRAW_TEAL : DRAW_BLUE);
    }
    DronePixel p = drone_project(view, g->body.p);
    draw_circle(d, p.x, p.y, 0.45f * radius + 2, DRAW_INK);
}

static inline void drone_draw(const Drone *g, Draw *d) {
    DroneView view = {212.0f / g->args.arena, 320, 358};
    draw_clear(d, DRAW_BACKGROUND);
    drone_draw_floor(g, d, view);
    if (g->task == DRONE_RACE) {
        draw_number(d, 16, 14, 20, DRAW_INK, "rings ", g->target);
        draw_number(d, 130, 14, 20, DRAW_DIM, "of ", g->args.rings);
        for (int i = 0; i < g->args.rings; i++) {
            if (i == g->target) drone_draw_shadow(d, view, g->rings[i].at, 3);
            drone_draw_ring(d, view, &g->rings[i], i < g->target ? 0x2F6B46FFu : i == g->target ? DRAW_AMBER : 0x5A6877FFu);
        }
    } else {
        DronePixel p = drone_project(view, g->rings[0].at);
        float distance = drone_length(drone_minus(g->rings[0].at, g->body.p));
        draw_number(d, 16, 14, 20, DRAW_INK, "distance in cm ", (int64_t)(100 * distance));
        drone_draw_shadow(d, view, g->rings[0].at, 3);
        draw_circle(d, p.x, p.y, puffer_maxf(8.0f, view.scale * DRONE_NEAR), 0xF2B84B60u);
        draw_circle(d, p.x, p.y, 4, DRAW_AMBER);
    }
    draw_number(d, 480, 14, 20, DRAW_DIM, "step ", g->t);
    drone_draw_shadow(d, view, g->body.p, 5);
    drone_draw_body(g, d, view);
}

#endif
