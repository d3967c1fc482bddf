/* Asteroids: a ship that keeps its momentum shoots rocks, which split, on a torus of size 1 x 1 (y down, angles clockwise).
 *
 * Rocks are a dense list: when one is gone, the last takes its place. */
#ifndef ASTEROIDS_H
#define ASTEROIDS_H

#include "puffer_env.h"

enum { ASTEROIDS_ACTIONS = 6, ASTEROIDS_ROCKS = 32, ASTEROIDS_SHOTS = 6, ASTEROIDS_WAVE_ROCKS = 8 };
enum { ASTEROIDS_SHOT_TICKS = 40, ASTEROIDS_COOLDOWN_TICKS = 8, ASTEROIDS_SAFE_TICKS = 60 };
enum { ASTEROIDS_SCALARS = 8, ASTEROIDS_SEEN = 12, ASTEROIDS_ROCK_VALUES = 5 };
enum { ASTEROIDS_VALUES = ASTEROIDS_SCALARS + ASTEROIDS_SEEN * ASTEROIDS_ROCK_VALUES };
#define ASTEROIDS_TURN 0.08f /* radians per tick */
#define ASTEROIDS_THRUST 0.0004f
#define ASTEROIDS_DRAG 0.995f
#define ASTEROIDS_TOP_SPEED 0.012f /* per tick; so are all speeds */
#define ASTEROIDS_SHOT_SPEED 0.02f
#define ASTEROIDS_REACH 0.1f      /* more than the largest radius and a shot's way in one tick, or the ship's radius */
#define ASTEROIDS_SHIP 0.012f     /* radius */
#define ASTEROIDS_START_DISTANCE 0.25f
#define ASTEROIDS_SOLVED_SCORE 10000.0

static const float asteroids_radius[4] = {0.0f, 0.018f, 0.035f, 0.06f}; /* by size, 1 to 3; so are the points */
static const int32_t asteroids_points[4] = {0, 100, 50, 20};

typedef struct AsteroidsArgs {
    int32_t frameskip, max_steps, start_rocks, lives;
} AsteroidsArgs;

typedef struct AsteroidsLog {
    PUFFER_LOG_FIELDS;
} AsteroidsLog;

typedef struct AsteroidsVector {
    float x, y;
} AsteroidsVector;

typedef struct AsteroidsRock {
    AsteroidsVector at, velocity;
    int32_t size; /* 3 to 1 */
} AsteroidsRock;

typedef struct AsteroidsShot {
    AsteroidsVector at, velocity;
    int32_t life; /* ticks left; 0: free */
} AsteroidsShot;

typedef struct Asteroids {
    PufferIO io;
    PufferRng rng;
    AsteroidsArgs args;

    AsteroidsVector ship, velocity;
    float heading;        /* radians, in [-pi, pi]; 0 is right, pi/2 down */
    AsteroidsVector nose; /* (cos, sin) of the heading */
    int32_t cooldown, safety, lives;

    int32_t hits[4]; /* rocks shot in this episode, by size */
    int32_t t;
    double episode_return;

    int32_t wave, rocks;
    AsteroidsShot shot[ASTEROIDS_SHOTS];
    AsteroidsRock rock[ASTEROIDS_ROCKS];

    AsteroidsLog log;
} Asteroids;

static inline PufferShape asteroids_shape(const AsteroidsArgs *a) {
    (void)a;
    return (PufferShape){.rows = 1, .obs_bytes = ASTEROIDS_VALUES * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t asteroids_bytes(const AsteroidsArgs *a) {
    (void)a;
    return 0;
}

static inline int asteroids_init(Asteroids *g, const AsteroidsArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    return 0;
}

/* ---------------------------------------------------------------- vectors on the torus */

/* This and the next are written so that compilers make them without branches, which would be hard to predict. */
static inline float asteroids_wrap(float x) {
    x += x < 0.0f ? 1.0f : 0.0f;
    return x - (x >= 1.0f ? 1.0f : 0.0f);
}

static inline AsteroidsVector asteroids_moved(AsteroidsVector at, AsteroidsVector by) {
    return (AsteroidsVector){asteroids_wrap(at.x + by.x), asteroids_wrap(at.y + by.y)};
}

static inline float asteroids_shorter(float d) {
    d -= d > 0.5f ? 1.0f : 0.0f;
    return d + (d < -0.5f ? 1.0f : 0.0f);
}

/* The shortest way from one point to another. */
static inline AsteroidsVector asteroids_offset(AsteroidsVector from, AsteroidsVector to) {
    return (AsteroidsVector){asteroids_shorter(to.x - from.x), asteroids_shorter(to.y - from.y)};
}

/* Whether a rock at `b` can touch what is at `a`: a quick test before the exact ones, since most are far apart. */
static inline int asteroids_near(AsteroidsVector a, AsteroidsVector b) {
    const float apart = 0.5f - ASTEROIDS_REACH;
    return (fabsf(fabsf(a.x - b.x) - 0.5f) >= apart) & (fabsf(fabsf(a.y - b.y) - 0.5f) >= apart);
}

static inline float asteroids_dot(AsteroidsVector a, AsteroidsVector b) { return a.x * b.x + a.y * b.y; }

static inline AsteroidsVector asteroids_direction(float angle) {
    return (AsteroidsVector){puffer_cosf(angle), puffer_sinf(angle)};
}

/* `v` as seen along and across `axis`, a unit vector. */
static inline AsteroidsVector asteroids_in_axes(AsteroidsVector v, AsteroidsVector axis) {
    return (AsteroidsVector){v.x * axis.x + v.y * axis.y, v.y * axis.x - v.x * axis.y};
}

/* ---------------------------------------------------------------- observation */

/* The numbers of the (at most 12) rocks nearest to the ship, nearest first; ties: the lower number first. */
static inline int asteroids_nearest(const Asteroids *g, int nearest[ASTEROIDS_SEEN]) {
    float distances[ASTEROIDS_SEEN];
    int count = 0;
    for (int i = 0; i < g->rocks; i++) {
        AsteroidsVector offset = asteroids_offset(g->ship, g->rock[i].at);
        float distance = asteroids_dot(offset, offset);
        if (count == ASTEROIDS_SEEN && distance >= distances[ASTEROIDS_SEEN - 1]) continue;
        int place = count < ASTEROIDS_SEEN ? count++ : ASTEROIDS_SEEN - 1;
        for (; place > 0 && distances[place - 1] > distance; place--) {
            distances[place] = distances[place - 1];
            nearest[place] = nearest[place - 1];
        }
        distances[place] = distance;
        nearest[place] = i;
    }
    return count;
}

static inline void asteroids_observe(const Asteroids *g, void *row) {
    float *obs = (float *)row;
    int free_shots = 0, nearest[ASTEROIDS_SEEN], seen = asteroids_nearest(g, nearest);
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) free_shots += g->shot[i].life == 0;
    obs[0] = puffer_unit(g->velocity.x / ASTEROIDS_TOP_SPEED);
    obs[1] = puffer_unit(g->velocity.y / ASTEROIDS_TOP_SPEED);
    obs[2] = g->nose.x;
    obs[3] = g->nose.y;
    obs[4] = (float)g->cooldown / ASTEROIDS_COOLDOWN_TICKS;
    obs[5] = (float)free_shots / ASTEROIDS_SHOTS;
    obs[6] = (float)g->lives / (float)g->args.lives;
    obs[7] = (float)g->safety / ASTEROIDS_SAFE_TICKS;
    memset(obs + ASTEROIDS_SCALARS, 0, ASTEROIDS_SEEN * ASTEROIDS_ROCK_VALUES * sizeof(float));
    for (int i = 0; i < seen; i++) {
        const AsteroidsRock *rock = &g->rock[nearest[i]];
        AsteroidsVector speed = {rock->velocity.x - g->velocity.x, rock->velocity.y - g->velocity.y};
        AsteroidsVector offset = asteroids_in_axes(asteroids_offset(g->ship, rock->at), g->nose);
        AsteroidsVector relative = asteroids_in_axes(speed, g->nose);
        float *values = obs + ASTEROIDS_SCALARS + ASTEROIDS_ROCK_VALUES * i;
        values[0] = puffer_unit(2.0f * offset.x);
        values[1] = puffer_unit(2.0f * offset.y);
        values[2] = puffer_unit(relative.x / 0.02f);
        values[3] = puffer_unit(relative.y / 0.02f);
        values[4] = (float)rock->size / 3.0f;
    }
}

/* ---------------------------------------------------------------- starting */

/* A velocity along `direction`; the smaller the rock, the faster. */
static inline AsteroidsVector asteroids_rock_velocity(Asteroids *g, AsteroidsVector direction, int size) {
    float speed = puffer_range(&g->rng, 0.001f, 0.003f) * (float)(4 - size);
    return (AsteroidsVector){speed * direction.x, speed * direction.y};
}

static inline void asteroids_add_rock(Asteroids *g) {
    AsteroidsRock *rock = &g->rock[g->rocks++];
    AsteroidsVector offset;
    do {
        rock->at.x = puffer_uniform(&g->rng);
        rock->at.y = puffer_uniform(&g->rng);
        offset = asteroids_offset(g->ship, rock->at);
    } while (asteroids_dot(offset, offset) < ASTEROIDS_START_DISTANCE * ASTEROIDS_START_DISTANCE);
    float angle = puffer_range(&g->rng, -PUFFER_PI, PUFFER_PI);
    rock->velocity = asteroids_rock_velocity(g, asteroids_direction(angle), 3);
    rock->size = 3;
}

static inline void asteroids_start_wave(Asteroids *g) {
    int count = puffer_clipi(g->args.start_rocks + g->wave, 1, ASTEROIDS_WAVE_ROCKS);
    for (int i = 0; i < count; i++) asteroids_add_rock(g);
}

static inline void asteroids_turn_to(Asteroids *g, float heading) {
    g->heading = heading > PUFFER_PI ? heading - 2.0f * PUFFER_PI : heading < -PUFFER_PI ? heading + 2.0f * PUFFER_PI : heading;
    g->nose = asteroids_direction(g->heading);
}

static inline void asteroids_new_episode(Asteroids *g) {
    g->ship = (AsteroidsVector){0.5f, 0.5f};
    g->velocity = (AsteroidsVector){0.0f, 0.0f};
    asteroids_turn_to(g, -0.5f * PUFFER_PI);
    g->cooldown = g->safety = g->wave = g->rocks = g->t = 0;
    g->lives = g->args.lives;
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) g->shot[i].life = 0;
    for (int size = 0; size <= 3; size++) g->hits[size] = 0;
    g->episode_return = 0.0;
    asteroids_start_wave(g);
}

static inline void asteroids_restart(Asteroids *g) {
    puffer_begin_episode(&g->io, 1);
    asteroids_new_episode(g);
    asteroids_observe(g, g->io.obs);
}

static inline void asteroids_reset(Asteroids *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    asteroids_restart(g);
}

/* ---------------------------------------------------------------- one tick */

typedef struct AsteroidsControls {
    float turn, thrust; /* -1, 0 or 1; 0 or 1 */
    int fire;
} AsteroidsControls;

static inline void asteroids_steer(Asteroids *g, AsteroidsControls c) {
    if (c.turn != 0.0f) asteroids_turn_to(g, g->heading + c.turn * ASTEROIDS_TURN);
    g->velocity.x = (g->velocity.x + c.thrust * ASTEROIDS_THRUST * g->nose.x) * ASTEROIDS_DRAG;
    g->velocity.y = (g->velocity.y + c.thrust * ASTEROIDS_THRUST * g->nose.y) * ASTEROIDS_DRAG;
    float speed = sqrtf(asteroids_dot(g->velocity, g->velocity));
    if (speed <= ASTEROIDS_TOP_SPEED) return;
    g->velocity.x *= ASTEROIDS_TOP_SPEED / speed;
    g->velocity.y *= ASTEROIDS_TOP_SPEED / speed;
}

static inline void asteroids_fire(Asteroids *g) {
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) {
        if (g->shot[i].life > 0) continue;
        g->shot[i].at = g->ship;
        g->shot[i].velocity.x = ASTEROIDS_SHOT_SPEED * g->nose.x + g->velocity.x;
        g->shot[i].velocity.y = ASTEROIDS_SHOT_SPEED * g->nose.y + g->velocity.y;
        g->shot[i].life = ASTEROIDS_SHOT_TICKS;
        g->cooldown = ASTEROIDS_COOLDOWN_TICKS;
        return;
    }
}

/* Free shots move along: nobody sees it, and to ask would cost more. */
static inline void asteroids_move(Asteroids *g) {
    g->ship = asteroids_moved(g->ship, g->velocity);
    for (int i = 0; i < g->rocks; i++) g->rock[i].at = asteroids_moved(g->rock[i].at, g->rock[i].velocity);
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) g->shot[i].at = asteroids_moved(g->shot[i].at, g->shot[i].velocity);
}

/* Whether the way that the shot flew in this tick comes within the rock's radius of its middle. */
static inline int asteroids_shot_meets(const AsteroidsShot *shot, const AsteroidsRock *rock) {
    if (!asteroids_near(shot->at, rock->at)) return 0;
    AsteroidsVector end = asteroids_offset(rock->at, shot->at), way = shot->velocity;
    float radius = asteroids_radius[rock->size];
    float back = puffer_clip(asteroids_dot(end, way) / asteroids_dot(way, way), 0.0f, 1.0f); /* part of the way, from its end */
    AsteroidsVector closest = {end.x - back * way.x, end.y - back * way.y};
    return asteroids_dot(closest, closest) <= radius * radius;
}

/* In two of the next size, which fly on at .3 to 1 rad to either side; in one where the list is full. */
static inline void asteroids_split(Asteroids *g, int hit) {
    AsteroidsRock parent = g->rock[hit];
    g->hits[parent.size] += 1;
    if (parent.size == 1) {
        g->rock[hit] = g->rock[--g->rocks];
        return;
    }
    float speed = sqrtf(asteroids_dot(parent.velocity, parent.velocity));
    AsteroidsVector ahead = {parent.velocity.x / speed, parent.velocity.y / speed};
    int children = g->rocks < ASTEROIDS_ROCKS ? 2 : 1;
    for (int i = 0; i < children; i++) {
        float angle = puffer_range(&g->rng, 0.3f, 1.0f);
        AsteroidsVector aside = asteroids_direction(i == 0 ? angle : -angle);
        AsteroidsVector direction = {ahead.x * aside.x - ahead.y * aside.y, ahead.x * aside.y + ahead.y * aside.x};
        AsteroidsRock *child = i == 0 ? &g->rock[hit] : &g->rock[g->rocks++];
        child->at = parent.at;
        child->size = parent.size - 1;
        child->velocity = asteroids_rock_velocity(g, direction, child->size);
    }
}

static inline void asteroids_hit_rocks(Asteroids *g) {
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) {
        AsteroidsShot *shot = &g->shot[i];
        if (shot->life == 0) continue;
        shot->life -= 1;
        for (int k = 0; k < g->rocks; k++) {
            if (!asteroids_shot_meets(shot, &g->rock[k])) continue;
            asteroids_split(g, k);
            shot->life = 0;
            break;
        }
    }
}

static inline void asteroids_hit_ship(Asteroids *g) {
    if (g->safety > 0) {
        g->safety -= 1;
        return;
    }
    for (int i = 0; i < g->rocks; i++) {
        if (!asteroids_near(g->ship, g->rock[i].at)) continue;
        AsteroidsVector offset = asteroids_offset(g->ship, g->rock[i].at);
        float touch = asteroids_radius[g->rock[i].size] + ASTEROIDS_SHIP;
        if (asteroids_dot(offset, offset) > touch * touch) continue;
        g->lives -= 1;
        g->ship = (AsteroidsVector){0.5f, 0.5f};
        g->velocity = (AsteroidsVector){0.0f, 0.0f};
        g->safety = ASTEROIDS_SAFE_TICKS;
        return;
    }
}

static inline void asteroids_tick(Asteroids *g, AsteroidsControls c) {
    asteroids_steer(g, c);
    if (g->cooldown > 0) g->cooldown -= 1;
    if (c.fire && g->cooldown == 0) asteroids_fire(g);
    asteroids_move(g);
    asteroids_hit_rocks(g); /* before the ship: a rock that both hit is shot in time */
    asteroids_hit_ship(g);
    if (g->rocks > 0) return;
    g->wave += 1;
    asteroids_start_wave(g);
}

/* ---------------------------------------------------------------- one step */

static inline int32_t asteroids_score(const Asteroids *g) {
    int32_t score = 0;
    for (int size = 1; size <= 3; size++) score += asteroids_points[size] * g->hits[size];
    return score;
}

/* Smaller rocks are worth more; in tenths. */
static inline int32_t asteroids_worth(const Asteroids *g) { return g->hits[3] + 2 * g->hits[2] + 3 * g->hits[1]; }

static inline void asteroids_end_episode(Asteroids *g) {
    if (g->io.final_obs) asteroids_observe(g, g->io.final_obs);
    int32_t score = asteroids_score(g);
    g->log.score += score;
    g->log.perf += score < ASTEROIDS_SOLVED_SCORE ? score / ASTEROIDS_SOLVED_SCORE : 1.0;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    asteroids_new_episode(g);
}

static inline void asteroids_step(Asteroids *g) {
    static const AsteroidsControls controls[ASTEROIDS_ACTIONS] = {{0, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}};
    puffer_begin_step(&g->io, 1);
    AsteroidsControls c = controls[puffer_discrete(*(const int32_t *)g->io.act, ASTEROIDS_ACTIONS, &g->log.invalid_actions)];

    int32_t worth = asteroids_worth(g), lives = g->lives;
    for (int tick = 0; tick < g->args.frameskip && g->lives > 0; tick++) asteroids_tick(g, c);
    *g->io.rew = 0.1f * (float)(asteroids_worth(g) - worth) - (float)(lives - g->lives);
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = g->lives == 0;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) asteroids_end_episode(g);
    asteroids_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

#define ASTEROIDS_VIEW 424.0f /* side of the field in px */
#define ASTEROIDS_VIEW_LEFT (0.5f * (640.0f - ASTEROIDS_VIEW))
#define ASTEROIDS_VIEW_TOP 50.0f

static inline void asteroids_draw_rock(Draw *d, float x, float y, float radius, int kind) {
    static const float craters[3][4] = {{-.3f, -.2f, .35f, .3f}, {.25f, -.35f, -.1f, .4f}, {-.35f, .25f, .3f, -.1f}};
    draw_circle(d, x, y, radius, DRAW_DIM);
    draw_circle(d, x, y, radius - 2, 0x46525FFFu);
    draw_circle(d, x + craters[kind][0] * radius, y + craters[kind][1] * radius, 0.28f * radius, DRAW_EDGE);
    draw_circle(d, x + craters[kind][2] * radius, y + craters[kind][3] * radius, 0.18f * radius, DRAW_EDGE);
}

/* A rock that reaches over an edge shows at the opposite one, too; the frame is painted afterwards. */
static inline void asteroids_draw_rocks(const Asteroids *g, Draw *d) {
    for (int i = 0; i < g->rocks; i++)
        for (int wrap = 0; wrap < 9; wrap++) {
            float x = g->rock[i].at.x + (float)(wrap % 3 - 1), y = g->rock[i].at.y + (float)(wrap / 3 - 1);
            float radius = asteroids_radius[g->rock[i].size];
            if (x < -radius || x > 1 + radius || y < -radius || y > 1 + radius) continue;
            asteroids_draw_rock(d, ASTEROIDS_VIEW_LEFT + ASTEROIDS_VIEW * x, ASTEROIDS_VIEW_TOP + ASTEROIDS_VIEW * y,
                                ASTEROIDS_VIEW * radius, i % 3);
        }
}

static inline void asteroids_draw_ship(Draw *d, float x, float y, AsteroidsVector nose, uint32_t color) {
    AsteroidsVector tail = {x - 8 * nose.x, y - 8 * nose.y}, side = {-6 * nose.y, 6 * nose.x};
    draw_tri(d, x + 11 * nose.x, y + 11 * nose.y, tail.x + side.x, tail.y + side.y, x - 4 * nose.x, y - 4 * nose.y, color);
    draw_tri(d, x + 11 * nose.x, y + 11 * nose.y, tail.x - side.x, tail.y - side.y, x - 4 * nose.x, y - 4 * nose.y, color);
}

static inline void asteroids_draw(const Asteroids *g, Draw *d) {
    const float left = ASTEROIDS_VIEW_LEFT, top = ASTEROIDS_VIEW_TOP, side = ASTEROIDS_VIEW;
    float x = left + side * g->ship.x, y = top + side * g->ship.y;
    draw_clear(d, DRAW_FLOOR);
    asteroids_draw_rocks(g, d);
    for (int i = 0; i < ASTEROIDS_SHOTS; i++)
        if (g->shot[i].life > 0) draw_circle(d, left + side * g->shot[i].at.x, top + side * g->shot[i].at.y, 3, DRAW_AMBER);
    if (g->safety > 0) {
        draw_circle(d, x, y, 17, DRAW_TEAL);
        draw_circle(d, x, y, 15, DRAW_FLOOR);
    }
    asteroids_draw_ship(d, x, y, g->nose, DRAW_TEAL);

    draw_rect(d, 0, 0, 640, top, DRAW_BACKGROUND);
    draw_rect(d, 0, top + side, 640, 480, DRAW_BACKGROUND);
    draw_rect(d, 0, 0, left, 480, DRAW_BACKGROUND);
    draw_rect(d, left + side, 0, left, 480, DRAW_BACKGROUND);
    draw_outline(d, left - 2, top - 2, side + 4, side + 4, 2, DRAW_EDGE);
    draw_number(d, 16, 14, 20, DRAW_INK, "score ", asteroids_score(g));
    draw_number(d, 280, 14, 20, DRAW_DIM, "wave ", g->wave + 1);
    for (int i = 0; i < g->lives; i++) asteroids_draw_ship(d, 618.0f - 22.0f * (float)i, 26, (AsteroidsVector){0, -1}, DRAW_TEAL);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField asteroids_fields[] = {PUFFER_INT(AsteroidsArgs, frameskip), PUFFER_INT(AsteroidsArgs, max_steps),
                                               PUFFER_INT(AsteroidsArgs, start_rocks), PUFFER_INT(AsteroidsArgs, lives), PUFFER_END};
static const char *const asteroids_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const asteroids_errors[] = {"", NULL};

PUFFER_GAME(asteroids, Asteroids);

#endif
