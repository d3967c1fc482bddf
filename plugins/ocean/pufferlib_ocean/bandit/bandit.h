/* Bandit: one arm of several pays with probability 0.9, the others with 0.1. Every episode is one pull. */
#ifndef BANDIT_H
#define BANDIT_H

#include "puffer_env.h"

typedef struct BanditArgs {
    int32_t arms, best;
} BanditArgs;

typedef struct BanditLog {
    PUFFER_LOG_FIELDS;
} BanditLog;

typedef struct Bandit {
    PufferIO io;
    PufferRng rng;
    int32_t arms, best;     /* configured */
    int32_t last_arm, paid; /* for drawing; -1 before the first pull */
    BanditLog log;
} Bandit;

static const PufferField bandit_fields[] = {PUFFER_INT(BanditArgs, arms), PUFFER_INT(BanditArgs, best), PUFFER_END};
static const char *const bandit_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const bandit_errors[] = {NULL};

static inline PufferShape bandit_shape(const BanditArgs *args) {
    (void)args;
    return (PufferShape){.rows = 1, .obs_bytes = sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t bandit_bytes(const BanditArgs *args) {
    (void)args;
    return 0;
}

static inline int bandit_init(Bandit *g, const BanditArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->arms = args->arms;
    g->best = args->best;
    g->last_arm = -1;
    return 0;
}

static inline void bandit_restart(Bandit *g) {
    puffer_begin_episode(&g->io, 1);
    g->last_arm = -1;
    *(float *)g->io.obs = 0.0f;
}

static inline void bandit_reset(Bandit *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    bandit_restart(g);
}

static inline void bandit_step(Bandit *g) {
    puffer_begin_step(&g->io, 1);
    int arm = puffer_discrete(*(const int32_t *)g->io.act, g->arms, &g->log.invalid_actions);
    int paid = puffer_chance(&g->rng, arm == g->best ? 0.9f : 0.1f);
    g->last_arm = arm;
    g->paid = paid;
    *g->io.rew = (float)paid;
    *g->io.term = 1;
    if (g->io.final_obs) *(float *)g->io.final_obs = 0.0f;
    g->log.score += paid;
    g->log.episode_return += paid;
    g->log.episode_length += 1;
    g->log.perf += paid;
    g->log.n += 1;
    *(float *)g->io.obs = 0.0f;
}

static inline void bandit_draw(const Bandit *g, Draw *d) {
    float width = 576.0f / (float)g->arms;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 32, 14, 20, DRAW_INK, "last reward ", g->last_arm >= 0 ? g->paid : 0);
    draw_number(d, 220, 14, 20, DRAW_DIM, "best arm ", g->best);
    for (int i = 0; i < g->arms; i++) {
        float x = 32.0f + (float)i * width, height = i == g->best ? 0.9f * 360.0f : 0.1f * 360.0f;
        draw_rect(d, x + 0.1f * width, 80, 0.8f * width, 360, DRAW_FLOOR);
        draw_rect(d, x + 0.1f * width, 440 - height, 0.8f * width, height, i == g->best ? DRAW_TEAL : DRAW_EDGE);
        if (i == g->last_arm) draw_outline(d, x + 0.1f * width, 80, 0.8f * width, 360, 4, g->paid ? DRAW_AMBER : DRAW_CORAL);
    }
}

PUFFER_GAME(bandit, Bandit);

#endif
