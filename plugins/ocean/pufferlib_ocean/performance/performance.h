/* Performance: burn a known amount of time per step, to measure how vectorisation scales. There is nothing to learn.
 *
 * A step makes `work` random numbers one after the other (each needs the one before, so the time is theirs alone);
 * `spread` makes some steps longer than others, like a real simulator's. `performance_py` is the same in Python. */
#ifndef PERFORMANCE_H
#define PERFORMANCE_H

#include "puffer_env.h"

typedef struct PerformanceArgs {
    int32_t work;
    float spread;
    int32_t obs_size, max_steps;
} PerformanceArgs;

typedef struct PerformanceLog {
    PUFFER_LOG_FIELDS;
} PerformanceLog;

typedef struct Performance {
    PufferIO io;
    PufferRng rng;
    int32_t work, obs_size, max_steps; /* configured */
    float spread;
    int32_t t; /* state */
    uint32_t last;
    PerformanceLog log;
} Performance;

static const PufferField performance_fields[] = {
    PUFFER_INT(PerformanceArgs, work), PUFFER_FLOAT(PerformanceArgs, spread), PUFFER_INT(PerformanceArgs, obs_size),
    PUFFER_INT(PerformanceArgs, max_steps), PUFFER_END};
static const char *const performance_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const performance_errors[] = {NULL};

static inline PufferShape performance_shape(const PerformanceArgs *args) {
    return (PufferShape){.rows = 1, .obs_bytes = (size_t)args->obs_size * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t performance_bytes(const PerformanceArgs *args) {
    (void)args;
    return 0;
}

static inline int performance_init(Performance *g, const PerformanceArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->work = args->work;
    g->spread = args->spread;
    g->obs_size = args->obs_size;
    g->max_steps = args->max_steps;
    return 0;
}

static inline void performance_write_observation(const Performance *g, float *obs) {
    memset(obs, 0, (size_t)g->obs_size * sizeof(float));
    obs[0] = (float)((double)g->last * 0x1p-32);
}

static inline void performance_begin_episode(Performance *g) {
    g->t = 0;
    g->last = 0;
}

static inline void performance_restart(Performance *g) {
    puffer_begin_episode(&g->io, 1);
    performance_begin_episode(g);
    performance_write_observation(g, g->io.obs);
}

static inline void performance_reset(Performance *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    performance_restart(g);
}

static inline void performance_burn(Performance *g) {
    int32_t work = g->work;
    if (g->spread > 0.0f) work = (int32_t)((float)work * puffer_range(&g->rng, 1.0f - g->spread, 1.0f + g->spread));
    for (int32_t i = 0; i < work; i++) g->last = puffer_u32(&g->rng);
}

static inline void performance_end_episode(Performance *g) {
    if (g->io.final_obs) performance_write_observation(g, g->io.final_obs);
    g->log.episode_length += g->t; /* score, return and perf stay 0: there is nothing to gain */
    g->log.n += 1;
    performance_begin_episode(g);
}

static inline void performance_step(Performance *g) {
    puffer_begin_step(&g->io, 1);
    puffer_discrete(*(const int32_t *)g->io.act, 2, &g->log.invalid_actions);
    performance_burn(g);
    g->t += 1;
    int cut = g->max_steps > 0 && g->t >= g->max_steps;
    *g->io.trunc = (uint8_t)cut;
    if (cut) performance_end_episode(g);
    performance_write_observation(g, g->io.obs);
}

static inline void performance_draw(const Performance *g, Draw *d) {
    float share = g->max_steps > 0 ? (float)g->t / (float)g->max_steps : 0.0f;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 32, 14, 20, DRAW_INK, "step ", g->t);
    draw_number(d, 170, 14, 20, DRAW_DIM, "random numbers a step ", g->work);
    draw_rect(d, 32, 220, 576, 40, DRAW_FLOOR);
    draw_rect(d, 32, 220, 576 * share, 40, DRAW_TEAL);
    draw_circle(d, 32 + 576 * (float)((double)g->last * 0x1p-32), 320, 8, DRAW_AMBER);
}

PUFFER_GAME(performance, Performance);

#endif
