/* Stochastic: choose action 0 in a share `p` of 100 steps, with nothing to be seen. Only a policy that mixes its
 * actions can: the best deterministic one earns 2 / 3 at the default p. */
#ifndef STOCHASTIC_H
#define STOCHASTIC_H

#include "puffer_env.h"

#define STOCHASTIC_STEPS 100

typedef struct StochasticArgs {
    float p;
    int32_t max_steps;
} StochasticArgs;

typedef struct StochasticLog {
    PUFFER_LOG_FIELDS;
    double share; /* of action 0 */
} StochasticLog;

typedef struct Stochastic {
    PufferIO io;
    PufferRng rng; /* seeded like every game's, though the rules draw nothing */
    float p;       /* configured */
    int32_t max_steps;
    int32_t zeros, t; /* state */
    float episode_return;
    StochasticLog log;
} Stochastic;

static const PufferField stochastic_fields[] = {PUFFER_FLOAT(StochasticArgs, p), PUFFER_INT(StochasticArgs, max_steps), PUFFER_END};
static const char *const stochastic_log_names[] = {PUFFER_LOG_NAMES, "share", NULL};
static const char *const stochastic_errors[] = {NULL};

static inline PufferShape stochastic_shape(const StochasticArgs *args) {
    (void)args;
    return (PufferShape){.rows = 1, .obs_bytes = sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t stochastic_bytes(const StochasticArgs *args) {
    (void)args;
    return 0;
}

static inline int stochastic_init(Stochastic *g, const StochasticArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->p = args->p;
    g->max_steps = args->max_steps;
    return 0;
}

static inline void stochastic_begin_episode(Stochastic *g) {
    g->zeros = g->t = 0;
    g->episode_return = 0.0f;
}

static inline void stochastic_restart(Stochastic *g) {
    puffer_begin_episode(&g->io, 1);
    stochastic_begin_episode(g);
    *(float *)g->io.obs = 0.0f;
}

static inline void stochastic_reset(Stochastic *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    stochastic_restart(g);
}

/* Of action 0, so far; 0 at the start. */
static inline float stochastic_share(const Stochastic *g) { return g->t > 0 ? (float)g->zeros / (float)g->t : 0.0f; }

static inline void stochastic_end_episode(Stochastic *g) {
    if (g->io.final_obs) *(float *)g->io.final_obs = 0.0f;
    double share = (double)stochastic_share(g), score = 1.0 - fabs(share - (double)g->p) / (double)g->p;
    g->log.score += score;
    g->log.episode_return += (double)g->episode_return;
    g->log.episode_length += g->t;
    g->log.perf += score > 0.0 ? score : 0.0; /* below 0 only where p < 0.5 */
    g->log.n += 1;
    g->log.share += share;
    stochastic_begin_episode(g);
}

static inline void stochastic_step(Stochastic *g) {
    puffer_begin_step(&g->io, 1);
    int action = puffer_discrete(*(const int32_t *)g->io.act, 2, &g->log.invalid_actions);
    float before = fabsf(stochastic_share(g) - g->p);
    g->zeros += action == 0;
    g->t += 1;
    float reward = (before - fabsf(stochastic_share(g) - g->p)) / g->p;
    g->episode_return += reward;
    int over = g->t == STOCHASTIC_STEPS, cut = !over && g->max_steps > 0 && g->t >= g->max_steps;
    *g->io.rew = reward;
    *g->io.term = (uint8_t)over;
    *g->io.trunc = (uint8_t)cut;
    if (over | cut) stochastic_end_episode(g);
    *(float *)g->io.obs = 0.0f;
}

static inline void stochastic_draw(const Stochastic *g, Draw *d) {
    float share = stochastic_share(g);
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 32, 14, 20, DRAW_INK, "step ", g->t);
    draw_number(d, 170, 14, 20, DRAW_DIM, "action 0 in percent ", (int64_t)(share * 100.0f + 0.5f));
    draw_rect(d, 32, 200, 576, 80, DRAW_FLOOR);
    draw_rect(d, 32, 200, 576 * share, 80, DRAW_TEAL);
    draw_line(d, 32 + 576 * g->p, 180, 32 + 576 * g->p, 300, 4, DRAW_AMBER);
    draw_number(d, 32 + 576 * g->p - 40, 310, 20, DRAW_AMBER, "wanted ", (int64_t)(g->p * 100.0f + 0.5f));
}

PUFFER_GAME(stochastic, Stochastic);

#endif
