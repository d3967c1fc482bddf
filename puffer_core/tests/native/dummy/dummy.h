/* Dummy: a game for testing what steps games. A world counts its steps, notices when two threads are in it at once, and
 * writes numbers that tell which world, row, step and action they came from. */
#ifndef DUMMY_H
#define DUMMY_H

#include "puffer_env.h"

typedef struct DummyArgs {
    int32_t rows, work, max_steps, with_mask, fail;
    float scale;
    double precise;
    PufferBytes file;
    const void *shared;
} DummyArgs;

typedef struct DummyLog {
    PUFFER_LOG_FIELDS;
    double overlaps, steps;
} DummyLog;

typedef struct Dummy {
    PufferIO io;
    PufferRng rng;
    DummyArgs args;
    volatile int32_t inside;
    int32_t t, steps, *row_steps; /* row_steps lies in the arena */
    uint32_t burnt;
    DummyLog log;
} Dummy;

#define DUMMY_VALUES 6
#define DUMMY_SHARED 12345.0f

static const PufferField dummy_fields[] = {
    PUFFER_INT(DummyArgs, rows),      PUFFER_INT(DummyArgs, work), PUFFER_INT(DummyArgs, max_steps),
    PUFFER_INT(DummyArgs, with_mask), PUFFER_INT(DummyArgs, fail), PUFFER_FLOAT(DummyArgs, scale),
    PUFFER_DOUBLE(DummyArgs, precise), PUFFER_BYTES(DummyArgs, file), PUFFER_SHARED(DummyArgs, shared), PUFFER_END};
static const char *const dummy_log_names[] = {PUFFER_LOG_NAMES, "overlaps", "steps", NULL};
static const char *const dummy_errors[] = {"", "it was told to fail"};

static inline PufferShape dummy_shape(const DummyArgs *a) {
    return (PufferShape){.rows = a->rows, .obs_bytes = DUMMY_VALUES * sizeof(float), .act_bytes = sizeof(int32_t),
                         .act_mask_bytes = a->with_mask ? 4 : 0};
}

static inline size_t dummy_bytes(const DummyArgs *a) { return (size_t)a->rows * sizeof(int32_t); }

static size_t dummy_shared_bytes(const void *args) {
    (void)args;
    return sizeof(float);
}

/* More by 1000 times the first byte of the file, if there is one. */
static int dummy_shared_init(void *shared, const void *args) {
    PufferBytes file = ((const DummyArgs *)args)->file;
    *(float *)shared = DUMMY_SHARED + (file.size > 0 ? 1000.0f * (float)*(const uint8_t *)file.data : 0.0f);
    return 0;
}

static inline int dummy_init(Dummy *g, const DummyArgs *a, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *a;
    g->row_steps = (int32_t *)arena;
    return a->fail ? 1 : 0;
}

static inline void dummy_write(Dummy *g, void *target) {
    float *obs = (float *)target;
    const int32_t *act = (const int32_t *)g->io.act;
    float drawn = puffer_uniform(&g->rng);
    for (int32_t i = 0; i < g->args.rows; i++) {
        float values[DUMMY_VALUES] = {(float)g->steps, (float)g->row_steps[i], (float)act[i] * g->args.scale, drawn,
                                      *(const float *)g->args.shared, (float)g->args.precise};
        memcpy(obs + i * DUMMY_VALUES, values, sizeof values);
    }
    if (g->io.act_mask) memset(g->io.act_mask, g->steps & 1, (size_t)g->args.rows * 4);
}

static inline void dummy_restart(Dummy *g) {
    puffer_begin_episode(&g->io, g->args.rows);
    g->t = g->steps = 0;
    memset(g->row_steps, 0, (size_t)g->args.rows * sizeof *g->row_steps);
    dummy_write(g, g->io.obs);
}

static inline void dummy_reset(Dummy *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    dummy_restart(g);
}

static inline void dummy_step(Dummy *g) {
    if (g->inside++) g->log.overlaps += 1;
    puffer_begin_step(&g->io, g->args.rows);
    for (int32_t i = 0; i < g->args.work; i++) g->burnt = g->burnt * 1664525u + 1013904223u;
    g->steps += 1;
    g->t += 1;
    g->log.steps += 1;
    for (int32_t i = 0; i < g->args.rows; i++) {
        int action = puffer_discrete(((const int32_t *)g->io.act)[i], 4, &g->log.invalid_actions);
        g->row_steps[i] += 1;
        g->io.rew[i] = (float)action;
    }
    if (g->args.max_steps && g->t >= g->args.max_steps) {
        memset(g->io.trunc, 1, (size_t)g->args.rows);
        if (g->io.final_obs) memcpy(g->io.final_obs, g->io.obs, (size_t)g->args.rows * DUMMY_VALUES * sizeof(float));
        g->log.episode_length += g->t * g->args.rows;
        g->log.n += g->args.rows;
        g->t = 0;
    }
    dummy_write(g, g->io.obs);
    g->inside--;
}

static inline void dummy_draw(const Dummy *g, Draw *d) {
    draw_canvas(d, 64, 48);
    draw_clear(d, 0x000000FF);
    draw_rect(d, 0, 0, 1.0f + (float)g->steps, 48, 0xFF0000FF);
    draw_text(d, 2, 2, 8, 0xFFFFFFFF, "dummy");
}

PUFFER_GAME_SHARED(dummy, Dummy, dummy_shared_bytes, dummy_shared_init);

#endif
