/* Drone: fly a quadrotor to a point and hold it there, or through a course of rings.
 * How it flies stands in drone_physics.h. */
#ifndef DRONE_H
#define DRONE_H

#include "drone_physics.h"

#define DRONE_NEAR 0.2f
#define DRONE_RING 0.6f       /* inner radius */
#define DRONE_RING_OUTER 0.7f

enum { DRONE_HOVER, DRONE_RACE, DRONE_MIX };
enum { DRONE_OBS = 26, DRONE_SETTLING_STEPS = 100 };

typedef struct DroneArgs {
    int32_t task, rings, substeps, max_steps;
    float randomize, arena;
} DroneArgs;

typedef struct DroneLog {
    PUFFER_LOG_FIELDS;
} DroneLog;

typedef struct DroneRing {
    DroneVec at, normal;
} DroneRing;

typedef struct Drone {
    PufferIO io;
    PufferRng rng;
    DroneLog log;
    DroneArgs args;
    float per_arena; /* derived */
    /* of this episode */
    int32_t task, target, near_steps, t;
    DronePlant plant;
    double episode_return;
    DroneRing *rings; /* in the arena; hovering has one, without a normal */
    DroneBody body; /* state */
} Drone;

static const PufferField drone_fields[] = {
    PUFFER_INT(DroneArgs, task), PUFFER_INT(DroneArgs, rings), PUFFER_INT(DroneArgs, substeps), PUFFER_INT(DroneArgs, max_steps),
    PUFFER_FLOAT(DroneArgs, randomize), PUFFER_FLOAT(DroneArgs, arena), PUFFER_END};
static const char *const drone_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const drone_errors[] = {"", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline PufferShape drone_shape(const DroneArgs *args) {
    (void)args;
    return (PufferShape){1, DRONE_OBS * sizeof(float), 4 * sizeof(float), 0};
}

static inline size_t drone_bytes(const DroneArgs *args) {
    return (size_t)(args->task == DRONE_HOVER ? 1 : args->rings) * sizeof(DroneRing);
}

static inline int drone_init(Drone *g, const DroneArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->per_arena = 1.0f / args->arena;
    g->rings = (DroneRing *)arena;
    return 0;
}

/* ---------------------------------------------------------------- observations */

/* From world to body axes, scaled and written, with a 0 behind, which what is written next takes the place of. */
static inline void drone_write_in_body(const DroneRotation *r, DroneVec a, float scale, float *out) {
    float turned[4];
    a = (DroneVec){a.x * scale, a.y * scale, a.z * scale};
    for (int k = 0; k < 4; k++) turned[k] = puffer_unit(r->m[0][k] * a.x + r->m[1][k] * a.y + r->m[2][k] * a.z);
    memcpy(out, turned, sizeof turned);
}

/* The next target after the last one, and when hovering, is the target itself. */
static inline void drone_write_obs(const Drone *g, float *out) {
    const DroneBody *b = &g->body;
    const DroneRing *target = &g->rings[g->target];
    DroneRotation r = drone_rotation(b->q);
    int is_racing = g->task == DRONE_RACE;
    if (is_racing && g->target == g->args.rings) target -= 1; /* all are passed */
    DroneVec offset = drone_minus(target->at, b->p);
    drone_write_in_body(&r, b->v, 0.1f, out);
    out[3] = puffer_unit(b->spin.x * (1.0f / 15));
    out[4] = puffer_unit(b->spin.y * (1.0f / 15));
    out[5] = puffer_unit(b->spin.z * (1.0f / 15));
    out[6] = puffer_unit(b->q.w);
    out[7] = puffer_unit(b->q.x);
    out[8] = puffer_unit(b->q.y);
    out[9] = puffer_unit(b->q.z);
    memcpy(out + 10, &b->rotors, sizeof b->rotors);
    drone_write_in_body(&r, offset, g->per_arena, out + 14);
    if (is_racing) {
        const DroneRing *next = target < &g->rings[g->args.rings - 1] ? target + 1 : target;
        drone_write_in_body(&r, drone_minus(next->at, b->p), g->per_arena, out + 17);
        drone_write_in_body(&r, target->normal, 1.0f, out + 20);
    } else {
        for (int k = 0; k < 3; k++) out[17 + k] = out[14 + k], out[20 + k] = 0.0f;
    }
    out[23] = puffer_unit(b->p.z * g->per_arena);
    out[24] = puffer_unit(drone_length(offset) * g->per_arena);
    out[25] = is_racing ? 1.0f : 0.0f;
}

/* ---------------------------------------------------------------- a new episode */

/* Uniform in the middle half of the arena. */
static inline DroneVec drone_random_place(Drone *g) {
    float half = 0.5f * g->args.arena;
    float x = puffer_range(&g->rng, -half, half), y = puffer_range(&g->rng, -half, half);
    return (DroneVec){x, y, puffer_range(&g->rng, 0.5f * half, 1.5f * half)};
}

/* Turn back what lies beyond the limit, and the direction with it. */
static inline float drone_mirrored(float at, float limit, float *direction) {
    if (fabsf(at) <= limit) return at;
    *direction = -*direction;
    return (at > 0.0f ? 2.0f : -2.0f) * limit - at;
}

/* Each ring lies 2 to 4 m from the last one, at most 1 rad off the direction so far; the first one so from the start. */
static inline void drone_lay_course(Drone *g, float heading) {
    DroneVec last = g->body.p;
    float limit = 0.8f * g->args.arena, dx = puffer_cosf(heading), dy = puffer_sinf(heading);
    for (int i = 0; i < g->args.rings; i++) {
        float turn = puffer_range(&g->rng, -1.0f, 1.0f), far = puffer_range(&g->rng, 2.0f, 4.0f);
        float c = puffer_cosf(turn), s = puffer_sinf(turn), turned_x = dx * c - dy * s, turned_y = dx * s + dy * c;
        dx = turned_x, dy = turned_y;
        DroneVec at = {last.x + far * dx, last.y + far * dy, puffer_range(&g->rng, 0.2f, 0.6f) * g->args.arena};
        at.x = drone_mirrored(at.x, limit, &dx);
        at.y = drone_mirrored(at.y, limit, &dy);
        DroneVec way = drone_minus(at, last);
        float length = drone_length(way), scale = length > 0.0f ? 1.0f / length : 0.0f;
        g->rings[i] = (DroneRing){at, {way.x * scale, way.y * scale, way.z * scale}};
        last = at;
    }
}

static inline void drone_new_episode(Drone *g) {
    float low = 1.0f - g->args.randomize, high = 1.0f + g->args.randomize;
    g->task = g->args.task == DRONE_MIX ? (int32_t)puffer_below(&g->rng, 2) : g->args.task;
    float mass = puffer_range(&g->rng, low, high), inertia = puffer_range(&g->rng, low, high);
    g->plant = drone_plant(g->args.substeps, mass, inertia, puffer_range(&g->rng, low, high));

    g->body.p = drone_random_place(g);
    float heading = puffer_range(&g->rng, -PUFFER_PI, PUFFER_PI);
    g->body.v = g->body.spin = (DroneVec){0, 0, 0};
    g->body.q = (DroneQuat){puffer_cosf(0.5f * heading), 0, 0, puffer_sinf(0.5f * heading)};
    g->body.rotors = (DroneRotors){DRONE_HOVER_ROTOR, DRONE_HOVER_ROTOR, DRONE_HOVER_ROTOR, DRONE_HOVER_ROTOR};
    if (g->task == DRONE_RACE) drone_lay_course(g, heading);
    else g->rings[0] = (DroneRing){drone_random_place(g), {0, 0, 0}};
    g->target = g->near_steps = g->t = 0;
    g->episode_return = 0;
}

/* ---------------------------------------------------------------- tasks */

/* Steps before this one do not count for hovering. Short episodes have no time to settle. */
static inline int drone_first_counted(const Drone *g) {
    return g->args.max_steps > 0 && g->args.max_steps <= DRONE_SETTLING_STEPS ? 0 : DRONE_SETTLING_STEPS;
}

/* The sum of squares. */
static inline float drone_effort(DroneRotors wanted, DroneRotors r) {
    float a = wanted.front_left - r.front_left, b = wanted.front_right - r.front_right;
    float c = wanted.back_right - r.back_right, d = wanted.back_left - r.back_left;
    return a * a + b * b + c * c + d * d;
}

static inline float drone_hover(Drone *g, DroneRotors wanted) {
    const DroneBody *b = &g->body;
    float distance = drone_length(drone_minus(g->rings[0].at, b->p));
    g->near_steps += distance < DRONE_NEAR && g->t > drone_first_counted(g);
    return 0.1f * puffer_expf(-distance) - 0.001f * drone_effort(wanted, b->rotors) - 0.0005f * drone_length(b->spin);
}

enum { DRONE_MISSED, DRONE_PASSED, DRONE_HIT };

/* Where the way from `from` to the present place crosses the ring's plane, if it does so along the normal. */
static inline int drone_cross(const Drone *g, const DroneRing *ring, DroneVec from) {
    float before = drone_dot(drone_minus(from, ring->at), ring->normal);
    float after = drone_dot(drone_minus(g->body.p, ring->at), ring->normal);
    if (before >= 0.0f || after < 0.0f) return DRONE_MISSED;
    float part = before / (before - after);
    DroneVec off = {from.x + part * (g->body.p.x - from.x) - ring->at.x, from.y + part * (g->body.p.y - from.y) - ring->at.y,
                    from.z + part * (g->body.p.z - from.z) - ring->at.z};
    float squared = drone_dot(off, off);
    if (squared <= DRONE_RING * DRONE_RING) return DRONE_PASSED;
    return squared <= DRONE_RING_OUTER * DRONE_RING_OUTER ? DRONE_HIT : DRONE_MISSED;
}

/* Returns the reward; sets the terminal flag after the last ring, and where the drone hits one. */
static inline float drone_race(Drone *g, DroneVec from) {
    const DroneRing *ring = &g->rings[g->target];
    float reward = 0.1f * (drone_length(drone_minus(ring->at, from)) - drone_length(drone_minus(ring->at, g->body.p)));
    int crossed = drone_cross(g, ring, from);
    if (crossed == DRONE_HIT) {
        *g->io.term = 1;
        return reward - 1.0f;
    }
    if (crossed == DRONE_MISSED) return reward;
    g->target += 1;
    if (g->target < g->args.rings) return reward + 1.0f;
    *g->io.term = 1;
    return reward + 3.0f;
}

static inline int drone_is_outside(const Drone *g) {
    float most = g->args.arena;
    return fabsf(g->body.p.x) > most || fabsf(g->body.p.y) > most || g->body.p.z <= 0.0f || g->body.p.z > most;
}

/* ---------------------------------------------------------------- the step */

/* Steps after a crash count as far from the target; without a time limit, all that there were. */
static inline double drone_score(const Drone *g) {
    if (g->task == DRONE_RACE) return g->target;
    int counted = (g->args.max_steps > 0 ? g->args.max_steps : g->t) - drone_first_counted(g);
    return counted > 0 ? (double)g->near_steps / counted : 0.0;
}

static inline void drone_end_episode(Drone *g) {
    double score = drone_score(g);
    if (g->io.final_obs) drone_write_obs(g, (float *)g->io.final_obs);
    g->log.score += score;
    g->log.perf += g->task == DRONE_RACE ? score / g->args.rings : score;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    drone_new_episode(g);
}

/* An action in [-1, 1] asks for a speed in [0, 1]. */
static inline float drone_wanted(float action) { return 0.5f * puffer_box(action, -1.0f, 1.0f) + 0.5f; }

static inline void drone_step(Drone *g) {
    puffer_begin_step(&g->io, 1);
    const float *a = (const float *)g->io.act;
    DroneRotors wanted = {drone_wanted(a[0]), drone_wanted(a[1]), drone_wanted(a[2]), drone_wanted(a[3])};
    DroneVec from = g->body.p;
    g->body = drone_flown(&g->plant, g->body, wanted, g->args.substeps);
    g->t += 1;
    float reward = g->task == DRONE_RACE ? drone_race(g, from) : drone_hover(g, wanted);
    if (!*g->io.term && drone_is_outside(g)) {
        reward -= 1.0f;
        *g->io.term = 1;
    }
    *g->io.rew = reward;
    g->episode_return += (double)reward;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) drone_end_episode(g);
    drone_write_obs(g, (float *)g->io.obs);
}

static inline void drone_restart(Drone *g) {
    puffer_begin_episode(&g->io, 1);
    drone_new_episode(g);
    drone_write_obs(g, (float *)g->io.obs);
}

static inline void drone_reset(Drone *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    drone_restart(g);
}

/* ---------------------------------------------------------------- drawing */

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
    DroneRotation r = drone_rotation(g->body.q);
    float arm = 0.06f * g->args.arena, radius = 0.4f * arm * view.scale, speeds[4];
    memcpy(speeds, &g->body.rotors, sizeof speeds);
    for (int i = 3; i >= 0; i--) {
        float x = i < 2 ? arm : -arm, y = i == 0 || i == 3 ? arm : -arm;
        DroneVec tip = {g->body.p.x + r.m[0][0] * x + r.m[0][1] * y, g->body.p.y + r.m[1][0] * x + r.m[1][1] * y,
                        g->body.p.z + r.m[2][0] * x + r.m[2][1] * y};
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

PUFFER_GAME(drone, Drone);

#endif
