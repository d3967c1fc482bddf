/* Multiagent: two agents see who they are, and each has to choose its own number. Half of the reward is for
 * choosing differently, half for choosing one's own, so that rows swapped on the way show at once. */
#ifndef MULTIAGENT_H
#define MULTIAGENT_H

#include "puffer_env.h"

#define MULTIAGENT_ROWS 2

typedef struct MultiagentArgs {
    int32_t none; /* C has no empty structs */
} MultiagentArgs;

typedef struct MultiagentLog {
    PUFFER_LOG_FIELDS;
} MultiagentLog;

typedef struct Multiagent {
    PufferIO io;
    PufferRng rng; /* seeded like every game's, though the rules draw nothing */
    int32_t last[MULTIAGENT_ROWS]; /* actions, for drawing; -1 before the first step */
    MultiagentLog log;
} Multiagent;

static const PufferField multiagent_fields[] = {PUFFER_END};
static const char *const multiagent_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const multiagent_errors[] = {NULL};

static inline PufferShape multiagent_shape(const MultiagentArgs *args) {
    (void)args;
    return (PufferShape){.rows = MULTIAGENT_ROWS, .obs_bytes = 2 * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t multiagent_bytes(const MultiagentArgs *args) {
    (void)args;
    return 0;
}

static inline int multiagent_init(Multiagent *g, const MultiagentArgs *args, void *arena, PufferIO io) {
    (void)args, (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    return 0;
}

/* Row i sees a one at place i. */
static inline void multiagent_write_observations(float *obs) {
    static const float rows[2 * MULTIAGENT_ROWS] = {1, 0, 0, 1};
    memcpy(obs, rows, sizeof rows);
}

static inline void multiagent_restart(Multiagent *g) {
    puffer_begin_episode(&g->io, MULTIAGENT_ROWS);
    g->last[0] = g->last[1] = -1;
    multiagent_write_observations(g->io.obs);
}

static inline void multiagent_reset(Multiagent *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    multiagent_restart(g);
}

static inline void multiagent_step(Multiagent *g) {
    puffer_begin_step(&g->io, MULTIAGENT_ROWS);
    for (int i = 0; i < MULTIAGENT_ROWS; i++) g->last[i] = puffer_discrete(((const int32_t *)g->io.act)[i], 2, &g->log.invalid_actions);
    float shared = g->last[0] != g->last[1] ? 0.5f : 0.0f;
    for (int i = 0; i < MULTIAGENT_ROWS; i++) {
        float reward = shared + (g->last[i] == i ? 0.5f : 0.0f);
        g->io.rew[i] = reward;
        g->io.term[i] = 1;
        g->log.score += (double)reward;
        g->log.episode_return += (double)reward;
        g->log.episode_length += 1;
        g->log.perf += (double)reward;
        g->log.n += 1;
    }
    if (g->io.final_obs) multiagent_write_observations(g->io.final_obs);
    multiagent_write_observations(g->io.obs);
}

static inline void multiagent_draw(const Multiagent *g, Draw *d) {
    draw_clear(d, DRAW_BACKGROUND);
    draw_text(d, 32, 14, 20, DRAW_INK, "each agent has to choose its own number");
    for (int i = 0; i < MULTIAGENT_ROWS; i++) {
        float x = 100.0f + 240.0f * (float)i;
        uint32_t color = i ? DRAW_AMBER : DRAW_TEAL;
        draw_rect(d, x, 100, 200, 280, DRAW_FLOOR);
        draw_circle(d, x + 100, 190, 60, color);
        draw_number(d, x + 88, 168, 44, DRAW_BACKGROUND, "", i);
        if (g->last[i] < 0) continue;
        draw_number(d, x + 40, 300, 24, g->last[i] == i ? DRAW_GREEN : DRAW_CORAL, "chose ", g->last[i]);
        draw_outline(d, x, 100, 200, 280, 4, g->last[0] != g->last[1] ? DRAW_GREEN : DRAW_CORAL);
    }
}

PUFFER_GAME(multiagent, Multiagent);

#endif
