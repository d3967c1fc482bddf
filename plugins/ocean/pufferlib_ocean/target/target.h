/* Target: agents drive to goals, each of which moves elsewhere once somebody has reached it.
 *
 * A heading is kept as a unit vector (its cosine and sine), so that turning, moving and bearings need no trigonometry. */
#ifndef TARGET_H
#define TARGET_H

#include "puffer_env.h"

enum { TARGET_TURNS = 9, TARGET_THROTTLES = 5, TARGET_MAX_AGENTS = 64 };

#define TARGET_RADIUS 32.0f
#define TARGET_MAX_SPEED 20.0f
#define TARGET_SOLVED_SCORE 25.0

typedef struct TargetArgs {
    int32_t num_agents, num_goals, width, height, max_steps, max_others;
} TargetArgs;

typedef struct TargetLog {
    PUFFER_LOG_FIELDS;
} TargetLog;

typedef struct TargetPoint {
    float x, y;
} TargetPoint;

typedef struct TargetAgent {
    TargetPoint at, heading;
    float speed;
    int32_t reached; /* goals in this episode */
} TargetAgent;

typedef struct Target {
    PufferIO io;
    PufferRng rng;
    TargetLog log;
    TargetArgs args;
    /* derived */
    int32_t others, obs_size; /* seen by an agent; floats of a row */
    float width, height, per_width, per_height, per_max_steps;
    /* state; the arrays lie in the arena */
    TargetAgent *agents;
    TargetPoint *goals;
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

static inline size_t target_bytes(const TargetArgs *args) {
    return puffer_round64((size_t)args->num_agents * sizeof(TargetAgent)) + (size_t)args->num_goals * sizeof(TargetPoint);
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
    g->agents = (TargetAgent *)arena;
    g->goals = (TargetPoint *)((char *)arena + puffer_round64((size_t)args->num_agents * sizeof(TargetAgent)));
    return 0;
}

/* ---------------------------------------------------------------- observations */

/* Orders things by distance, and where that is equal by index: the bits of a float that is not negative rise with it. */
static inline uint64_t target_key(TargetPoint from, TargetPoint to, int index) {
    float dx = to.x - from.x, dy = to.y - from.y, squared = dx * dx + dy * dy;
    uint32_t bits;
    memcpy(&bits, &squared, sizeof bits);
    return (uint64_t)bits << 32 | (uint32_t)(index + 1);
}

/* The least key above `last`; keys are distinct and not 0. */
static inline uint64_t target_next(const uint64_t *keys, int n, uint64_t last) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < n; i++) {
        uint64_t key = keys[i] > last ? keys[i] : UINT64_MAX;
        best = key < best ? key : best;
    }
    return best;
}

/* Where something is: 4 floats. By the difference of angles, cos(b - h) = cos b cos h + sin b sin h, and so on; a thing
 * right here has bearing 0, as atan2(0, 0) has. */
static inline float *target_write_relative(const Target *g, const TargetAgent *a, TargetPoint to, float *out) {
    float dx = to.x - a->at.x, dy = to.y - a->at.y, distance = sqrtf(dx * dx + dy * dy);
    float scale = distance > 0.0f ? 1.0f / distance : 0.0f;
    float cos_bearing = distance > 0.0f ? dx * scale : 1.0f, sin_bearing = dy * scale;
    out[0] = puffer_unit(dx * g->per_width);
    out[1] = puffer_unit(dy * g->per_height);
    out[2] = puffer_unit(cos_bearing * a->heading.x + sin_bearing * a->heading.y);
    out[3] = puffer_unit(sin_bearing * a->heading.x - cos_bearing * a->heading.y);
    return out + 4;
}

static inline void target_write_row(const Target *g, int i, float *out) {
    const TargetAgent *a = &g->agents[i];
    uint64_t keys[TARGET_MAX_AGENTS], last = 0;
    int n = g->args.num_goals;
    for (int j = 0; j < n; j++) keys[j] = target_key(a->at, g->goals[j], j);
    for (int k = 0; k < n; k++) {
        last = target_next(keys, n, last);
        out = target_write_relative(g, a, g->goals[(uint32_t)last - 1], out);
    }
    n = g->args.num_agents;
    for (int j = 0; j < n; j++) keys[j] = target_key(a->at, g->agents[j].at, j);
    keys[i] = UINT64_MAX;
    last = 0;
    for (int k = 0; k < g->others; k++) {
        last = target_next(keys, n, last);
        out = target_write_relative(g, a, g->agents[(uint32_t)last - 1].at, out);
    }
    out[0] = puffer_unit(a->at.x * g->per_width);
    out[1] = puffer_unit(a->at.y * g->per_height);
    out[2] = puffer_unit(a->speed * (1.0f / TARGET_MAX_SPEED));
    out[3] = puffer_unit((float)g->t * g->per_max_steps);
}

static inline void target_write_obs(const Target *g, void *rows) {
    for (int i = 0; i < g->args.num_agents; i++) target_write_row(g, i, (float *)rows + (size_t)i * (size_t)g->obs_size);
}

/* ---------------------------------------------------------------- the step */

/* cos and sin of (a - 4) * 0.1 */
static const TargetPoint target_turns[TARGET_TURNS] = {
    {0.92106099400288510f, -0.38941834230865052f}, {0.95533648912560598f, -0.29552020666133960f},
    {0.98006657784124163f, -0.19866933079506122f}, {0.99500416527802571f, -0.09983341664682815f},
    {1.0f, 0.0f},
    {0.99500416527802571f, 0.09983341664682815f},  {0.98006657784124163f, 0.19866933079506122f},
    {0.95533648912560598f, 0.29552020666133960f},  {0.92106099400288510f, 0.38941834230865052f}};

/* Rounding would let the vector's length drift: a step of Newton's method for 1/sqrt keeps it at 1. */
static inline TargetPoint target_turned(TargetPoint h, TargetPoint turn) {
    float x = h.x * turn.x - h.y * turn.y, y = h.y * turn.x + h.x * turn.y;
    float scale = 1.5f - 0.5f * (x * x + y * y);
    return (TargetPoint){x * scale, y * scale};
}

static inline void target_drive(Target *g, TargetAgent *a, const int32_t *action) {
    int turn = puffer_discrete(action[0], TARGET_TURNS, &g->log.invalid_actions);
    int throttle = puffer_discrete(action[1], TARGET_THROTTLES, &g->log.invalid_actions);
    a->heading = target_turned(a->heading, target_turns[turn]);
    a->speed = puffer_clip(a->speed + (float)(throttle - 2) * 0.5f, 0.0f, TARGET_MAX_SPEED);
    a->at.x = puffer_clip(a->at.x + a->speed * a->heading.x, 0.0f, g->width);
    a->at.y = puffer_clip(a->at.y + a->speed * a->heading.y, 0.0f, g->height);
}

static inline TargetPoint target_random_place(Target *g) {
    TargetPoint p;
    p.x = puffer_range(&g->rng, 0.0f, g->width);
    p.y = puffer_range(&g->rng, 0.0f, g->height);
    return p;
}

/* The agent of the lowest index within reach gets the goal. */
static inline void target_collect(Target *g, TargetPoint *goal) {
    for (int i = 0; i < g->args.num_agents; i++) {
        float dx = goal->x - g->agents[i].at.x, dy = goal->y - g->agents[i].at.y;
        if (dx * dx + dy * dy > TARGET_RADIUS * TARGET_RADIUS) continue;
        g->agents[i].reached += 1;
        g->io.rew[i] += 1.0f;
        *goal = target_random_place(g);
        return;
    }
}

static inline void target_new_episode(Target *g) {
    for (int i = 0; i < g->args.num_agents; i++) {
        TargetAgent *a = &g->agents[i];
        a->at = target_random_place(g);
        float heading = puffer_range(&g->rng, -PUFFER_PI, PUFFER_PI);
        a->heading = (TargetPoint){puffer_cosf(heading), puffer_sinf(heading)};
        a->speed = 0.0f;
        a->reached = 0;
    }
    for (int j = 0; j < g->args.num_goals; j++) g->goals[j] = target_random_place(g);
    g->t = 0;
}

static inline void target_end_episode(Target *g) {
    memset(g->io.trunc, 1, (size_t)g->args.num_agents);
    if (g->io.final_obs) target_write_obs(g, g->io.final_obs);
    for (int i = 0; i < g->args.num_agents; i++) {
        double score = g->agents[i].reached;
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
    for (int i = 0; i < g->args.num_agents; i++) target_drive(g, &g->agents[i], actions + 2 * i);
    for (int j = 0; j < g->args.num_goals; j++) target_collect(g, &g->goals[j]);
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

static inline void target_draw(const Target *g, Draw *d) {
    (void)g;
    draw_clear(d, 0x000000FF);
}

PUFFER_GAME(target, Target);

#endif
