/* Several drones at once, one in each lane of a vector register: every operation works on all lanes and none mixes them, so a
 * drone flies the same to the bit beside whichever others, and on machines that fly one at a time. */
#ifndef DRONE_LANES_H
#define DRONE_LANES_H

#include "puffer_env.h"

/* Four lanes are what SSE2, NEON and WebAssembly have. Compilers without GNU's vectors get one lane, a plain number. */
#if !defined(__GNUC__) && !defined(__clang__)
#define DRONE_ONE_LANE
#endif

#ifndef DRONE_ONE_LANE
enum { DRONE_LANES = 4 };
typedef float DroneLanes __attribute__((vector_size(16)));
typedef int32_t DroneMask __attribute__((vector_size(16))); /* each lane -1, true, or 0 */
typedef uint32_t DroneBits __attribute__((vector_size(16)));
#else
enum { DRONE_LANES = 1 };
typedef float DroneLanes;
typedef int32_t DroneMask;
typedef uint32_t DroneBits;
#endif

#if defined(DRONE_ONE_LANE)
#elif defined(__SSE2__)
#define DRONE_SSE
#include <emmintrin.h>
#elif defined(__aarch64__)
#define DRONE_NEON
#include <arm_neon.h>
#endif

/* ---------------------------------------------------------------- arithmetic */

static inline DroneLanes drone_all(float x) { return x + (DroneLanes){0}; }

static inline DroneBits drone_bits(DroneLanes x) {
    DroneBits bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline DroneLanes drone_lanes(DroneBits bits) {
    DroneLanes x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#ifndef DRONE_ONE_LANE
static inline DroneMask drone_less(DroneLanes a, DroneLanes b) { return a < b; }
#else
static inline DroneMask drone_less(DroneLanes a, DroneLanes b) { return -(a < b); }
#endif

static inline DroneLanes drone_choose(DroneMask mask, DroneLanes a, DroneLanes b) {
    DroneBits chosen;
    memcpy(&chosen, &mask, sizeof chosen);
    return drone_lanes((drone_bits(a) & chosen) | (drone_bits(b) & ~chosen));
}

/* Compilers do not see by themselves that there are instructions for these. */
#ifdef DRONE_SSE
static inline DroneLanes drone_min(DroneLanes a, DroneLanes b) { return _mm_min_ps(a, b); }
static inline DroneLanes drone_max(DroneLanes a, DroneLanes b) { return _mm_max_ps(a, b); }
static inline DroneLanes drone_sqrt(DroneLanes x) { return _mm_sqrt_ps(x); }
static inline int drone_any(DroneMask mask) { return _mm_movemask_epi8((__m128i)mask) != 0; }
#else
static inline DroneLanes drone_min(DroneLanes a, DroneLanes b) { return drone_choose(drone_less(a, b), a, b); }
static inline DroneLanes drone_max(DroneLanes a, DroneLanes b) { return drone_choose(drone_less(b, a), a, b); }

static inline DroneLanes drone_sqrt(DroneLanes x) {
#ifdef DRONE_NEON
    return (DroneLanes)vsqrtq_f32((float32x4_t)x);
#else
    float each[DRONE_LANES];
    memcpy(each, &x, sizeof each);
    for (int k = 0; k < DRONE_LANES; k++) each[k] = sqrtf(each[k]);
    memcpy(&x, each, sizeof x);
    return x;
#endif
}

static inline int drone_any(DroneMask mask) {
    int32_t each[DRONE_LANES], any = 0;
    memcpy(each, &mask, sizeof each);
    for (int k = 0; k < DRONE_LANES; k++) any |= each[k];
    return any != 0;
}
#endif

static inline DroneLanes drone_unit(DroneLanes x) { return drone_min(drone_max(x, drone_all(-1.0f)), drone_all(1.0f)); }

/* exp(-x) for x >= 0, within 2e-7 of it, relatively; from 87 on it stays at exp(-87). -x = k ln 2 + r: adding 1.5 * 2^23 rounds to
 * a whole k, which then stands in the lowest bits; ln 2 is taken in two parts, the first of which k times is exact. */
static inline DroneLanes drone_exp_minus(DroneLanes x) {
    x = -drone_min(x, drone_all(87.0f));
    DroneLanes shifted = x * 1.44269504f + 12582912.0f, k = shifted - 12582912.0f;
    DroneLanes r = x - k * 0.693359375f + k * 2.12194440e-4f, r2 = r * r;
    DroneLanes high = (1.0f / 24 + r * (1.0f / 120)) + r2 * (1.0f / 720 + r * (1.0f / 5040));
    DroneLanes e = 1.0f + (r + r2 * ((0.5f + r * (1.0f / 6)) + r2 * high));
    return e * drone_lanes((drone_bits(shifted) << 23) + 0x3F800000u); /* 2^k */
}

/* ---------------------------------------------------------------- memory */

/* Four numbers of each drone, one of each kind. */
typedef struct DroneFour {
    DroneLanes a, b, c, d;
} DroneFour;

#ifndef DRONE_ONE_LANE
#if defined(__clang__)
#define DRONE_SHUFFLED(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define DRONE_SHUFFLED(a, b, i, j, k, l) __builtin_shuffle(a, b, (DroneMask){i, j, k, l})
#endif

/* Rows become columns. */
static inline DroneFour drone_transposed(DroneFour m) {
    DroneLanes ab_low = DRONE_SHUFFLED(m.a, m.b, 0, 4, 1, 5), ab_high = DRONE_SHUFFLED(m.a, m.b, 2, 6, 3, 7);
    DroneLanes cd_low = DRONE_SHUFFLED(m.c, m.d, 0, 4, 1, 5), cd_high = DRONE_SHUFFLED(m.c, m.d, 2, 6, 3, 7);
    return (DroneFour){DRONE_SHUFFLED(ab_low, cd_low, 0, 1, 4, 5), DRONE_SHUFFLED(ab_low, cd_low, 2, 3, 6, 7),
                       DRONE_SHUFFLED(ab_high, cd_high, 0, 1, 4, 5), DRONE_SHUFFLED(ab_high, cd_high, 2, 3, 6, 7)};
}

static inline DroneLanes drone_row(const void *at, size_t offset) {
    DroneLanes row;
    memcpy(&row, (const char *)at + offset, sizeof row);
    return row;
}

/* The four floats that lie `offset` bytes behind each place. */
static inline DroneFour drone_gather(void *const places[DRONE_LANES], size_t offset) {
    return drone_transposed((DroneFour){drone_row(places[0], offset), drone_row(places[1], offset), drone_row(places[2], offset),
                                        drone_row(places[3], offset)});
}

static inline void drone_scatter(DroneFour columns, void *const places[DRONE_LANES], size_t offset) {
    DroneFour rows = drone_transposed(columns);
    memcpy((char *)places[0] + offset, &rows.a, sizeof rows.a);
    memcpy((char *)places[1] + offset, &rows.b, sizeof rows.b);
    memcpy((char *)places[2] + offset, &rows.c, sizeof rows.c);
    memcpy((char *)places[3] + offset, &rows.d, sizeof rows.d);
}
#else
static inline DroneFour drone_gather(void *const places[DRONE_LANES], size_t offset) {
    DroneFour four;
    memcpy(&four, (const char *)places[0] + offset, sizeof four);
    return four;
}

static inline void drone_scatter(DroneFour four, void *const places[DRONE_LANES], size_t offset) {
    memcpy((char *)places[0] + offset, &four, sizeof four);
}
#endif

#endif
