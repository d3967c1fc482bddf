/* Enduro: a race over days and nights. Each day so many cars have to be passed, or the race is over.
 *
 * Everything is seen from the own car: x is its place across the road (-1 to 1), and each other car has a gap ahead of it. */
#ifndef ENDURO_H
#define ENDURO_H

#include "puffer_env.h"

enum { ENDURO_ACTIONS = 9, ENDURO_CARS = 10, ENDURO_SEGMENTS = 5 /* the one underneath and four ahead */ };
enum { ENDURO_SCALARS = 8, ENDURO_CAR_VALUES = 6, ENDURO_VALUES = ENDURO_SCALARS + ENDURO_CAR_VALUES * ENDURO_CARS };
enum { ENDURO_SOLVED_DAYS = 5 };
#define ENDURO_TOP_SPEED 8.0f /* units per tick; so are all speeds */
#define ENDURO_GAS 0.04f      /* per tick; so are the next three */
#define ENDURO_BRAKE 0.12f
#define ENDURO_COAST 0.01f
#define ENDURO_STEER 0.02f
#define ENDURO_DRIFT 0.01f     /* outwards in a bend */
#define ENDURO_VERGE 0.98f     /* what is left of the speed beside the road */
#define ENDURO_CRASH_SPEED 1.0f
#define ENDURO_CRASH_LENGTH 6.0f
#define ENDURO_CRASH_WIDTH 0.28f
#define ENDURO_CRASH_PUSH 30.0f
#define ENDURO_LANE 0.66f
#define ENDURO_ENTRY 400.0f /* the gap of a new car; it comes if all others are nearer than */
#define ENDURO_ENTRY_ROOM 340.0f
#define ENDURO_BEHIND -40.0f /* a car leaves at this gap, or beyond */
#define ENDURO_AHEAD 440.0f
#define ENDURO_NIGHT_SIGHT 150.0f

typedef struct EnduroArgs {
    int32_t frameskip, max_steps, day_ticks, quota1, quota;
} EnduroArgs;

typedef struct EnduroLog {
    PUFFER_LOG_FIELDS;
} EnduroLog;

typedef struct EnduroSegment {
    float length, curvature;
} EnduroSegment;

typedef struct Enduro {
    PufferIO io;
    PufferRng rng;
    EnduroArgs args;

    float x, speed;
    float into; /* how far the own car is into segments[0] */
    EnduroSegment segments[ENDURO_SEGMENTS];

    int32_t present[ENDURO_CARS];
    float gap[ENDURO_CARS], lane[ENDURO_CARS], car_speed[ENDURO_CARS];

    int32_t day, ticks; /* of this day */
    int32_t passed;     /* on this day */
    int32_t over, score, t;
    double episode_return;

    EnduroLog log;
} Enduro;

static inline PufferShape enduro_shape(const EnduroArgs *a) {
    (void)a;
    return (PufferShape){.rows = 1, .obs_bytes = ENDURO_VALUES * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t enduro_bytes(const EnduroArgs *a) {
    (void)a;
    return 0;
}

static inline int enduro_init(Enduro *g, const EnduroArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    return 0;
}

/* ---------------------------------------------------------------- observation */

static inline int enduro_quota(const Enduro *g) { return g->day == 0 ? g->args.quota1 : g->args.quota; }
static inline int enduro_is_night(const Enduro *g) { return 4 * (int64_t)g->ticks >= 3 * (int64_t)g->args.day_ticks; }

static inline float enduro_curvature(const Enduro *g, float ahead) {
    float rest = g->into + ahead;
    int i = 0;
    while (i < ENDURO_SEGMENTS - 1 && rest >= g->segments[i].length) rest -= g->segments[i++].length;
    return g->segments[i].curvature;
}

/* A slot without a car, or with one that the night hides, shows zeros. */
static inline void enduro_observe_car(const Enduro *g, int i, float sight, float *values) {
    float seen = g->present[i] && g->gap[i] <= sight ? 1.0f : 0.0f;
    values[0] = seen;
    values[1] = seen * puffer_unit(g->gap[i] / ENDURO_AHEAD);
    values[2] = seen * g->lane[i];
    values[3] = seen * (g->car_speed[i] / ENDURO_TOP_SPEED);
    values[4] = seen * ((g->lane[i] - g->x) / 2.0f);
    values[5] = seen * ((g->car_speed[i] - g->speed) / ENDURO_TOP_SPEED);
}

static inline void enduro_observe(const Enduro *g, void *row) {
    float *obs = (float *)row, sight = enduro_is_night(g) ? ENDURO_NIGHT_SIGHT : INFINITY;
    int to_pass = enduro_quota(g) - g->passed;
    obs[0] = g->x;
    obs[1] = g->speed / ENDURO_TOP_SPEED;
    obs[2] = enduro_curvature(g, 0.0f);
    obs[3] = enduro_curvature(g, 60.0f);
    obs[4] = enduro_curvature(g, 120.0f);
    obs[5] = 1.0f - (float)g->ticks / (float)g->args.day_ticks;
    obs[6] = puffer_clip((float)to_pass / 100.0f, 0.0f, 1.0f);
    obs[7] = (float)(g->day < ENDURO_SOLVED_DAYS ? g->day : ENDURO_SOLVED_DAYS) / ENDURO_SOLVED_DAYS;
    for (int i = 0; i < ENDURO_CARS; i++) enduro_observe_car(g, i, sight, obs + ENDURO_SCALARS + ENDURO_CAR_VALUES * i);
}

/* ---------------------------------------------------------------- starting */

static inline EnduroSegment enduro_new_segment(Enduro *g) {
    float length = puffer_range(&g->rng, 200.0f, 800.0f);
    return (EnduroSegment){length, 0.5f * (float)((int)puffer_below(&g->rng, 5) - 2)};
}

static inline void enduro_new_episode(Enduro *g) {
    g->x = g->speed = g->into = 0.0f;
    for (int i = 0; i < ENDURO_SEGMENTS; i++) g->segments[i] = enduro_new_segment(g);
    for (int i = 0; i < ENDURO_CARS; i++) {
        g->present[i] = 0;
        g->gap[i] = g->lane[i] = g->car_speed[i] = 0.0f;
    }
    g->day = g->ticks = g->passed = g->over = g->score = g->t = 0;
    g->episode_return = 0.0;
}

static inline void enduro_restart(Enduro *g) {
    puffer_begin_episode(&g->io, 1);
    enduro_new_episode(g);
    enduro_observe(g, g->io.obs);
}

static inline void enduro_reset(Enduro *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    enduro_restart(g);
}

/* ---------------------------------------------------------------- one tick */

typedef struct EnduroControls {
    float thrust, steer; /* thrust: change of speed in a tick */
} EnduroControls;

static inline void enduro_drive(Enduro *g, EnduroControls c) {
    g->speed = puffer_clip(g->speed + c.thrust, 0.0f, ENDURO_TOP_SPEED);
    float part = g->speed / ENDURO_TOP_SPEED;
    g->x += c.steer * ENDURO_STEER * (0.5f + 0.5f * part) - enduro_curvature(g, 0.0f) * ENDURO_DRIFT * (part * part);
    if (g->x < -1.0f || g->x > 1.0f) {
        g->x = puffer_unit(g->x);
        g->speed *= ENDURO_VERGE;
    }
    g->into += g->speed;
    if (g->into < g->segments[0].length) return;
    g->into -= g->segments[0].length;
    for (int i = 1; i < ENDURO_SEGMENTS; i++) g->segments[i - 1] = g->segments[i];
    g->segments[ENDURO_SEGMENTS - 1] = enduro_new_segment(g);
}

/* A crash pushes that car ahead before anything is counted, so it is not passed by it. Returns 1 if there was one. */
static inline int enduro_move_car(Enduro *g, int i) {
    float before = g->gap[i], now = before + (g->car_speed[i] - g->speed);
    int crash = fabsf(now) < ENDURO_CRASH_LENGTH && fabsf(g->lane[i] - g->x) < ENDURO_CRASH_WIDTH;
    if (crash) now += ENDURO_CRASH_PUSH;
    g->gap[i] = now;
    int change = (before >= 0.0f && now < 0.0f) - (before < 0.0f && now >= 0.0f && g->passed > 0);
    g->passed += change;
    g->score += change;
    g->present[i] = now > ENDURO_BEHIND && now <= ENDURO_AHEAD;
    return crash;
}

static inline void enduro_move_cars(Enduro *g) {
    int crash = 0;
    for (int i = 0; i < ENDURO_CARS; i++)
        if (g->present[i]) crash |= enduro_move_car(g, i);
    if (crash) g->speed = ENDURO_CRASH_SPEED;
}

static inline void enduro_send_car(Enduro *g) {
    int slot = -1;
    for (int i = ENDURO_CARS - 1; i >= 0; i--) {
        if (!g->present[i]) slot = i;
        else if (g->gap[i] >= ENDURO_ENTRY_ROOM) return;
    }
    float chance = 0.1f + 0.02f * (float)(g->day < 5 ? g->day : 5);
    if (slot < 0 || !puffer_chance(&g->rng, chance)) return;
    g->present[slot] = 1;
    g->gap[slot] = ENDURO_ENTRY;
    g->lane[slot] = ENDURO_LANE * (float)((int)puffer_below(&g->rng, 3) - 1);
    g->car_speed[slot] = puffer_range(&g->rng, 3.0f, 5.0f);
}

static inline void enduro_end_day(Enduro *g) {
    if (g->passed < enduro_quota(g)) {
        g->over = 1;
        return;
    }
    g->day += 1;
    g->ticks = g->passed = 0;
}

static inline void enduro_tick(Enduro *g, EnduroControls controls) {
    enduro_drive(g, controls);
    enduro_move_cars(g);
    enduro_send_car(g);
    g->ticks += 1;
    if (g->ticks == g->args.day_ticks) enduro_end_day(g);
}

/* ---------------------------------------------------------------- one step */

static inline void enduro_end_episode(Enduro *g) {
    if (g->io.final_obs) enduro_observe(g, g->io.final_obs);
    g->log.score += g->score;
    g->log.perf += g->day < ENDURO_SOLVED_DAYS ? (double)g->day / ENDURO_SOLVED_DAYS : 1.0;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    enduro_new_episode(g);
}

static inline void enduro_step(Enduro *g) {
    static const EnduroControls controls[ENDURO_ACTIONS] = {{-ENDURO_COAST, 0}, {ENDURO_GAS, 0},   {-ENDURO_COAST, -1},
                                                            {-ENDURO_COAST, 1}, {-ENDURO_BRAKE, 0}, {ENDURO_GAS, -1},
                                                            {ENDURO_GAS, 1},    {-ENDURO_BRAKE, -1}, {-ENDURO_BRAKE, 1}};
    puffer_begin_step(&g->io, 1);
    EnduroControls c = controls[puffer_discrete(*(const int32_t *)g->io.act, ENDURO_ACTIONS, &g->log.invalid_actions)];

    int score = g->score, day = g->day;
    for (int tick = 0; tick < g->args.frameskip && !g->over; tick++) enduro_tick(g, c);
    *g->io.rew = 0.1f * (float)(g->score - score) + (float)(g->day - day);
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = (uint8_t)g->over;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) enduro_end_episode(g);
    enduro_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing: the road in perspective */

#define ENDURO_HORIZON 200.0f
#define ENDURO_NEAR_Y 440.0f  /* of the screen, at gap 0 */
#define ENDURO_CAMERA 30.0f   /* behind the own car */
#define ENDURO_HALF_ROAD 200.0f /* pixels at gap 0; a car in lane x is x * ENDURO_HALF_ROAD beside the middle */

typedef struct EnduroView {
    float y, middle, scale; /* of the road at one gap: screen y, screen x of its middle, size compared to gap 0 */
} EnduroView;

static inline EnduroView enduro_view(const Enduro *g, float gap) {
    float heading = 0.0f, bend = 0.0f;
    for (float at = 0.0f; at < gap; at += 20.0f) {
        heading += 0.06f * enduro_curvature(g, at);
        bend += 20.0f * heading;
    }
    float scale = ENDURO_CAMERA / (gap + ENDURO_CAMERA);
    return (EnduroView){ENDURO_HORIZON + (ENDURO_NEAR_Y - ENDURO_HORIZON) * scale, 320 + (bend - ENDURO_HALF_ROAD * g->x) * scale, scale};
}

static inline void enduro_draw_strip(Draw *d, EnduroView far, EnduroView near, float left, float right, uint32_t color) {
    float fl = far.middle + left * far.scale, fr = far.middle + right * far.scale;
    float nl = near.middle + left * near.scale, nr = near.middle + right * near.scale;
    draw_tri(d, fl, far.y, fr, far.y, nr, near.y, color);
    draw_tri(d, fl, far.y, nr, near.y, nl, near.y, color);
}

/* From far to near; marks stand every 40 units and come towards the viewer. */
static inline void enduro_draw_road(const Enduro *g, Draw *d) {
    float phase = g->into - 40.0f * floorf(g->into / 40.0f);
    EnduroView far = enduro_view(g, ENDURO_AHEAD);
    for (int k = 23; k >= 0; k--) {
        EnduroView near = enduro_view(g, puffer_maxf(-10.0f, 20.0f * (float)k - phase));
        if (near.scale <= far.scale) continue;
        enduro_draw_strip(d, far, near, -ENDURO_HALF_ROAD * 1.3f, ENDURO_HALF_ROAD * 1.3f, DRAW_FLOOR);
        enduro_draw_strip(d, far, near, -ENDURO_HALF_ROAD * 1.36f, -ENDURO_HALF_ROAD * 1.3f, k % 2 ? DRAW_INK : DRAW_CORAL);
        enduro_draw_strip(d, far, near, ENDURO_HALF_ROAD * 1.3f, ENDURO_HALF_ROAD * 1.36f, k % 2 ? DRAW_INK : DRAW_CORAL);
        for (int side = -1; side <= 1 && k % 2; side += 2)
            enduro_draw_strip(d, far, near, 0.33f * ENDURO_HALF_ROAD * (float)side - 3, 0.33f * ENDURO_HALF_ROAD * (float)side + 3, DRAW_EDGE);
        far = near;
    }
}

/* Seen from behind, 52 px wide at gap 0. */
static inline void enduro_draw_car(Draw *d, float x, float y, float scale, uint32_t color, int night) {
    float w = 52 * scale, h = 30 * scale;
    if (!night) {
        draw_rect(d, x - 0.5f * w, y - 0.3f * h, 0.2f * w, 0.3f * h, DRAW_BACKGROUND);
        draw_rect(d, x + 0.3f * w, y - 0.3f * h, 0.2f * w, 0.3f * h, DRAW_BACKGROUND);
        draw_rect(d, x - 0.5f * w, y - 0.75f * h, w, 0.5f * h, color);
        draw_rect(d, x - 0.3f * w, y - h, 0.6f * w, 0.3f * h, DRAW_EDGE);
    }
    draw_rect(d, x - 0.45f * w, y - 0.6f * h, 0.16f * w, 0.18f * h, DRAW_CORAL); /* lights */
    draw_rect(d, x + 0.29f * w, y - 0.6f * h, 0.16f * w, 0.18f * h, DRAW_CORAL);
}

static inline void enduro_draw_cars(const Enduro *g, Draw *d) {
    static const uint32_t colors[3] = {DRAW_BLUE, DRAW_AMBER, DRAW_VIOLET};
    int night = enduro_is_night(g), drawn[ENDURO_CARS] = {0};
    for (int k = 0; k < ENDURO_CARS; k++) { /* the furthest first */
        int furthest = -1;
        for (int i = 0; i < ENDURO_CARS; i++)
            if (g->present[i] && !drawn[i] && (furthest < 0 || g->gap[i] > g->gap[furthest])) furthest = i;
        if (furthest < 0) break;
        drawn[furthest] = 1;
        if (g->gap[furthest] < -15.0f || (night && g->gap[furthest] > ENDURO_NIGHT_SIGHT)) continue;
        EnduroView at = enduro_view(g, g->gap[furthest]);
        enduro_draw_car(d, at.middle + ENDURO_HALF_ROAD * g->lane[furthest] * at.scale, at.y, at.scale, colors[furthest % 3], night);
    }
}

static inline void enduro_draw(const Enduro *g, Draw *d) {
    int night = enduro_is_night(g);
    draw_clear(d, DRAW_BACKGROUND);
    draw_rect(d, 0, 46, 640, ENDURO_HORIZON - 46, night ? 0x171A2EFFu : 0x35506EFFu);
    draw_circle(d, 520, 100, 22, night ? DRAW_DIM : DRAW_AMBER);
    for (int i = 0; i < 8; i++) /* hills */
        draw_tri(d, 90.0f * (float)i - 60, ENDURO_HORIZON, 90.0f * (float)i + 90, ENDURO_HORIZON, 90.0f * (float)i + 15,
                 ENDURO_HORIZON - 24 - 14.0f * (float)(i * 5 % 3), night ? 0x12161CFFu : 0x2A4055FFu);
    draw_rect(d, 0, ENDURO_HORIZON, 640, 480, night ? 0x10201AFFu : 0x24472FFFu);
    enduro_draw_road(g, d);
    enduro_draw_cars(g, d);
    enduro_draw_car(d, 320, ENDURO_NEAR_Y, 1, DRAW_TEAL, 0);

    int to_pass = enduro_quota(g) - g->passed;
    draw_rect(d, 0, 0, 640, 46, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "score ", g->score);
    draw_number(d, 200, 14, 20, DRAW_DIM, "day ", g->day + 1);
    draw_number(d, 310, 14, 20, to_pass > 0 ? DRAW_DIM : DRAW_GREEN, "to pass ", to_pass > 0 ? to_pass : 0);
    draw_rect(d, 464, 20, 160, 8, DRAW_EDGE);
    draw_rect(d, 464, 20, 160.0f * (1.0f - (float)g->ticks / (float)g->args.day_ticks), 8, night ? DRAW_BLUE : DRAW_AMBER);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField enduro_fields[] = {PUFFER_INT(EnduroArgs, frameskip), PUFFER_INT(EnduroArgs, max_steps),
                                            PUFFER_INT(EnduroArgs, day_ticks), PUFFER_INT(EnduroArgs, quota1),
                                            PUFFER_INT(EnduroArgs, quota), PUFFER_END};
static const char *const enduro_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const enduro_errors[] = {"", NULL};

PUFFER_GAME(enduro, Enduro);

#endif
