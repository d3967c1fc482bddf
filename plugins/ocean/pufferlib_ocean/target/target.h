/* Target: agents drive to goals, each of which moves elsewhere once somebody has reached it.
 *
 * A heading is kept as a unit vector (its cosine and sine), so that turning, moving and bearings need no trigonometry. */
#ifndef TARGET_H
#define TARGET_H

#include "puffer_env.h"

enum { TARGET_TURNS = 9, TARGET_THROTTLES = 5, TARGET_MAX_POINTS = 64 };

#define TARGET_RADIUS 32.0f
#define TARGET_MAX_SPEED 20.0f
#define TARGET_SOLVED_SCORE 25.0

typedef struct TargetArgs {
    int32_t num_agents, num_goals, width, height, max_steps, max_others;
} TargetArgs;

typedef struct TargetLog {
    PUFFER_LOG_FIELDS;
} TargetLog;

/* Coordinates lie in arrays of their own, so that compilers take several distances at once. */
typedef struct TargetPoints {
    float *x, *y;
} TargetPoints;

typedef struct Target {
    PufferIO io;
    PufferRng rng;
    TargetLog log;
    TargetArgs args;
    /* derived */
    int32_t others, obs_size; /* seen by an agent; floats of a row */
    float width, height, per_width, per_height, per_max_steps;
    /* state; the arrays lie in the arena */
    TargetPoints goals, agents, headings; /* headings are unit vectors */
    float *speeds;
    int32_t *reached; /* goals in this episode, by agent */
    int32_t t;
} Target;

static const PufferField target_fields[] = {
    PUFFER_INT(TargetArgs, num_agents), PUFFER_INT(TargetArgs, num_goals), PUFFER_INT(TargetArgs, width),
    PUFFER_INT(TargetArgs, height), PUFFER_INT(TargetArgs, max_steps), PUFFER_INT(TargetArgs, max_others), PUFFER_END};
static const char *const target_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const target_errors[] = {"", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline int32_t target_others(const TargetArgs *args) {
    return args->max_others < args->num_agents - 1 ? args->max_others : args->num_agents - 1;
}

static inline int32_t target_obs_size(const TargetArgs *args) { return 4 * args->num_goals + 4 * target_others(args) + 4; }

static inline PufferShape target_shape(const TargetArgs *args) {
    return (PufferShape){args->num_agents, (size_t)target_obs_size(args) * sizeof(float), 2 * sizeof(int32_t), 0};
}

/* Per goal x and y; per agent x, y, heading x and y, speed and goals reached. */
static inline size_t target_bytes(const TargetArgs *args) {
    return (size_t)(2 * args->num_goals + 6 * args->num_agents) * sizeof(float);
}

static inline TargetPoints target_points(float **at, int n) {
    TargetPoints points = {*at, *at + n};
    *at += 2 * n;
    return points;
}

static inline int target_init(Target *g, const TargetArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->others = target_others(args);
    g->obs_size = target_obs_size(args);
    g->width = (float)args->width;
    g->height = (float)args->height;
    g->per_width = 1.0f / g->width;
    g->per_height = 1.0f / g->height;
    g->per_max_steps = args->max_steps > 0 ? 1.0f / (float)args->max_steps : 0.0f;

    float *at = (float *)arena;
    g->goals = target_points(&at, args->num_goals);
    g->agents = target_points(&at, args->num_agents);
    g->headings = target_points(&at, args->num_agents);
    g->speeds = at;
    g->reached = (int32_t *)(at + args->num_agents);
    return 0;
}

/* ---------------------------------------------------------------- observations */

/* For functions whose counts are constants where they are called: only inlined they become straight vector code. */
#if defined(__GNUC__)
#define TARGET_UNROLLED static inline __attribute__((always_inline))
#else
#define TARGET_UNROLLED static inline
#endif

TARGET_UNROLLED void target_squared_distances(TargetPoints points, int n, float x, float y, float *squared) {
    for (int i = 0; i < n; i++) {
        float dx = points.x[i] - x, dy = points.y[i] - y;
        squared[i] = dx * dx + dy * dy;
    }
}

/* How many points are nearer than each, or as near and before it: its place in the order. Without branches, which nobody
 * could predict. */
TARGET_UNROLLED void target_ranks(const float *squared, int n, int32_t *ranks) {
    for (int i = 0; i < n; i++) ranks[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) ranks[i] += (squared[j] < squared[i]) | ((squared[j] == squared[i]) & (j < i));
}

/* A point's key is its squared distance, below it its index + 1: floats that are not negative are ordered as their bits are. */
TARGET_UNROLLED void target_keys(const float *squared, int n, uint64_t *keys) {
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &squared[i], sizeof bits);
        keys[i] = (uint64_t)bits << 32 | (uint32_t)(i + 1);
    }
}

/* The least key above `last`: nothing has to be taken out of the array, which would hold up the processor. */
TARGET_UNROLLED uint64_t target_next(const uint64_t *keys, int n, uint64_t last) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < n; i++) {
        uint64_t key = keys[i] > last ? keys[i] : UINT64_MAX;
        least = key < least ? key : least;
    }
    return least;
}

/* Where something is, in 4 floats. By the difference of angles, cos(b - h) = cos b cos h + sin b sin h, and so on; a thing
 * right here has bearing 0, as atan2(0, 0) has. */
static inline void target_write_relative(const Target *g, int i, float x, float y, float *out) {
    float dx = x - g->agents.x[i], dy = y - g->agents.y[i], distance = sqrtf(dx * dx + dy * dy);
    float cos_heading = g->headings.x[i], sin_heading = g->headings.y[i], cos_bearing = 1.0f, sin_bearing = 0.0f;
    if (distance > 0.0f) {
        float scale = 1.0f / distance;
        cos_bearing = dx * scale;
        sin_bearing = dy * scale;
    }
    out[0] = dx * g->per_width;
    out[1] = dy * g->per_height;
    out[2] = cos_bearing * cos_heading + sin_bearing * sin_heading;
    out[3] = sin_bearing * cos_heading - cos_bearing * sin_heading;
}

/* All goals are shown, so each goes straight to its place. */
TARGET_UNROLLED void target_write_goals(const Target *g, int i, int goals, float *out) {
    float squared[TARGET_MAX_POINTS];
    int32_t ranks[TARGET_MAX_POINTS];
    target_squared_distances(g->goals, goals, g->agents.x[i], g->agents.y[i], squared);
    target_ranks(squared, goals, ranks);
    for (int j = 0; j < goals; j++) target_write_relative(g, i, g->goals.x[j], g->goals.y[j], out + 4 * ranks[j]);
}

/* Few of the others are shown: they are looked for one after the other. */
TARGET_UNROLLED void target_write_others(const Target *g, int i, int agents, float *out) {
    float squared[TARGET_MAX_POINTS];
    uint64_t keys[TARGET_MAX_POINTS], last = 0;
    target_squared_distances(g->agents, agents, g->agents.x[i], g->agents.y[i], squared);
    target_keys(squared, agents, keys);
    keys[i] = UINT64_MAX;
    for (int k = 0; k < g->others; k++) {
        last = target_next(keys, agents, last);
        int other = (int)(uint32_t)last - 1;
        target_write_relative(g, i, g->agents.x[other], g->agents.y[other], out + 4 * k);
    }
}

TARGET_UNROLLED void target_write_row(const Target *g, int i, int goals, int agents, float *out) {
    target_write_goals(g, i, goals, out);
    out += 4 * goals;
    target_write_others(g, i, agents, out);
    out += 4 * g->others;
    out[0] = g->agents.x[i] * g->per_width;
    out[1] = g->agents.y[i] * g->per_height;
    out[2] = g->speeds[i] * (1.0f / TARGET_MAX_SPEED);
    out[3] = (float)g->t * g->per_max_steps;
}

static inline void target_write_obs(const Target *g, void *rows) {
    int goals = g->args.num_goals, agents = g->args.num_agents;
    for (int i = 0; i < agents; i++) {
        float *out = (float *)rows + (size_t)i * (size_t)g->obs_size;
        if (goals == 4 && agents == 8) target_write_row(g, i, 4, 8, out);
        else target_write_row(g, i, goals, agents, out);
    }
    for (float *out = (float *)rows, *end = out + agents * g->obs_size; out < end; out += 4)
        for (int k = 0; k < 4; k++) out[k] = puffer_unit(out[k]); /* four at a time are one vector */
}

/* ---------------------------------------------------------------- the step */

/* cos and sin of (a - 4) * 0.1 */
static const float target_turn_cos[TARGET_TURNS] = {0.921060994f, 0.955336489f, 0.980066578f, 0.995004165f, 1.0f,
                                                    0.995004165f, 0.980066578f, 0.955336489f, 0.921060994f};
static const float target_turn_sin[TARGET_TURNS] = {-0.389418342f, -0.295520207f, -0.198669331f, -0.0998334166f, 0.0f,
                                                    0.0998334166f, 0.198669331f,  0.295520207f,  0.389418342f};

/* Rounding would let the vector's length drift: a step of Newton's method for 1 / sqrt keeps it at 1. */
static inline void target_turn(Target *g, int i, int turn) {
    float x = g->headings.x[i], y = g->headings.y[i];
    float turned_x = x * target_turn_cos[turn] - y * target_turn_sin[turn];
    float turned_y = y * target_turn_cos[turn] + x * target_turn_sin[turn];
    float scale = 1.5f - 0.5f * (turned_x * turned_x + turned_y * turned_y);
    g->headings.x[i] = turned_x * scale;
    g->headings.y[i] = turned_y * scale;
}

static inline void target_drive(Target *g, int i, const int32_t *action) {
    int turn = puffer_discrete(action[0], TARGET_TURNS, &g->log.invalid_actions);
    int throttle = puffer_discrete(action[1], TARGET_THROTTLES, &g->log.invalid_actions);
    target_turn(g, i, turn);
    g->speeds[i] = puffer_clip(g->speeds[i] + (float)(throttle - 2) * 0.5f, 0.0f, TARGET_MAX_SPEED);
    g->agents.x[i] = puffer_clip(g->agents.x[i] + g->speeds[i] * g->headings.x[i], 0.0f, g->width);
    g->agents.y[i] = puffer_clip(g->agents.y[i] + g->speeds[i] * g->headings.y[i], 0.0f, g->height);
}

static inline void target_place(Target *g, TargetPoints points, int i) {
    points.x[i] = puffer_range(&g->rng, 0.0f, g->width);
    points.y[i] = puffer_range(&g->rng, 0.0f, g->height);
}

/* Of the agents within reach of goal j, the one of the lowest index gets it. */
static inline void target_collect(Target *g, int j) {
    for (int i = 0; i < g->args.num_agents; i++) {
        float dx = g->goals.x[j] - g->agents.x[i], dy = g->goals.y[j] - g->agents.y[i];
        if (dx * dx + dy * dy > TARGET_RADIUS * TARGET_RADIUS) continue;
        g->reached[i] += 1;
        g->io.rew[i] += 1.0f;
        target_place(g, g->goals, j);
        return;
    }
}

static inline void target_new_episode(Target *g) {
    for (int i = 0; i < g->args.num_agents; i++) {
        target_place(g, g->agents, i);
        float heading = puffer_range(&g->rng, -PUFFER_PI, PUFFER_PI);
        g->headings.x[i] = puffer_cosf(heading);
        g->headings.y[i] = puffer_sinf(heading);
        g->speeds[i] = 0.0f;
        g->reached[i] = 0;
    }
    for (int j = 0; j < g->args.num_goals; j++) target_place(g, g->goals, j);
    g->t = 0;
}

static inline void target_end_episode(Target *g) {
    memset(g->io.trunc, 1, (size_t)g->args.num_agents);
    if (g->io.final_obs) target_write_obs(g, g->io.final_obs);
    for (int i = 0; i < g->args.num_agents; i++) {
        double score = g->reached[i];
        g->log.score += score;
        g->log.perf += score < TARGET_SOLVED_SCORE ? score / TARGET_SOLVED_SCORE : 1.0;
        g->log.episode_return += score;
        g->log.episode_length += g->t;
        g->log.n += 1;
    }
    target_new_episode(g);
}

static inline void target_step(Target *g) {
    const int32_t *actions = (const int32_t *)g->io.act;
    puffer_begin_step(&g->io, g->args.num_agents);
    for (int i = 0; i < g->args.num_agents; i++) target_drive(g, i, actions + 2 * i);
    for (int j = 0; j < g->args.num_goals; j++) target_collect(g, j);
    g->t += 1;
    if (g->args.max_steps > 0 && g->t >= g->args.max_steps) target_end_episode(g);
    target_write_obs(g, g->io.obs);
}

static inline void target_restart(Target *g) {
    puffer_begin_episode(&g->io, g->args.num_agents);
    target_new_episode(g);
    target_write_obs(g, g->io.obs);
}

static inline void target_reset(Target *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    target_restart(g);
}

/* An arrowhead along the heading, `r` from its centre to its tip. */
static inline void target_draw_agent(Draw *d, float x, float y, float hx, float hy, float r, uint32_t color) {
    draw_tri(d, x + r * hx, y + r * hy, x - 0.8f * r * hx - 0.6f * r * hy, y - 0.8f * r * hy + 0.6f * r * hx,
             x - 0.8f * r * hx + 0.6f * r * hy, y - 0.8f * r * hy - 0.6f * r * hx, color);
}

static inline void target_draw(const Target *g, Draw *d) {
    static const uint32_t colors[5] = {DRAW_TEAL, DRAW_BLUE, DRAW_GREEN, DRAW_CORAL, DRAW_INK};
    float scale = puffer_minf(624.0f / g->width, 420.0f / g->height);
    float w = scale * g->width, h = scale * g->height, left = (640.0f - w) / 2, top = 44.0f + (424.0f - h) / 2;
    int64_t reached = 0;
    for (int i = 0; i < g->args.num_agents; i++) reached += g->reached[i];

    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "goals ", reached);
    draw_number(d, 160, 14, 20, DRAW_DIM, "step ", g->t);
    draw_rect(d, left, top, w, h, DRAW_FLOOR);
    draw_outline(d, left - 2, top - 2, w + 4, h + 4, 2, DRAW_EDGE);
    for (int j = 0; j < g->args.num_goals; j++) {
        float x = left + scale * g->goals.x[j], y = top + scale * g->goals.y[j];
        draw_circle(d, x, y, scale * TARGET_RADIUS, 0xF2B84B50u);
        draw_circle(d, x, y, puffer_maxf(3.0f, 0.4f * scale * TARGET_RADIUS), DRAW_AMBER);
    }
    for (int i = 0; i < g->args.num_agents; i++)
        target_draw_agent(d, left + scale * g->agents.x[i], top + scale * g->agents.y[i], g->headings.x[i], g->headings.y[i],
                          puffer_maxf(7.0f, 0.7f * scale * TARGET_RADIUS), colors[i % 5]);
}

PUFFER_GAME(target, Target);

#endif
