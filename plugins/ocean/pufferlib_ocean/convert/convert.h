/* Convert: a thousand agents carry a resource each from factory to factory. A factory that takes resource r gives r + 1, so
 * whoever always drives to the factory for what it holds goes through all resources in a ring.
 *
 * Agents do not touch. Factory f takes resource f mod R, so that the factories lie in rounds of R, one for each resource: the
 * nearest of each kind is then found for all kinds at once, round by round. */
#ifndef CONVERT_H
#define CONVERT_H

#include "puffer_env.h"

enum { CONVERT_TURNS = 9, CONVERT_THROTTLES = 5, CONVERT_MAX_RESOURCES = 16, CONVERT_OWN = 4 };

#define CONVERT_RADIUS 32.0f
#define CONVERT_MAX_SPEED 20.0f
#define CONVERT_TURN 0.1f
#define CONVERT_SOLVED_SCORE 20.0
#define CONVERT_NOWHERE 1e6f /* of a factory that only fills a round up */

typedef struct ConvertArgs {
    int32_t num_agents, num_factories, num_resources, width, height, max_steps;
} ConvertArgs;

typedef struct ConvertLog {
    PUFFER_LOG_FIELDS;
    double laps;
} ConvertLog;

typedef struct ConvertAgent {
    float x, y, heading, speed; /* headings in [-pi, pi] */
    float ahead_x, ahead_y;     /* cosine and sine of the heading */
    int32_t held, conversions;
} ConvertAgent;

/* From an agent to the nearest factory that takes a resource, by resource. */
typedef struct ConvertNearest {
    float dx[CONVERT_MAX_RESOURCES], dy[CONVERT_MAX_RESOURCES], squared[CONVERT_MAX_RESOURCES];
} ConvertNearest;

typedef struct Convert {
    PufferIO io;
    PufferRng rng;
    ConvertLog log;
    ConvertArgs args;
    int32_t obs_size; /* derived: floats of a row */
    float width, height, per_width, per_height;
    /* state; the arrays lie in the arena */
    ConvertAgent *agents;
    float *factory_x, *factory_y;
    int32_t t;
} Convert;

static const PufferField convert_fields[] = {
    PUFFER_INT(ConvertArgs, num_agents), PUFFER_INT(ConvertArgs, num_factories), PUFFER_INT(ConvertArgs, num_resources),
    PUFFER_INT(ConvertArgs, width), PUFFER_INT(ConvertArgs, height), PUFFER_INT(ConvertArgs, max_steps), PUFFER_END};
static const char *const convert_log_names[] = {PUFFER_LOG_NAMES, "laps", NULL};
static const char *const convert_errors[] = {"", "num_factories must be at least num_resources", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline int32_t convert_obs_size(const ConvertArgs *args) { return 3 * args->num_resources + CONVERT_OWN; }

static inline PufferShape convert_shape(const ConvertArgs *args) {
    return (PufferShape){args->num_agents, (size_t)convert_obs_size(args) * sizeof(float), 2 * sizeof(int32_t), 0};
}

/* The factories are filled up to whole rounds with ones that are too far away to be the nearest. */
static inline int32_t convert_rounds(const ConvertArgs *args) {
    return (args->num_factories + args->num_resources - 1) / args->num_resources;
}

static inline size_t convert_bytes(const ConvertArgs *args) {
    return (size_t)args->num_agents * sizeof(ConvertAgent) +
           2 * (size_t)(convert_rounds(args) * args->num_resources) * sizeof(float);
}

static inline int convert_init(Convert *g, const ConvertArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    if (args->num_factories < args->num_resources) return 1;
    g->io = io;
    g->args = *args;
    g->obs_size = convert_obs_size(args);
    g->width = (float)args->width;
    g->height = (float)args->height;
    g->per_width = 1.0f / g->width;
    g->per_height = 1.0f / g->height;
    g->agents = (ConvertAgent *)arena;
    g->factory_x = (float *)(g->agents + args->num_agents);
    g->factory_y = g->factory_x + convert_rounds(args) * args->num_resources;
    return 0;
}

/* ---------------------------------------------------------------- factories and observations */

/* For functions whose counts are constants where they are called: only inlined they become straight vector code. */
#if defined(__GNUC__)
#define CONVERT_UNROLLED static inline __attribute__((always_inline))
#else
#define CONVERT_UNROLLED static inline
#endif

/* Ties go to the earlier factory. */
CONVERT_UNROLLED void convert_find_nearest(const Convert *g, const ConvertAgent *a, int resources, int rounds,
                                           ConvertNearest *n) {
    float x = a->x, y = a->y;
    for (int r = 0; r < resources; r++) n->squared[r] = INFINITY;
    for (int k = 0; k < rounds; k++) {
        const float *fx = g->factory_x + k * resources, *fy = g->factory_y + k * resources;
        for (int r = 0; r < resources; r++) {
            float dx = fx[r] - x, dy = fy[r] - y, squared = dx * dx + dy * dy;
            int is_nearer = squared < n->squared[r];
            n->dx[r] = is_nearer ? dx : n->dx[r];
            n->dy[r] = is_nearer ? dy : n->dy[r];
            n->squared[r] = is_nearer ? squared : n->squared[r];
        }
    }
}

/* Offsets are turned first, x ahead and y to the right (y points down), so that they show bearings; then scaled. */
CONVERT_UNROLLED void convert_write_row(const Convert *g, const ConvertAgent *a, int resources, const ConvertNearest *n,
                                        float *out) {
    for (int r = 0; r < resources; r++) {
        out[2 * r] = puffer_unit((n->dx[r] * a->ahead_x + n->dy[r] * a->ahead_y) * g->per_width);
        out[2 * r + 1] = puffer_unit((n->dy[r] * a->ahead_x - n->dx[r] * a->ahead_y) * g->per_height);
    }
    out += 2 * resources;
    for (int r = 0; r < resources; r++) out[r] = r == a->held ? 1.0f : 0.0f;
    out += resources;
    out[0] = puffer_unit(a->x * g->per_width);
    out[1] = puffer_unit(a->y * g->per_height);
    out[2] = a->speed * (1.0f / CONVERT_MAX_SPEED);
    out[3] = puffer_unit(a->heading * (1.0f / PUFFER_PI));
}

/* ---------------------------------------------------------------- the step */

static inline float convert_wrap(float angle) {
    if (angle > PUFFER_PI) return angle - 2.0f * PUFFER_PI;
    if (angle < -PUFFER_PI) return angle + 2.0f * PUFFER_PI;
    return angle;
}

static inline void convert_point(ConvertAgent *a, float heading) {
    a->heading = convert_wrap(heading);
    a->ahead_x = puffer_cosf(a->heading);
    a->ahead_y = puffer_sinf(a->heading);
}

static inline void convert_drive(Convert *g, ConvertAgent *a, const int32_t *action) {
    int turn = puffer_discrete(action[0], CONVERT_TURNS, &g->log.invalid_actions);
    int throttle = puffer_discrete(action[1], CONVERT_THROTTLES, &g->log.invalid_actions);
    convert_point(a, a->heading + (float)(turn - 4) * CONVERT_TURN);
    a->speed = puffer_clip(a->speed + (float)(throttle - 2) * 0.5f, 0.0f, CONVERT_MAX_SPEED);
    a->x = puffer_clip(a->x + a->speed * a->ahead_x, 0.0f, g->width);
    a->y = puffer_clip(a->y + a->speed * a->ahead_y, 0.0f, g->height);
}

/* At most one conversion a step. Returns the reward. */
static inline float convert_deliver(const Convert *g, ConvertAgent *a, const ConvertNearest *n) {
    if (n->squared[a->held] > CONVERT_RADIUS * CONVERT_RADIUS) return 0.0f;
    a->held = a->held + 1 == g->args.num_resources ? 0 : a->held + 1;
    a->conversions += 1;
    return 1.0f;
}

/* All of an agent's step; its row is written to `out`, if there is one. */
CONVERT_UNROLLED void convert_step_agent(Convert *g, int i, int resources, int rounds, float *out) {
    ConvertNearest nearest;
    ConvertAgent *a = &g->agents[i];
    convert_drive(g, a, (const int32_t *)g->io.act + 2 * i);
    convert_find_nearest(g, a, resources, rounds, &nearest);
    g->io.rew[i] = convert_deliver(g, a, &nearest);
    if (out) convert_write_row(g, a, resources, &nearest, out + (size_t)i * (size_t)g->obs_size);
}

static inline void convert_step_agents(Convert *g, float *out) {
    int resources = g->args.num_resources, rounds = convert_rounds(&g->args);
    for (int i = 0; i < g->args.num_agents; i++) {
        if (resources == 8) convert_step_agent(g, i, 8, rounds, out);
        else convert_step_agent(g, i, resources, rounds, out);
    }
}

/* ---------------------------------------------------------------- episodes */

static inline void convert_new_episode(Convert *g) {
    int resources = g->args.num_resources, places = convert_rounds(&g->args) * resources;
    for (int i = 0; i < g->args.num_agents; i++) {
        ConvertAgent *a = &g->agents[i];
        *a = (ConvertAgent){.x = puffer_range(&g->rng, 0.0f, g->width)};
        a->y = puffer_range(&g->rng, 0.0f, g->height);
        convert_point(a, puffer_range(&g->rng, -PUFFER_PI, PUFFER_PI));
        a->held = (int32_t)puffer_below(&g->rng, (uint32_t)resources);
    }
    for (int f = 0; f < places; f++) {
        g->factory_x[f] = f < g->args.num_factories ? puffer_range(&g->rng, 0.0f, g->width) : CONVERT_NOWHERE;
        g->factory_y[f] = f < g->args.num_factories ? puffer_range(&g->rng, 0.0f, g->height) : CONVERT_NOWHERE;
    }
    g->t = 0;
}

static inline void convert_write_first_obs(const Convert *g) {
    ConvertNearest nearest;
    int resources = g->args.num_resources;
    for (int i = 0; i < g->args.num_agents; i++) {
        convert_find_nearest(g, &g->agents[i], resources, convert_rounds(&g->args), &nearest);
        convert_write_row(g, &g->agents[i], resources, &nearest, (float *)g->io.obs + (size_t)i * (size_t)g->obs_size);
    }
}

/* Resource 0 was last held `held` conversions ago; by then an agent had gone through so many whole rings. */
static inline int convert_laps(const Convert *g, const ConvertAgent *a) {
    return a->conversions > a->held ? (a->conversions - a->held) / g->args.num_resources : 0;
}

static inline void convert_end_episode(Convert *g) {
    memset(g->io.trunc, 1, (size_t)g->args.num_agents);
    for (int i = 0; i < g->args.num_agents; i++) {
        double score = g->agents[i].conversions;
        g->log.score += score;
        g->log.perf += score < CONVERT_SOLVED_SCORE ? score / CONVERT_SOLVED_SCORE : 1.0;
        g->log.episode_return += score;
        g->log.episode_length += g->t;
        g->log.laps += convert_laps(g, &g->agents[i]);
        g->log.n += 1;
    }
}

static inline void convert_step(Convert *g) {
    puffer_begin_step(&g->io, g->args.num_agents);
    g->t += 1;
    int is_last = g->args.max_steps > 0 && g->t >= g->args.max_steps;
    convert_step_agents(g, (float *)(is_last ? g->io.final_obs : g->io.obs));
    if (!is_last) return;
    convert_end_episode(g);
    convert_new_episode(g);
    convert_write_first_obs(g);
}

static inline void convert_restart(Convert *g) {
    puffer_begin_episode(&g->io, g->args.num_agents);
    convert_new_episode(g);
    convert_write_first_obs(g);
}

static inline void convert_reset(Convert *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    convert_restart(g);
}

/* ---------------------------------------------------------------- drawing */

static inline uint32_t convert_color(int resource) {
    static const uint32_t colors[8] = {DRAW_TEAL, DRAW_AMBER, DRAW_CORAL, DRAW_GREEN, DRAW_BLUE,
                                       DRAW_VIOLET, 0xE58FC8FFu, 0xC9D36AFFu};
    return colors[resource % 8];
}

/* A factory's rim shows what it takes, its middle what it gives; agents have the colour of what they hold. */
static inline void convert_draw(const Convert *g, Draw *d) {
    float scale = puffer_minf(624.0f / g->width, 420.0f / g->height);
    float w = scale * g->width, h = scale * g->height, left = (640.0f - w) / 2, top = 46.0f + (420.0f - h) / 2;
    int64_t conversions = 0;
    for (int i = 0; i < g->args.num_agents; i++) conversions += g->agents[i].conversions;

    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "conversions ", conversions);
    draw_number(d, 270, 14, 20, DRAW_DIM, "step ", g->t);
    draw_rect(d, left, top, w, h, DRAW_FLOOR);
    draw_outline(d, left - 3, top - 3, w + 6, h + 6, 3, DRAW_EDGE);
    for (int f = 0; f < g->args.num_factories; f++) {
        float x = left + scale * g->factory_x[f], y = top + scale * g->factory_y[f];
        float r = puffer_maxf(7.0f, scale * CONVERT_RADIUS);
        draw_circle(d, x, y, r, convert_color(f % g->args.num_resources));
        draw_circle(d, x, y, 0.72f * r, DRAW_BACKGROUND);
        draw_circle(d, x, y, 0.45f * r, convert_color((f + 1) % g->args.num_resources));
    }
    float size = g->args.num_agents > 100 ? 2.2f : 4.0f;
    for (int i = 0; i < g->args.num_agents; i++) {
        const ConvertAgent *a = &g->agents[i];
        float x = left + scale * a->x, y = top + scale * a->y, ax = size * a->ahead_x, ay = size * a->ahead_y;
        draw_tri(d, x + 1.6f * ax, y + 1.6f * ay, x - ax - ay, y - ay + ax, x - ax + ay, y - ay - ax, convert_color(a->held));
    }
}

PUFFER_GAME(convert, Convert);

#endif
