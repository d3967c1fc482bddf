/* The interface of a native game, and the small tools that every game uses.
 *
 * A game is one header. It defines two structs, <Game>Args and <Game>, and these functions:
 *
 *     PufferShape <game>_shape(const <Game>Args *);            rows of one world and the bytes of each row
 *     size_t <game>_bytes(const <Game>Args *);                 variable-size part of one world
 *     int    <game>_init (<Game> *, const <Game>Args *, void *arena, PufferIO);   0, or an index into <game>_errors
 *     void   <game>_reset(<Game> *, uint64_t seed);            seeds, builds the first state, writes obs and mask
 *     void   <game>_restart(<Game> *);                         the same, but the running generator goes on
 *     void   <game>_step (<Game> *);                           one step of all rows of this world
 *     void   <game>_draw (const <Game> *, Draw *);             never changes state
 *
 * and these tables, then PUFFER_GAME(<game>, <Game>) as its last line (or PUFFER_GAME_SHARED, PUFFER_GAME_TOGETHER):
 *
 *     static const PufferField <game>_fields[];                the members of <Game>Args that Python fills
 *     static const char *const <game>_log_names[];             PUFFER_LOG_NAMES, the game's own, NULL
 *     static const char *const <game>_errors[];                texts for init's results; entry 0 is unused
 *
 * <Game> has at least the members `PufferIO io; PufferRng rng; <Game>Log log;`, where <Game>Log opens with
 * PUFFER_LOG_FIELDS. Nothing is allocated after init, and there are no globals but read-only tables. Native and
 * WebAssembly builds agree bit for bit, so games call the puffer_ functions below for sin, cos, atan2, exp and tanh,
 * and are compiled with -ffp-contract=off and without fast-math. */
#ifndef PUFFER_ENV_H
#define PUFFER_ENV_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "draw.h"

#define PUFFER_API 1

/* ---------------------------------------------------------------- what a world reads and writes */

/* Pointers to this world's first row in the batch arrays; row i lies at base + i * row_bytes.
 * final_obs and act_mask may be NULL. Discrete and MultiDiscrete actions are int32, Box actions float32. */
typedef struct PufferIO {
    void *obs, *final_obs;
    const void *act;
    float *rew;
    uint8_t *term, *trunc, *mask, *act_mask;
} PufferIO;

typedef struct PufferShape {
    int64_t rows;            /* agent rows of one world */
    size_t obs_bytes;        /* of one row */
    size_t act_bytes;        /* of one row */
    size_t act_mask_bytes;   /* of one row; 0 where the game has no action mask */
} PufferShape;

/* One entry is added per ended row-episode: sums, which become means when Python drains them. */
#define PUFFER_LOG_FIELDS double score, episode_return, episode_length, perf, n, invalid_actions
#define PUFFER_LOG_NAMES "score", "episode_return", "episode_length", "perf", "n", "invalid_actions"

/* ---------------------------------------------------------------- how Python fills <Game>Args */

typedef enum PufferKind {
    PUFFER_KIND_INT, PUFFER_KIND_FLOAT, PUFFER_KIND_DOUBLE, PUFFER_KIND_SHARED, PUFFER_KIND_BYTES
} PufferKind;

/* Read-only, aligned to 4 bytes, alive as long as the worlds; size 0: nothing was given. */
typedef struct PufferBytes {
    const void *data;
    int64_t size;
} PufferBytes;

typedef struct PufferField {
    const char *name;
    PufferKind kind;
    size_t offset;
} PufferField;

#define PUFFER_INT(Args, member) {#member, PUFFER_KIND_INT, offsetof(Args, member)}       /* int32_t; also for flags and choices */
#define PUFFER_FLOAT(Args, member) {#member, PUFFER_KIND_FLOAT, offsetof(Args, member)}   /* float */
#define PUFFER_DOUBLE(Args, member) {#member, PUFFER_KIND_DOUBLE, offsetof(Args, member)} /* double */
/* A member `const void *` that receives the read-only block that all worlds share (see PUFFER_GAME_SHARED). */
#define PUFFER_SHARED(Args, member) {#member, PUFFER_KIND_SHARED, offsetof(Args, member)}
/* A member `PufferBytes` that receives what Python read from a file (the argument kind File). */
#define PUFFER_BYTES(Args, member) {#member, PUFFER_KIND_BYTES, offsetof(Args, member)}
#define PUFFER_END {NULL, PUFFER_KIND_INT, 0}

/* ---------------------------------------------------------------- random numbers: PCG32 (O'Neill 2014), seeded by SplitMix64 */

typedef struct PufferRng {
    uint64_t state, inc;
} PufferRng;

static inline uint64_t puffer_splitmix64(uint64_t *x) {
    uint64_t z = (*x += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static inline void puffer_seed(PufferRng *r, uint64_t seed) {
    r->state = puffer_splitmix64(&seed);
    r->inc = puffer_splitmix64(&seed) | 1u;
}

#define PUFFER_PCG_MULTIPLIER 6364136223846793005ull

static inline uint32_t puffer_pcg_output(uint64_t state) {
    uint32_t xorshifted = (uint32_t)(((state >> 18) ^ state) >> 27);
    uint32_t rot = (uint32_t)(state >> 59);
    return (xorshifted >> rot) | (xorshifted << ((32u - rot) & 31u));
}

static inline uint32_t puffer_u32(PufferRng *r) {
    uint64_t old = r->state;
    r->state = old * PUFFER_PCG_MULTIPLIER + r->inc;
    return puffer_pcg_output(old);
}

typedef struct PufferFour {
    uint32_t a, b, c, d;
} PufferFour;

/* The same numbers as four calls of puffer_u32, in less time: no state waits for the one before. */
static inline PufferFour puffer_four_u32(PufferRng *r) {
    const uint64_t m = PUFFER_PCG_MULTIPLIER, m2 = m * m;
    uint64_t s = r->state, i = r->inc;
    r->state = s * (m2 * m2) + i * (m2 * m + m2 + m + 1);
    return (PufferFour){puffer_pcg_output(s), puffer_pcg_output(s * m + i), puffer_pcg_output(s * m2 + i * (m + 1)),
                        puffer_pcg_output(s * (m2 * m) + i * (m2 + m + 1))};
}

/* U(): uniform in [0, 1), a multiple of 2^-24, so exact in float32. */
static inline float puffer_uniform(PufferRng *r) { return (float)(puffer_u32(r) >> 8) * 0x1p-24f; }

/* U(a, b) */
static inline float puffer_range(PufferRng *r, float a, float b) { return a + (b - a) * puffer_uniform(r); }

/* B(n): uniform integer in [0, n) */
static inline uint32_t puffer_below(PufferRng *r, uint32_t n) { return (uint32_t)(((uint64_t)puffer_u32(r) * n) >> 32); }

/* P(p): true with probability p */
static inline int puffer_chance(PufferRng *r, float p) { return puffer_uniform(r) < p; }

/* N(): about normal, mean 0, variance 1 (Irwin-Hall with four terms) */
static inline float puffer_normal(PufferRng *r) {
    float a = puffer_uniform(r), b = puffer_uniform(r), c = puffer_uniform(r), d = puffer_uniform(r);
    return (a + b + c + d - 2.0f) * 1.7320508f;
}

/* ---------------------------------------------------------------- arithmetic that is the same everywhere */

#define PUFFER_PI 3.14159265358979323846f

/* In two halves of the form that compilers turn into a max and a min without branches; NaN stays NaN. */
static inline float puffer_clip(float x, float low, float high) {
    float above = low > x ? low : x;
    return high < above ? high : above;
}
static inline float puffer_unit(float x) { return puffer_clip(x, -1.0f, 1.0f); }
static inline int puffer_clipi(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static inline float puffer_minf(float a, float b) { return a < b ? a : b; }
static inline float puffer_maxf(float a, float b) { return a > b ? a : b; }

/* Taylor polynomials in double after reducing x to [-pi/4, pi/4]: one code path, so one result on every machine.
 * `quarter` is how often pi/2 fits; the two constants sum to pi/2 to more than double precision. */
static inline double puffer_sin_core(double x) {
    double z = x * x;
    return x * (1.0 + z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880)))));
}

static inline double puffer_cos_core(double x) {
    double z = x * x;
    return 1.0 + z * (-0.5 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800)))));
}

static inline float puffer_trig(float x, int shift) {
    double quarters = (double)x * 0.63661977236758134308;
    int64_t quarter = (int64_t)(quarters + (quarters >= 0 ? 0.5 : -0.5));
    double y = (double)x - (double)quarter * 1.57079632679489655800 - (double)quarter * 6.12323399573676603587e-17;
    int64_t q = (quarter + shift) & 3;
    double value = (q & 1) ? puffer_cos_core(y) : puffer_sin_core(y);
    return (float)((q & 2) ? -value : value);
}

static inline float puffer_sinf(float x) { return puffer_trig(x, 0); }
static inline float puffer_cosf(float x) { return puffer_trig(x, 1); }

/* exp(x) = 2^k * exp(r), |r| <= ln2 / 2 */
static inline float puffer_expf(float x) {
    if (x > 88.7f) return INFINITY;
    if (x < -103.0f) return 0.0f;
    double scaled = (double)x * 1.44269504088896340736;
    int64_t k = (int64_t)(scaled + (scaled >= 0 ? 0.5 : -0.5));
    double r = (double)x - (double)k * 0.69314718055994530942;
    double e = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720 + r * (1.0 / 5040)))))));
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return (float)(e * power);
}

static inline float puffer_tanhf(float x) {
    if (x > 9.1f) return 1.0f;
    if (x < -9.1f) return -1.0f;
    if (x < 0.05f && x > -0.05f) { /* exp would cancel here */
        double z = (double)x * x;
        return (float)(x * (1.0 + z * (-1.0 / 3 + z * (2.0 / 15 - z * (17.0 / 315)))));
    }
    double e = (double)puffer_expf(2.0f * x);
    return (float)((e - 1.0) / (e + 1.0));
}

/* atan on [0, 1] reduced once more to |t| <= tan(pi/8), then its series */
static inline double puffer_atan_core(double t) {
    double base = 0.0;
    if (t > 0.41421356237309503) {
        base = 0.78539816339744830962;
        t = (t - 1.0) / (t + 1.0);
    }
    double z = t * t, sum = 0.0;
    for (int n = 19; n >= 1; n -= 2) sum = 1.0 / n - z * sum;
    return base + t * sum;
}

static inline float puffer_atan2f(float y, float x) {
    double ay = fabs((double)y), ax = fabs((double)x);
    if (ay == 0.0 && ax == 0.0) return 0.0f;
    double angle = ay <= ax ? puffer_atan_core(ay / ax) : 1.57079632679489661923 - puffer_atan_core(ax / ay);
    if (x < 0.0f) angle = 3.14159265358979323846 - angle;
    return (float)(y < 0.0f ? -angle : angle);
}

/* ---------------------------------------------------------------- the order of a step */

/* 1.: zero rew, term, trunc of the world's rows; set mask to 1. */
static inline void puffer_begin_step(PufferIO *io, int64_t rows) {
    memset(io->rew, 0, (size_t)rows * sizeof *io->rew);
    memset(io->term, 0, (size_t)rows);
    memset(io->trunc, 0, (size_t)rows);
    memset(io->mask, 1, (size_t)rows);
}

/* After reset and restart rew, term and trunc are 0 and mask is 1, too. */
#define puffer_begin_episode puffer_begin_step

/* 2.: an out-of-range discrete value acts as 0 and is counted. */
static inline int puffer_discrete(int32_t action, int n, double *invalid_actions) {
    if ((uint32_t)action < (uint32_t)n) return action;
    *invalid_actions += 1;
    return 0;
}

/* 2.: NaN acts as 0, then the value is clipped to the bounds. */
static inline float puffer_box(float action, float low, float high) {
    return puffer_clip(action == action ? action : 0.0f, low, high);
}

/* ---------------------------------------------------------------- the record that the binding uses */

static inline size_t puffer_round64(size_t bytes) { return (bytes + 63u) & ~(size_t)63u; }

typedef struct PufferGame {
    int32_t api;                             /* PUFFER_API */
    const char *name;
    size_t args_bytes, world_bytes;          /* sizeof <Game>Args; sizeof <Game> rounded to 64: the arena follows the struct */
    size_t io_offset, log_offset, log_count; /* members of <Game>; log_count doubles */
    const PufferField *fields;
    const char *const *log_names, *const *errors;
    PufferShape (*shape)(const void *args);
    size_t (*arena_bytes)(const void *args);
    size_t (*shared_bytes)(const void *args);         /* NULL: nothing is shared */
    int (*shared_init)(void *shared, const void *args); /* runs once, before any world's init */
    int (*init)(void *world, const void *args, void *arena, PufferIO io);
    /* Worlds [a, b), `stride` bytes apart. `base` holds row 0's pointers when they moved since the last call (each
     * world then takes its own from it), else NULL. seeds has an entry per world, or is NULL: generators go on. */
    void (*reset_range)(char *worlds, size_t stride, int64_t a, int64_t b, const PufferIO *base, PufferShape s, const uint64_t *seeds);
    void (*step_range)(char *worlds, size_t stride, int64_t a, int64_t b, const PufferIO *base, PufferShape s);
    void (*draw)(const void *world, Draw *);
} PufferGame;

static inline PufferIO puffer_io_at(const PufferIO *base, PufferShape s, int64_t world) {
    size_t row = (size_t)(world * s.rows);
    PufferIO io;
    io.obs = (char *)base->obs + row * s.obs_bytes;
    io.final_obs = base->final_obs ? (char *)base->final_obs + row * s.obs_bytes : NULL;
    io.act = (const char *)base->act + row * s.act_bytes;
    io.rew = base->rew + row;
    io.term = base->term + row;
    io.trunc = base->trunc + row;
    io.mask = base->mask + row;
    io.act_mask = base->act_mask ? base->act_mask + row * s.act_mask_bytes : NULL;
    return io;
}

#define PUFFER_GAME(game, Game) PUFFER_GAME_SHARED(game, Game, NULL, NULL)

/* For games whose worlds share a read-only block (a pool of maps): shared_bytes(args) and shared_init(block, args). */
#define PUFFER_GAME_SHARED(game, Game, shared_bytes_fn, shared_init_fn)                                                  \
    static void game##_step_range(char *worlds, size_t stride, int64_t a, int64_t b, const PufferIO *base,               \
                                  PufferShape s) {                                                                       \
        for (int64_t i = a; i < b; i++) {                                                                                \
            Game *g = (Game *)(worlds + (size_t)i * stride);                                                             \
            if (base) g->io = puffer_io_at(base, s, i);                                                                  \
            game##_step(g);                                                                                              \
        }                                                                                                                \
    }                                                                                                                    \
    PUFFER_RECORD(game, Game, shared_bytes_fn, shared_init_fn)

/* For games that step several worlds at once, in the lanes of vector registers: instead of <game>_step they define
 * <game>_step_together(void *const worlds[lanes], int count), which steps the first `count` worlds, 1 <= count <= lanes; further
 * entries are the last of these once more. All of them have the same arguments, and none may change what another one does. */
#define PUFFER_GAME_TOGETHER(game, Game, lanes)                                                                          \
    static void game##_step_range(char *worlds, size_t stride, int64_t a, int64_t b, const PufferIO *base,               \
                                  PufferShape s) {                                                                       \
        for (int64_t i = a; i < b; i += lanes) {                                                                         \
            void *together[lanes];                                                                                       \
            for (int64_t k = 0; k < lanes; k++) {                                                                        \
                int64_t world = i + k < b ? i + k : b - 1;                                                               \
                Game *g = (Game *)(worlds + (size_t)world * stride);                                                     \
                if (base) g->io = puffer_io_at(base, s, world);                                                          \
                together[k] = g;                                                                                         \
            }                                                                                                            \
            game##_step_together(together, b - i < lanes ? (int)(b - i) : lanes);                                        \
        }                                                                                                                \
    }                                                                                                                    \
    PUFFER_RECORD(game, Game, NULL, NULL)

#define PUFFER_RECORD(game, Game, shared_bytes_fn, shared_init_fn)                                                       \
    static PufferShape game##_shape_any(const void *args) { return game##_shape((const Game##Args *)args); }             \
    static size_t game##_bytes_any(const void *args) { return puffer_round64(game##_bytes((const Game##Args *)args)); }  \
    static int game##_init_any(void *world, const void *args, void *arena, PufferIO io) {                                \
        return game##_init((Game *)world, (const Game##Args *)args, arena, io);                                          \
    }                                                                                                                    \
    static void game##_draw_any(const void *world, Draw *d) { game##_draw((const Game *)world, d); }                     \
    static void game##_reset_range(char *worlds, size_t stride, int64_t a, int64_t b, const PufferIO *base,              \
                                   PufferShape s, const uint64_t *seeds) {                                               \
        for (int64_t i = a; i < b; i++) {                                                                                \
            Game *g = (Game *)(worlds + (size_t)i * stride);                                                             \
            if (base) g->io = puffer_io_at(base, s, i);                                                                  \
            if (seeds) game##_reset(g, seeds[i]);                                                                        \
            else game##_restart(g);                                                                                      \
        }                                                                                                                \
    }                                                                                                                    \
    static const PufferGame game##_game = {                                                                              \
        .api = PUFFER_API, .name = #game, .args_bytes = sizeof(Game##Args), .world_bytes = (sizeof(Game) + 63u) & ~63u,  \
        .io_offset = offsetof(Game, io), .log_offset = offsetof(Game, log),                                              \
        .log_count = sizeof(((Game *)0)->log) / sizeof(double), .fields = game##_fields, .log_names = game##_log_names,  \
        .errors = game##_errors, .shape = game##_shape_any, .arena_bytes = game##_bytes_any,                             \
        .shared_bytes = shared_bytes_fn, .shared_init = shared_init_fn, .init = game##_init_any,                         \
        .reset_range = game##_reset_range, .step_range = game##_step_range, .draw = game##_draw_any}

#endif
