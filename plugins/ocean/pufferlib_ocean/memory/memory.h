/* Memory: a bit is shown at the first step and asked for `delay` steps later. Between them nothing is to be seen, so
 * that a policy without a memory can only guess. */
#ifndef MEMORY_H
#define MEMORY_H

#include "puffer_env.h"

typedef struct MemoryArgs {
    int32_t delay;
} MemoryArgs;

typedef struct MemoryLog {
    PUFFER_LOG_FIELDS;
} MemoryLog;

typedef struct Memory {
    PufferIO io;
    PufferRng rng;
    int32_t delay;  /* configured */
    int32_t bit, t; /* state; bit is 0 or 1 */
    MemoryLog log;
} Memory;

static const PufferField memory_fields[] = {PUFFER_INT(MemoryArgs, delay), PUFFER_END};
static const char *const memory_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const memory_errors[] = {NULL};

static inline PufferShape memory_shape(const MemoryArgs *args) {
    (void)args;
    return (PufferShape){.rows = 1, .obs_bytes = 2 * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t memory_bytes(const MemoryArgs *args) {
    (void)args;
    return 0;
}

static inline int memory_init(Memory *g, const MemoryArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->delay = args->delay;
    return 0;
}

/* The bit as -1 or 1 at t = 0, then the "answer now" flag. After the answer (t = delay + 1) both are 0. */
static inline void memory_write_observation(const Memory *g, float *obs) {
    obs[0] = g->t == 0 ? (float)(2 * g->bit - 1) : 0.0f;
    obs[1] = g->t == g->delay ? 1.0f : 0.0f;
}

static inline void memory_begin_episode(Memory *g) {
    g->t = 0;
    g->bit = (int32_t)puffer_below(&g->rng, 2);
}

static inline void memory_restart(Memory *g) {
    puffer_begin_episode(&g->io, 1);
    memory_begin_episode(g);
    memory_write_observation(g, g->io.obs);
}

static inline void memory_reset(Memory *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    memory_restart(g);
}

static inline void memory_end_episode(Memory *g, int right) {
    if (g->io.final_obs) memory_write_observation(g, g->io.final_obs);
    g->log.score += right;
    g->log.episode_return += right;
    g->log.episode_length += g->t;
    g->log.perf += right;
    g->log.n += 1;
    memory_begin_episode(g);
}

static inline void memory_step(Memory *g) {
    puffer_begin_step(&g->io, 1);
    int action = puffer_discrete(*(const int32_t *)g->io.act, 2, &g->log.invalid_actions);
    int asked = g->t == g->delay, right = asked & (action == g->bit);
    g->t += 1;
    *g->io.rew = (float)right;
    *g->io.term = (uint8_t)asked;
    if (asked) memory_end_episode(g, right);
    memory_write_observation(g, g->io.obs);
}

static inline void memory_draw(const Memory *g, Draw *d) {
    float cell = 576.0f / (float)(g->delay + 1);
    float radius = puffer_minf(0.4f * cell, 60.0f);
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 32, 14, 20, DRAW_INK, "step ", g->t);
    draw_number(d, 170, 14, 20, DRAW_DIM, "bit ", g->bit);
    draw_line(d, 32, 240, 608, 240, 4, DRAW_EDGE);
    for (int i = 0; i <= g->delay; i++) {
        float x = 32.0f + ((float)i + 0.5f) * cell;
        draw_circle(d, x, 240, radius, i == g->t ? DRAW_INK : DRAW_EDGE);
        draw_circle(d, x, 240, 0.85f * radius, i > 0 ? (i == g->delay ? DRAW_AMBER : DRAW_FLOOR) : g->bit ? DRAW_TEAL : DRAW_CORAL);
    }
    draw_text(d, 32, 440, 20, DRAW_DIM, g->t == g->delay ? "answer now" : g->t == 0 ? "remember the colour" : "wait");
}

PUFFER_GAME(memory, Memory);

#endif
