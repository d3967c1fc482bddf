/* Squared: walk from the middle of a square room to the one target on its rim.
 *
 * The room has 2 * radius + 1 cells a side. The episode ends on arrival (terminal, reward 1) or after max_steps. */
#ifndef SQUARED_H
#define SQUARED_H

#include "puffer_env.h"

#define SQUARED_MAX_RADIUS 15
#define SQUARED_MAX_CELLS ((2 * SQUARED_MAX_RADIUS + 1) * (2 * SQUARED_MAX_RADIUS + 1))

enum { SQUARED_EMPTY, SQUARED_AGENT, SQUARED_TARGET }; /* the observation's codes */

typedef struct SquaredArgs {
    int32_t radius, max_steps;
} SquaredArgs;

typedef struct SquaredLog {
    PUFFER_LOG_FIELDS;
} SquaredLog;

typedef struct Squared {
    PufferIO io;
    PufferRng rng;
    int32_t radius, max_steps; /* configured */
    int32_t x, y, t;           /* state */
    int32_t target_x, target_y;
    SquaredLog log;
} Squared;

static const PufferField squared_fields[] = {PUFFER_INT(SquaredArgs, radius), PUFFER_INT(SquaredArgs, max_steps), PUFFER_END};
static const char *const squared_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const squared_errors[] = {NULL};

/* stay, up, right, down, left */
static const int8_t squared_dx[5] = {0, 0, 1, 0, -1}, squared_dy[5] = {0, -1, 0, 1, 0};

static inline int squared_side(int radius) { return 2 * radius + 1; }

static inline PufferShape squared_shape(const SquaredArgs *args) {
    size_t side = (size_t)squared_side(args->radius);
    return (PufferShape){.rows = 1, .obs_bytes = side * side, .act_bytes = sizeof(int32_t)};
}

static inline size_t squared_bytes(const SquaredArgs *args) {
    (void)args;
    return 0;
}

static inline int squared_init(Squared *g, const SquaredArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->radius = args->radius;
    g->max_steps = args->max_steps;
    return 0;
}

static inline void squared_write_observation(const Squared *g, uint8_t *obs) {
    int side = squared_side(g->radius);
    memset(obs, SQUARED_EMPTY, (size_t)(side * side));
    obs[g->target_y * side + g->target_x] = SQUARED_TARGET;
    obs[g->y * side + g->x] = SQUARED_AGENT;
}

/* Cell `i` of the rim, clockwise from the top left. */
static inline void squared_place_target(Squared *g, int i) {
    int last = 2 * g->radius, along = i % last;
    switch (i / last) {
    case 0: g->target_x = along, g->target_y = 0; break;
    case 1: g->target_x = last, g->target_y = along; break;
    case 2: g->target_x = last - along, g->target_y = last; break;
    default: g->target_x = 0, g->target_y = last - along; break;
    }
}

static inline void squared_begin_episode(Squared *g) {
    g->x = g->y = g->radius;
    g->t = 0;
    squared_place_target(g, (int)puffer_below(&g->rng, (uint32_t)(8 * g->radius)));
}

static inline void squared_restart(Squared *g) {
    puffer_begin_episode(&g->io, 1);
    squared_begin_episode(g);
    squared_write_observation(g, g->io.obs);
}

static inline void squared_reset(Squared *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    squared_restart(g);
}

static inline int squared_shortest_way(const Squared *g) {
    int dx = g->target_x - g->radius, dy = g->target_y - g->radius;
    return (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}

static inline void squared_end_episode(Squared *g, int reached) {
    if (g->io.final_obs) squared_write_observation(g, g->io.final_obs);
    g->log.score += reached;
    g->log.episode_return += reached;
    g->log.episode_length += g->t;
    g->log.perf += reached ? (double)squared_shortest_way(g) / g->t : 0.0;
    g->log.n += 1;
    squared_begin_episode(g);
}

static inline void squared_step(Squared *g) {
    puffer_begin_step(&g->io, 1);
    int action = puffer_discrete(*(const int32_t *)g->io.act, 5, &g->log.invalid_actions);
    g->x = puffer_clipi(g->x + squared_dx[action], 0, 2 * g->radius);
    g->y = puffer_clipi(g->y + squared_dy[action], 0, 2 * g->radius);
    g->t += 1;
    int reached = (g->x == g->target_x) & (g->y == g->target_y); /* no branch: a match of one axis cannot be predicted */
    int cut = !reached && g->max_steps > 0 && g->t >= g->max_steps;
    *g->io.rew = (float)reached;
    *g->io.term = (uint8_t)reached;
    *g->io.trunc = (uint8_t)cut;
    if (reached || cut) squared_end_episode(g, reached);
    squared_write_observation(g, g->io.obs);
}

static inline void squared_draw(const Squared *g, Draw *d) {
    int side = squared_side(g->radius);
    float cell = (float)(420 / side), size = cell * (float)side;
    float left = (640.0f - size) / 2, top = 44.0f + (420.0f - size) / 2;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, left, 14, 20, DRAW_INK, "step ", g->t);
    draw_number(d, left + 130, 14, 20, DRAW_DIM, "shortest way ", squared_shortest_way(g));
    draw_outline(d, left - 4, top - 4, size + 8, size + 8, 4, DRAW_EDGE);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            draw_rect(d, left + (float)x * cell + 1, top + (float)y * cell + 1, cell - 2, cell - 2, DRAW_FLOOR);
    draw_rect(d, left + (float)g->target_x * cell + 1, top + (float)g->target_y * cell + 1, cell - 2, cell - 2, DRAW_AMBER);
    draw_circle(d, left + ((float)g->x + 0.5f) * cell, top + ((float)g->y + 0.5f) * cell, 0.38f * cell, DRAW_TEAL);
}

PUFFER_GAME(squared, Squared);

#endif
