/* Drone: fly a quadrotor to a point and hold it there, or through a course of rings.
 * How it flies stands in drone_physics.h. */
#ifndef DRONE_H
#define DRONE_H

#include "drone_draw.h"

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

/* Which of these drones are in a race. */
static inline DroneMask drone_are_racing(void *const worlds[DRONE_LANES]) {
    int32_t racing[DRONE_LANES];
    DroneMask mask;
    for (int k = 0; k < DRONE_LANES; k++) racing[k] = -(((const Drone *)worlds[k])->task == DRONE_RACE);
    memcpy(&mask, racing, sizeof mask);
    return mask;
}

/* Of the DroneRing at each place; four floats are read at once, from within it. */
static inline DroneVecs drone_ring_places(void *const rings[DRONE_LANES]) {
    DroneFour m = drone_gather(rings, offsetof(DroneRing, at));
    return (DroneVecs){m.a, m.b, m.c};
}

static inline DroneVecs drone_ring_normals(void *const rings[DRONE_LANES]) {
    DroneFour m = drone_gather(rings, offsetof(DroneRing, normal) - sizeof(float));
    return (DroneVecs){m.b, m.c, m.d};
}

/* From world to body axes, scaled. */
static inline DroneVecs drone_in_body(const DroneRotations *r, DroneVecs a, float scale) {
    a = (DroneVecs){a.x * scale, a.y * scale, a.z * scale};
    return (DroneVecs){drone_unit(r->m[0][0] * a.x + r->m[1][0] * a.y + r->m[2][0] * a.z),
                       drone_unit(r->m[0][1] * a.x + r->m[1][1] * a.y + r->m[2][1] * a.z),
                       drone_unit(r->m[0][2] * a.x + r->m[1][2] * a.y + r->m[2][2] * a.z)};
}

/* The next target after the last one, and when hovering, is the target itself. */
static inline void drone_write_obs(void *const worlds[DRONE_LANES], const DroneBodies *b) {
    const Drone *first = worlds[0]; /* the arguments are the same for all */
    int may_race = first->args.task != DRONE_HOVER, last = may_race ? first->args.rings - 1 : 0;
    float per_arena = first->per_arena;
    void *out[DRONE_LANES], *target[DRONE_LANES], *next[DRONE_LANES];
    for (int k = 0; k < DRONE_LANES; k++) {
        const Drone *g = worlds[k];
        int at = puffer_clipi(g->target, 0, last); /* all may be passed */
        out[k] = g->io.obs;
        target[k] = &g->rings[at];
        next[k] = &g->rings[g->task == DRONE_RACE && at < last ? at + 1 : at];
    }
    DroneRotations r = drone_rotations(b->q);
    DroneVecs offset = drone_minus_each(drone_ring_places(target), b->p);
    DroneVecs v = drone_in_body(&r, b->v, 0.1f), to_target = drone_in_body(&r, offset, per_arena), to_next = to_target;
    DroneVecs normal = {drone_all(0), drone_all(0), drone_all(0)};
    DroneLanes task = drone_all(0);
    if (may_race) {
        DroneMask racing = drone_are_racing(worlds);
        DroneVecs faced = drone_in_body(&r, drone_ring_normals(target), 1.0f);
        to_next = drone_in_body(&r, drone_minus_each(drone_ring_places(next), b->p), per_arena);
        normal = (DroneVecs){drone_choose(racing, faced.x, normal.x), drone_choose(racing, faced.y, normal.y),
                             drone_choose(racing, faced.z, normal.z)};
        task = drone_choose(racing, drone_all(1), task);
    }
    const float slow = 1.0f / 15;
    DroneVecs spin = {drone_unit(b->spin.x * slow), drone_unit(b->spin.y * slow), drone_unit(b->spin.z * slow)};
    DroneQuats q = {drone_unit(b->q.w), drone_unit(b->q.x), drone_unit(b->q.y), drone_unit(b->q.z)};
    DroneLanes height = drone_unit(b->p.z * per_arena), distance = drone_unit(drone_length_each(offset) * per_arena);
    const DroneRotorSets *rotors = &b->rotors;
    const size_t row = 4 * sizeof(float);
    drone_scatter((DroneFour){v.x, v.y, v.z, spin.x}, out, 0);
    drone_scatter((DroneFour){spin.y, spin.z, q.w, q.x}, out, row);
    drone_scatter((DroneFour){q.y, q.z, rotors->front_left, rotors->front_right}, out, 2 * row);
    drone_scatter((DroneFour){rotors->back_right, rotors->back_left, to_target.x, to_target.y}, out, 3 * row);
    drone_scatter((DroneFour){to_target.z, to_next.x, to_next.y, to_next.z}, out, 4 * row);
    drone_scatter((DroneFour){normal.x, normal.y, normal.z, height}, out, 5 * row);
    drone_scatter((DroneFour){normal.z, height, distance, task}, out, 5 * row + row / 2); /* overlaps the row before */
}

/* Observations of one drone. */
static inline void drone_write_own_obs(Drone *g) {
    void *worlds[DRONE_LANES];
    for (int k = 0; k < DRONE_LANES; k++) worlds[k] = g;
    DroneBodies b = drone_gather_bodies(worlds, offsetof(Drone, body));
    drone_write_obs(worlds, &b);
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
static inline DroneLanes drone_effort(DroneRotorSets wanted, DroneRotorSets r) {
    DroneLanes a = wanted.front_left - r.front_left, b = wanted.front_right - r.front_right;
    DroneLanes c = wanted.back_right - r.back_right, d = wanted.back_left - r.back_left;
    return (a * a + b * b) + (c * c + d * d);
}

/* What may happen to a drone in a step, as bits. */
enum { DRONE_IS_NEAR = 1, DRONE_IS_OUTSIDE = 2, DRONE_PASSED_RING = 4, DRONE_HIT_RING = 8 };

typedef struct DroneDeeds {
    DroneLanes reward; /* what events bring is yet to be added */
    DroneMask events;
} DroneDeeds;

static inline DroneDeeds drone_hover(const DroneBodies *b, DroneVecs target, DroneRotorSets wanted) {
    DroneLanes distance = drone_length_each(drone_minus_each(target, b->p));
    DroneLanes cost = 0.001f * drone_effort(wanted, b->rotors) + 0.0005f * drone_length_each(b->spin);
    return (DroneDeeds){0.1f * drone_exp_minus(distance) - cost, drone_less(distance, drone_all(DRONE_NEAR)) & DRONE_IS_NEAR};
}

/* A ring is passed or hit where the way from `from` to the present place crosses its plane along the normal. */
static inline DroneDeeds drone_race(const DroneBodies *b, DroneVecs from, DroneVecs ring, DroneVecs normal) {
    DroneLanes zero = drone_all(0);
    DroneVecs old = drone_minus_each(from, ring), now = drone_minus_each(b->p, ring), way = drone_minus_each(b->p, from);
    DroneLanes before = drone_dot_each(old, normal), after = drone_dot_each(now, normal);
    DroneMask crossed = drone_less(before, zero) & ~drone_less(after, zero);
    DroneLanes part = before / drone_choose(crossed, before - after, drone_all(1)); /* of the way */
    DroneVecs off = {old.x + part * way.x, old.y + part * way.y, old.z + part * way.z};
    DroneLanes squared = drone_dot_each(off, off);
    DroneMask beside = drone_less(drone_all(DRONE_RING * DRONE_RING), squared);
    DroneMask far = drone_less(drone_all(DRONE_RING_OUTER * DRONE_RING_OUTER), squared);
    DroneMask passed = crossed & ~beside & DRONE_PASSED_RING, hit = crossed & beside & ~far & DRONE_HIT_RING;
    return (DroneDeeds){0.1f * (drone_length_each(old) - drone_length_each(now)), passed | hit};
}

static inline DroneMask drone_are_outside(const DroneBodies *b, float arena) {
    DroneLanes most = drone_all(arena), least = drone_all(-arena), zero = drone_all(0);
    DroneMask aside = drone_less(most, b->p.x) | drone_less(b->p.x, least) | drone_less(most, b->p.y) | drone_less(b->p.y, least);
    return aside | drone_less(most, b->p.z) | ~drone_less(zero, b->p.z);
}

/* Of drones that were at `from`, and flew. */
static inline DroneDeeds drone_deeds(void *const worlds[DRONE_LANES], const DroneBodies *b, DroneVecs from, DroneRotorSets wanted) {
    const Drone *first = worlds[0];
    void *target[DRONE_LANES];
    for (int k = 0; k < DRONE_LANES; k++) {
        const Drone *g = worlds[k];
        target[k] = &g->rings[g->target];
    }
    DroneVecs at = drone_ring_places(target);
    DroneDeeds deeds = drone_hover(b, at, wanted);
    if (first->args.task != DRONE_HOVER) {
        DroneMask racing = drone_are_racing(worlds);
        DroneDeeds race = drone_race(b, from, at, drone_ring_normals(target));
        deeds.reward = drone_choose(racing, race.reward, deeds.reward);
        deeds.events = (racing & race.events) | (~racing & deeds.events);
    }
    deeds.events |= drone_are_outside(b, first->args.arena) & DRONE_IS_OUTSIDE;
    return deeds;
}

/* ---------------------------------------------------------------- the step */

/* Steps after a crash count as far from the target; without a time limit, all that there were. */
static inline double drone_score(const Drone *g) {
    if (g->task == DRONE_RACE) return g->target;
    int counted = (g->args.max_steps > 0 ? g->args.max_steps : g->t) - drone_first_counted(g);
    return counted > 0 ? (double)g->near_steps / counted : 0.0;
}

/* Observations are those of the last state until now. */
static inline void drone_end_episode(Drone *g) {
    double score = drone_score(g);
    if (g->io.final_obs) memcpy(g->io.final_obs, g->io.obs, DRONE_OBS * sizeof(float));
    g->log.score += score;
    g->log.perf += g->task == DRONE_RACE ? score / g->args.rings : score;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    drone_new_episode(g);
    drone_write_own_obs(g);
}

/* An action in [-1, 1] asks for a speed in [0, 1]; NaN acts as 0. */
static inline DroneLanes drone_wanted(DroneLanes action) {
    DroneMask is_number = drone_less(action, drone_all(1)) | drone_less(drone_all(0), action);
    return 0.5f * drone_unit(drone_choose(is_number, action, drone_all(0))) + 0.5f;
}

/* Give out what a step brought, but for observations. Returns whether the episode ends. */
static inline int drone_conclude(Drone *g, float reward, int events) {
    int is_terminal = 0;
    if (events & DRONE_PASSED_RING) {
        g->target += 1;
        is_terminal = g->target == g->args.rings;
        reward += is_terminal ? 3.0f : 1.0f;
    }
    if (!is_terminal && events & (DRONE_HIT_RING | DRONE_IS_OUTSIDE)) {
        is_terminal = 1;
        reward -= 1.0f;
    }
    g->t += 1;
    g->near_steps += (events & DRONE_IS_NEAR) != 0 && g->t > drone_first_counted(g);
    g->episode_return += (double)reward;
    int is_late = g->args.max_steps > 0 && g->t >= g->args.max_steps;
    *g->io.rew = reward;
    *g->io.term = (uint8_t)is_terminal;
    *g->io.trunc = (uint8_t)(!is_terminal && is_late);
    *g->io.mask = 1;
    return is_terminal || is_late;
}

/* Steps the first `count` worlds, side by side. */
static inline void drone_step_together(void *const worlds[DRONE_LANES], int count) {
    void *actions[DRONE_LANES];
    for (int k = 0; k < DRONE_LANES; k++) actions[k] = (void *)((const Drone *)worlds[k])->io.act;
    DroneFour a = drone_gather(actions, 0);
    DroneRotorSets wanted = {drone_wanted(a.a), drone_wanted(a.b), drone_wanted(a.c), drone_wanted(a.d)};
    DronePlants plants = drone_gather_plants(worlds, offsetof(Drone, plant));
    DroneBodies before = drone_gather_bodies(worlds, offsetof(Drone, body));
    DroneBodies b = drone_flown(&plants, before, wanted, ((const Drone *)worlds[0])->args.substeps);
    drone_scatter_bodies(&b, worlds, offsetof(Drone, body));

    DroneDeeds deeds = drone_deeds(worlds, &b, before.p, wanted);
    float rewards[DRONE_LANES];
    int32_t events[DRONE_LANES];
    int ended[DRONE_LANES] = {0}, any_ended = 0;
    memcpy(rewards, &deeds.reward, sizeof rewards);
    memcpy(events, &deeds.events, sizeof events);
    for (int k = 0; k < count; k++) any_ended |= ended[k] = drone_conclude(worlds[k], rewards[k], events[k]);
    drone_write_obs(worlds, &b);
    if (!any_ended) return;
    for (int k = 0; k < count; k++)
        if (ended[k]) drone_end_episode(worlds[k]);
}

static inline void drone_restart(Drone *g) {
    puffer_begin_episode(&g->io, 1);
    drone_new_episode(g);
    drone_write_own_obs(g);
}

static inline void drone_reset(Drone *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    drone_restart(g);
}

PUFFER_GAME_TOGETHER(drone, Drone, DRONE_LANES);

#endif
