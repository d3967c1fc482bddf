/* Password: guess a fixed sequence of bits, one a step; the first wrong guess ends the episode with nothing.
 *
 * The reward comes only after the whole sequence. `map_seed` fixes the bits, so that every world asks for the same. */
#ifndef PASSWORD_H
#define PASSWORD_H

#include "puffer_env.h"

#define PASSWORD_MAX_LENGTH 16

typedef struct PasswordArgs {
    int32_t length, map_seed;
} PasswordArgs;

typedef struct PasswordLog {
    PUFFER_LOG_FIELDS;
} PasswordLog;

typedef struct Password {
    PufferIO io;
    PufferRng rng;      /* seeded like every game's, though nothing here is random after init */
    int32_t length;     /* configured */
    uint32_t bits;      /* bit i is the right action of step i */
    int32_t guessed, t; /* state */
    PasswordLog log;
} Password;

static const PufferField password_fields[] = {PUFFER_INT(PasswordArgs, length), PUFFER_INT(PasswordArgs, map_seed), PUFFER_END};
static const char *const password_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const password_errors[] = {NULL};

static inline PufferShape password_shape(const PasswordArgs *args) {
    return (PufferShape){.rows = 1, .obs_bytes = (size_t)args->length * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t password_bytes(const PasswordArgs *args) {
    (void)args;
    return 0;
}

static inline int password_init(Password *g, const PasswordArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->length = args->length;
    PufferRng map;
    puffer_seed(&map, (uint64_t)args->map_seed);
    for (int i = 0; i < g->length; i++) g->bits |= puffer_below(&map, 2) << i;
    return 0;
}

static inline void password_write_observation(const Password *g, float *obs) {
    for (int i = 0; i < g->length; i++) obs[i] = i < g->guessed ? 1.0f : 0.0f;
}

static inline void password_begin_episode(Password *g) { g->guessed = g->t = 0; }

static inline void password_restart(Password *g) {
    puffer_begin_episode(&g->io, 1);
    password_begin_episode(g);
    password_write_observation(g, g->io.obs);
}

static inline void password_reset(Password *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    password_restart(g);
}

static inline void password_end_episode(Password *g, int solved) {
    if (g->io.final_obs) password_write_observation(g, g->io.final_obs);
    g->log.score += solved;
    g->log.episode_return += solved;
    g->log.episode_length += g->t;
    g->log.perf += solved;
    g->log.n += 1;
    password_begin_episode(g);
}

static inline void password_step(Password *g) {
    puffer_begin_step(&g->io, 1);
    int action = puffer_discrete(*(const int32_t *)g->io.act, 2, &g->log.invalid_actions);
    int right = (uint32_t)action == (g->bits >> g->guessed & 1u);
    g->guessed += right;
    g->t += 1;
    int solved = g->guessed == g->length;
    *g->io.rew = (float)solved;
    *g->io.term = (uint8_t)(solved | !right);
    if (solved | !right) password_end_episode(g, solved);
    password_write_observation(g, g->io.obs);
}

static inline void password_draw(const Password *g, Draw *d) {
    float cell = puffer_minf(576.0f / (float)g->length, 100.0f), left = 320.0f - cell * (float)g->length / 2;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 32, 14, 20, DRAW_INK, "guessed ", g->guessed);
    draw_number(d, 170, 14, 20, DRAW_DIM, "of ", g->length);
    for (int i = 0; i < g->length; i++) {
        float x = left + (float)i * cell;
        draw_rect(d, x + 3, 240 - cell / 2, cell - 6, cell, i < g->guessed ? DRAW_TEAL : DRAW_FLOOR);
        if (i == g->guessed) draw_outline(d, x + 3, 240 - cell / 2, cell - 6, cell, 3, DRAW_AMBER);
        draw_number(d, x + 0.36f * cell, 240 - 0.22f * cell, 0.5f * cell, i < g->guessed ? DRAW_BACKGROUND : DRAW_DIM, "", g->bits >> i & 1u);
    }
}

PUFFER_GAME(password, Password);

#endif
