/* Rocket: hold the height that is asked for, with one engine that is either on or off.
 *
 * The smallest game that shows everything: arguments, state, reset, step, truncation, log and drawing. */
#ifndef ROCKET_H
#define ROCKET_H

#include "puffer_env.h"

typedef struct RocketArgs {
    float gravity; /* per step squared; the engine pushes with twice that */
    int32_t max_steps;
} RocketArgs;

typedef struct RocketLog {
    PUFFER_LOG_FIELDS;
} RocketLog;

typedef struct Rocket {
    PufferIO io;
    PufferRng rng;
    RocketLog log;
    RocketArgs args;
    float height, speed, goal; /* all within [-1, 1] */
    int32_t t;
    double episode_return;
} Rocket;

static const PufferField rocket_fields[] = {PUFFER_FLOAT(RocketArgs, gravity), PUFFER_INT(RocketArgs, max_steps), PUFFER_END};
static const char *const rocket_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const rocket_errors[] = {"", NULL};

static inline PufferShape rocket_shape(const RocketArgs *args) {
    (void)args;
    return (PufferShape){.rows = 1, .obs_bytes = 3 * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t rocket_bytes(const RocketArgs *args) {
    (void)args;
    return 0;
}

static inline int rocket_init(Rocket *g, const RocketArgs *args, void *arena, PufferIO io) {
    (void)arena;
    g->io = io;
    g->args = *args;
    return 0;
}

static inline void rocket_observe(const Rocket *g, float *obs) {
    obs[0] = g->height;
    obs[1] = g->speed;
    obs[2] = g->goal;
}

static inline void rocket_begin(Rocket *g) {
    g->height = puffer_range(&g->rng, -0.5f, 0.5f);
    g->speed = 0;
    g->goal = puffer_range(&g->rng, -0.5f, 0.5f);
    g->t = 0;
    g->episode_return = 0;
}

static inline void rocket_restart(Rocket *g) {
    puffer_begin_episode(&g->io, 1);
    rocket_begin(g);
    rocket_observe(g, g->io.obs);
}

static inline void rocket_reset(Rocket *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    rocket_restart(g);
}

static inline void rocket_end_episode(Rocket *g) {
    double mean = g->episode_return / g->t;
    g->log.score += mean;
    g->log.perf += mean;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    if (g->io.final_obs) rocket_observe(g, g->io.final_obs);
    rocket_begin(g);
}

static inline void rocket_step(Rocket *g) {
    puffer_begin_step(&g->io, 1);
    int engine = puffer_discrete(*(const int32_t *)g->io.act, 2, &g->log.invalid_actions);
    g->speed = puffer_unit(g->speed + (engine ? g->args.gravity : -g->args.gravity));
    g->height = puffer_unit(g->height + 0.1f * g->speed);
    g->io.rew[0] = 1.0f - 0.5f * fabsf(g->height - g->goal);
    g->episode_return += g->io.rew[0];
    g->t += 1;
    if (g->args.max_steps > 0 && g->t >= g->args.max_steps) {
        g->io.trunc[0] = 1;
        rocket_end_episode(g);
    }
    rocket_observe(g, g->io.obs);
}

static inline void rocket_draw(const Rocket *g, Draw *d) {
    draw_clear(d, 0x101820FF);
    draw_line(d, 0, 240 - 220 * g->goal, 640, 240 - 220 * g->goal, 2, 0xF2AA4CFF);
    draw_rect(d, 312, 225 - 220 * g->height, 16, 30, 0xE8EEF2FF);
}

PUFFER_GAME(rocket, Rocket);

#endif
