/* Continuous: move a point to a target in the plane, by up to 0.1 a step along each axis.
 *
 * The reward is the fall in distance, plus 1 on arrival (within 0.1), which ends the episode. With `discretize` the
 * same moves are chosen from five values an axis. */
#ifndef CONTINUOUS_H
#define CONTINUOUS_H

#include "puffer_env.h"

#define CONTINUOUS_REACH 0.1f
#define CONTINUOUS_STEP 0.1f
#define CONTINUOUS_LEAST_DISTANCE 0.3f /* between start and target */

typedef struct ContinuousArgs {
    int32_t max_steps, discretize;
} ContinuousArgs;

typedef struct ContinuousLog {
    PUFFER_LOG_FIELDS;
} ContinuousLog;

typedef struct Continuous {
    PufferIO io;
    PufferRng rng;
    int32_t max_steps, discretize; /* configured */
    float x, y, target_x, target_y; /* state */
    float episode_return;
    int32_t t;
    ContinuousLog log;
} Continuous;

static const PufferField continuous_fields[] = {
    PUFFER_INT(ContinuousArgs, max_steps), PUFFER_INT(ContinuousArgs, discretize), PUFFER_END};
static const char *const continuous_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const continuous_errors[] = {NULL};

static inline PufferShape continuous_shape(const ContinuousArgs *args) {
    (void)args; /* two int32 or two float32 */
    return (PufferShape){.rows = 1, .obs_bytes = 4 * sizeof(float), .act_bytes = 2 * sizeof(float)};
}

static inline size_t continuous_bytes(const ContinuousArgs *args) {
    (void)args;
    return 0;
}

static inline int continuous_init(Continuous *g, const ContinuousArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->max_steps = args->max_steps;
    g->discretize = args->discretize;
    return 0;
}

static inline void continuous_write_observation(const Continuous *g, float *obs) {
    obs[0] = g->x;
    obs[1] = g->y;
    obs[2] = g->target_x;
    obs[3] = g->target_y;
}

static inline float continuous_distance(const Continuous *g) {
    float dx = g->target_x - g->x, dy = g->target_y - g->y;
    return sqrtf(dx * dx + dy * dy);
}

/* The pair is drawn again until the points are far enough apart, so that it stays uniform among such pairs. */
static inline void continuous_begin_episode(Continuous *g) {
    g->t = 0;
    g->episode_return = 0.0f;
    do {
        g->x = puffer_range(&g->rng, -1.0f, 1.0f);
        g->y = puffer_range(&g->rng, -1.0f, 1.0f);
        g->target_x = puffer_range(&g->rng, -1.0f, 1.0f);
        g->target_y = puffer_range(&g->rng, -1.0f, 1.0f);
    } while (continuous_distance(g) < CONTINUOUS_LEAST_DISTANCE);
}

static inline void continuous_restart(Continuous *g) {
    puffer_begin_episode(&g->io, 1);
    continuous_begin_episode(g);
    continuous_write_observation(g, g->io.obs);
}

static inline void continuous_reset(Continuous *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    continuous_restart(g);
}

/* Axis `i` of the action, in [-1, 1]. */
static inline float continuous_read_action(Continuous *g, int i) {
    if (!g->discretize) return puffer_box(((const float *)g->io.act)[i], -1.0f, 1.0f);
    return 0.5f * (float)puffer_discrete(((const int32_t *)g->io.act)[i], 5, &g->log.invalid_actions) - 1.0f;
}

static inline void continuous_end_episode(Continuous *g, int reached) {
    if (g->io.final_obs) continuous_write_observation(g, g->io.final_obs);
    g->log.score += reached;
    g->log.episode_return += (double)g->episode_return;
    g->log.episode_length += g->t;
    g->log.perf += reached;
    g->log.n += 1;
    continuous_begin_episode(g);
}

static inline void continuous_step(Continuous *g) {
    puffer_begin_step(&g->io, 1);
    float before = continuous_distance(g);
    g->x = puffer_unit(g->x + CONTINUOUS_STEP * continuous_read_action(g, 0));
    g->y = puffer_unit(g->y + CONTINUOUS_STEP * continuous_read_action(g, 1));
    g->t += 1;
    float after = continuous_distance(g);
    int reached = after <= CONTINUOUS_REACH, cut = !reached && g->max_steps > 0 && g->t >= g->max_steps;
    float reward = before - after + (reached ? 1.0f : 0.0f);
    g->episode_return += reward;
    *g->io.rew = reward;
    *g->io.term = (uint8_t)reached;
    *g->io.trunc = (uint8_t)cut;
    if (reached | cut) continuous_end_episode(g, reached);
    continuous_write_observation(g, g->io.obs);
}

static inline void continuous_draw(const Continuous *g, Draw *d) {
    float scale = 200.0f, x0 = 320.0f, y0 = 256.0f; /* pixels a unit; the middle */
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 120, 14, 20, DRAW_INK, "step ", g->t);
    draw_number(d, 250, 14, 20, DRAW_DIM, "distance in percent ", (int64_t)(continuous_distance(g) * 100.0f + 0.5f));
    draw_rect(d, x0 - scale, y0 - scale, 2 * scale, 2 * scale, DRAW_FLOOR);
    draw_outline(d, x0 - scale - 3, y0 - scale - 3, 2 * scale + 6, 2 * scale + 6, 3, DRAW_EDGE);
    draw_line(d, x0 + scale * g->x, y0 + scale * g->y, x0 + scale * g->target_x, y0 + scale * g->target_y, 1, DRAW_EDGE);
    draw_circle(d, x0 + scale * g->target_x, y0 + scale * g->target_y, scale * CONTINUOUS_REACH, DRAW_AMBER);
    draw_circle(d, x0 + scale * g->x, y0 + scale * g->y, 8, DRAW_TEAL);
}

PUFFER_GAME(continuous, Continuous);

#endif
