/* Freeway: a hen crosses ten lanes of cars as often as it can before the clock runs out.
 *
 * The strip is 160 px wide. From top to bottom: a kerb of 16 px, ten lanes of 16, a kerb of 16. The hen, a square of 6, goes
 * up at x = 44 from y = 184 to y = 8. Lane 0 is the lowest; its cars drive on a ring of 200 px from x = -20. */
#ifndef FREEWAY_H
#define FREEWAY_H

#include "puffer_env.h"

enum { FREEWAY_LANES = 10, FREEWAY_LANE = 16, FREEWAY_START = 184, FREEWAY_GOAL = 8, FREEWAY_ROAD_BOTTOM = 176 };
enum { FREEWAY_STUN_TICKS = 8, FREEWAY_FACTOR_TICKS = 128, FREEWAY_LEVELS = 8, FREEWAY_FIRST_UNSTEADY_LEVEL = 4 };
enum { FREEWAY_SCALARS = 4, FREEWAY_LANE_VALUES = 3 }; /* of an observation: before the lanes; of each */
#define FREEWAY_HEN_X 44.0f
#define FREEWAY_HEN 3.0f  /* half its side */
#define FREEWAY_CAR_HALF_HEIGHT 5
#define FREEWAY_RING_LEFT -20.0f
#define FREEWAY_RING 200.0f
#define FREEWAY_BEST_SCORE 46.0f /* crossings in 8192 ticks without cars */
#define FREEWAY_SOLVED_SCORE 44.0

typedef struct FreewayArgs {
    int32_t frameskip, max_steps, game_ticks, level, dense;
} FreewayArgs;

typedef struct FreewayLog {
    PUFFER_LOG_FIELDS;
} FreewayLog;

typedef struct Freeway {
    PufferIO io;
    PufferRng rng;
    FreewayArgs args;

    /* of each lane */
    float car_x[FREEWAY_LANES];    /* middle of its first car; a second one drives half a ring away */
    float velocity[FREEWAY_LANES]; /* px per tick, this moment's factor included */
    float speed[FREEWAY_LANES];    /* the same without the factor */
    float length[FREEWAY_LANES];
    int32_t cars[FREEWAY_LANES];

    int32_t level, y, stun, ticks;
    int32_t entered; /* lanes, at the furthest, since the hen last started */
    int32_t score, lanes_paid, t;
    double episode_return;

    FreewayLog log;
} Freeway;

static inline PufferShape freeway_shape(const FreewayArgs *a) {
    (void)a;
    return (PufferShape){.rows = 1, .obs_bytes = (FREEWAY_SCALARS + FREEWAY_LANE_VALUES * FREEWAY_LANES) * sizeof(float),
                         .act_bytes = sizeof(int32_t)};
}

static inline size_t freeway_bytes(const FreewayArgs *a) {
    (void)a;
    return 0;
}

static inline int freeway_init(Freeway *g, const FreewayArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    return 0;
}

/* ---------------------------------------------------------------- cars */

static inline float freeway_wrap(float x) {
    x = x < FREEWAY_RING_LEFT ? x + FREEWAY_RING : x;
    return x >= FREEWAY_RING_LEFT + FREEWAY_RING ? x - FREEWAY_RING : x;
}

static inline float freeway_second_car(const Freeway *g, int lane) { return freeway_wrap(g->car_x[lane] + 0.5f * FREEWAY_RING); }

/* How far apart the middles of a hen and a car may be and still touch. */
static inline float freeway_reach(const Freeway *g, int lane) { return FREEWAY_HEN + 0.5f * g->length[lane]; }

/* From the hen to the nearest car that comes towards it or is on it, along x; 100 where all have passed. */
static inline float freeway_gap(const Freeway *g, int lane) {
    float towards = g->velocity[lane] > 0.0f ? -1.0f : 1.0f, passed = -freeway_reach(g, lane);
    float first = towards * (g->car_x[lane] - FREEWAY_HEN_X), second = towards * (freeway_second_car(g, lane) - FREEWAY_HEN_X);
    float nearest = INFINITY;
    if (g->cars[lane] > 0 && first > passed) nearest = first;
    if (g->cars[lane] > 1 && second > passed && second < nearest) nearest = second;
    return nearest == INFINITY ? 100.0f : towards * nearest;
}

static inline int freeway_touches(const Freeway *g, int lane) {
    float reach = freeway_reach(g, lane);
    return (g->cars[lane] > 0 && fabsf(g->car_x[lane] - FREEWAY_HEN_X) < reach) ||
           (g->cars[lane] > 1 && fabsf(freeway_second_car(g, lane) - FREEWAY_HEN_X) < reach);
}

/* ---------------------------------------------------------------- observation */

static inline void freeway_observe(const Freeway *g, void *row) {
    float *obs = (float *)row;
    obs[0] = (float)g->y / FREEWAY_START;
    obs[1] = (float)g->stun / FREEWAY_STUN_TICKS;
    obs[2] = 1.0f - (float)g->ticks / (float)g->args.game_ticks;
    obs[3] = puffer_unit((float)g->score / FREEWAY_BEST_SCORE);
    for (int lane = 0; lane < FREEWAY_LANES; lane++) {
        float *values = obs + FREEWAY_SCALARS + FREEWAY_LANE_VALUES * lane;
        values[0] = puffer_unit(freeway_gap(g, lane) / 100.0f);
        values[1] = g->velocity[lane] / 4.0f;
        values[2] = g->length[lane] / 18.0f;
    }
}

/* ---------------------------------------------------------------- starting */

/* From level 4 on each lane goes faster and slower by turns. */
static inline void freeway_vary_speeds(Freeway *g) {
    memcpy(g->velocity, g->speed, sizeof g->velocity);
    if (g->level < FREEWAY_FIRST_UNSTEADY_LEVEL) return;
    for (int lane = 0; lane < FREEWAY_LANES; lane++) g->velocity[lane] *= puffer_range(&g->rng, 0.7f, 1.3f);
}

static inline void freeway_build_lane(Freeway *g, int lane) {
    float speed = 0.6f + 0.2f * (float)(lane * (g->level + 3) % 10);
    g->speed[lane] = lane < FREEWAY_LANES / 2 ? speed : -speed;
    g->cars[lane] = 1 + (lane + g->level) % 2;
    g->length[lane] = (lane + g->level) % 3 == 0 ? 18.0f : 10.0f;
    g->car_x[lane] = puffer_range(&g->rng, FREEWAY_RING_LEFT, FREEWAY_RING_LEFT + FREEWAY_RING);
}

static inline void freeway_new_episode(Freeway *g) {
    g->level = g->args.level >= 0 ? g->args.level : (int32_t)puffer_below(&g->rng, FREEWAY_LEVELS);
    for (int lane = 0; lane < FREEWAY_LANES; lane++) freeway_build_lane(g, lane);
    freeway_vary_speeds(g);
    g->y = FREEWAY_START;
    g->stun = g->ticks = g->entered = g->score = g->lanes_paid = g->t = 0;
    g->episode_return = 0.0;
}

static inline void freeway_restart(Freeway *g) {
    puffer_begin_episode(&g->io, 1);
    freeway_new_episode(g);
    freeway_observe(g, g->io.obs);
}

static inline void freeway_reset(Freeway *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    freeway_restart(g);
}

/* ---------------------------------------------------------------- one tick */

/* The lane whose cars are as high as some part of the hen, or -1: it is never more than one. */
static inline int freeway_lane_of_hen(const Freeway *g) {
    if (g->y > FREEWAY_ROAD_BOTTOM) return -1;
    int lane = (FREEWAY_ROAD_BOTTOM - g->y) / FREEWAY_LANE, middle = FREEWAY_ROAD_BOTTOM - FREEWAY_LANE * lane - FREEWAY_LANE / 2;
    int apart = g->y > middle ? g->y - middle : middle - g->y;
    return lane < FREEWAY_LANES && apart < FREEWAY_CAR_HALF_HEIGHT + (int)FREEWAY_HEN ? lane : -1;
}

/* A lane counts once between two starts: a hit sends the hen back, but not its count. */
static inline void freeway_count_lanes(Freeway *g) {
    int entered = puffer_clipi((FREEWAY_ROAD_BOTTOM - 1 + FREEWAY_LANE - g->y) / FREEWAY_LANE, 0, FREEWAY_LANES);
    if (entered <= g->entered) return;
    g->lanes_paid += entered - g->entered;
    g->entered = entered;
}

/* A hen that was hit neither moves nor is hit again for 8 ticks. */
static inline void freeway_move_hen(Freeway *g, int dy) {
    if (g->stun > 0) {
        g->stun -= 1;
        return;
    }
    g->y = puffer_clipi(g->y + dy, FREEWAY_GOAL, FREEWAY_START);
    freeway_count_lanes(g);
    int lane = freeway_lane_of_hen(g);
    if (lane >= 0 && freeway_touches(g, lane)) {
        g->y = puffer_clipi(g->y + FREEWAY_LANE, FREEWAY_GOAL, FREEWAY_START);
        g->stun = FREEWAY_STUN_TICKS;
    }
    if (g->y == FREEWAY_GOAL) {
        g->score += 1;
        g->y = FREEWAY_START;
        g->entered = 0;
    }
}

static inline void freeway_tick(Freeway *g, int dy) {
    for (int lane = 0; lane < FREEWAY_LANES; lane++) g->car_x[lane] = freeway_wrap(g->car_x[lane] + g->velocity[lane]);
    freeway_move_hen(g, dy);
    g->ticks += 1;
    if (g->ticks % FREEWAY_FACTOR_TICKS == 0) freeway_vary_speeds(g);
}

/* ---------------------------------------------------------------- one step */

static inline void freeway_end_episode(Freeway *g) {
    if (g->io.final_obs) freeway_observe(g, g->io.final_obs);
    g->log.score += g->score;
    g->log.perf += g->score < FREEWAY_SOLVED_SCORE ? g->score / FREEWAY_SOLVED_SCORE : 1.0;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    freeway_new_episode(g);
}

static inline void freeway_step(Freeway *g) {
    static const int moves[3] = {0, -1, 1};
    puffer_begin_step(&g->io, 1);
    int dy = moves[puffer_discrete(*(const int32_t *)g->io.act, 3, &g->log.invalid_actions)];

    int score = g->score, lanes = g->lanes_paid;
    for (int tick = 0; tick < g->args.frameskip && g->ticks < g->args.game_ticks; tick++) freeway_tick(g, dy);
    *g->io.rew = (float)(g->score - score) + (g->args.dense ? 0.01f * (float)(g->lanes_paid - lanes) : 0.0f);
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = g->ticks >= g->args.game_ticks;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) freeway_end_episode(g);
    freeway_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

#define FREEWAY_SCALE_X 4.0f
#define FREEWAY_SCALE_Y 2.25f
#define FREEWAY_VIEW_TOP 48.0f

static inline void freeway_draw_car(const Freeway *g, Draw *d, int lane, float x) {
    static const uint32_t colors[5] = {DRAW_CORAL, DRAW_BLUE, DRAW_GREEN, DRAW_AMBER, DRAW_VIOLET};
    float w = FREEWAY_SCALE_X * g->length[lane], left = FREEWAY_SCALE_X * x - 0.5f * w;
    float y = FREEWAY_VIEW_TOP + FREEWAY_SCALE_Y * (float)(FREEWAY_ROAD_BOTTOM - FREEWAY_LANE * lane - FREEWAY_LANE / 2);
    float half = FREEWAY_SCALE_Y * FREEWAY_CAR_HALF_HEIGHT, front = g->velocity[lane] > 0 ? w - 14 : 7;
    draw_rect(d, left, y - half, w, 2 * half, colors[lane % 5]);
    draw_rect(d, left + front, y - half + 3, 7, 2 * half - 6, DRAW_BACKGROUND);
}

static inline void freeway_draw_hen(const Freeway *g, Draw *d) {
    float x = FREEWAY_SCALE_X * FREEWAY_HEN_X, y = FREEWAY_VIEW_TOP + FREEWAY_SCALE_Y * (float)g->y;
    uint32_t body = g->stun > 0 ? DRAW_DIM : DRAW_INK;
    draw_circle(d, x, y + 2, 9, body);
    draw_circle(d, x, y - 6, 5, body);
    draw_tri(d, x - 3, y - 10, x + 3, y - 10, x, y - 16, DRAW_AMBER);
}

static inline void freeway_draw(const Freeway *g, Draw *d) {
    const float lane_height = FREEWAY_SCALE_Y * FREEWAY_LANE, road_top = FREEWAY_VIEW_TOP + lane_height;
    draw_clear(d, DRAW_BACKGROUND);
    draw_rect(d, 0, FREEWAY_VIEW_TOP, 640, 480, DRAW_EDGE);
    draw_rect(d, 0, road_top, 640, lane_height * FREEWAY_LANES, DRAW_FLOOR);
    for (int line = 1; line < FREEWAY_LANES; line++) {
        float y = road_top + lane_height * (float)line - 1;
        if (line == FREEWAY_LANES / 2) draw_rect(d, 0, y - 1, 640, 3, DRAW_AMBER);
        else
            for (int dash = 0; dash < 16; dash++) draw_rect(d, 40.0f * (float)dash + 10, y, 20, 2, DRAW_EDGE);
    }
    draw_number(d, 16, 16, 20, DRAW_INK, "score ", g->score);
    draw_number(d, 280, 16, 20, DRAW_DIM, "level ", g->level);
    draw_rect(d, 464, 22, 160, 8, DRAW_EDGE);
    draw_rect(d, 464, 22, 160.0f * (1.0f - (float)g->ticks / (float)g->args.game_ticks), 8, DRAW_TEAL);

    for (int lane = 0; lane < FREEWAY_LANES; lane++) {
        if (g->cars[lane] > 0) freeway_draw_car(g, d, lane, g->car_x[lane]);
        if (g->cars[lane] > 1) freeway_draw_car(g, d, lane, freeway_second_car(g, lane));
    }
    freeway_draw_hen(g, d);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField freeway_fields[] = {PUFFER_INT(FreewayArgs, frameskip), PUFFER_INT(FreewayArgs, max_steps),
                                             PUFFER_INT(FreewayArgs, game_ticks), PUFFER_INT(FreewayArgs, level),
                                             PUFFER_INT(FreewayArgs, dense), PUFFER_END};
static const char *const freeway_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const freeway_errors[] = {"", NULL};

PUFFER_GAME(freeway, Freeway);

#endif
