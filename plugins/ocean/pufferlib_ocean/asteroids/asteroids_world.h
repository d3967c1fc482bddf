/* What asteroids is made of: rocks, shots, a ship, and vectors between points of the torus.
 *
 * Rocks are a dense list: when one is gone, the last takes its place. */
#ifndef ASTEROIDS_WORLD_H
#define ASTEROIDS_WORLD_H

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

static inline int32_t asteroids_score(const Asteroids *g) {
    int32_t score = 0;
    for (int size = 1; size <= 3; size++) score += asteroids_points[size] * g->hits[size];
    return score;
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

#endif
