/* The arithmetic of dense layers for each instruction set of the machines that a wheel may meet; the best one is chosen when
 * a network is made. Fused multiply-add differs from multiply and add in the last bit, so results depend on the machine
 * (as torch's do), never on the number of threads. */
#ifndef PUFFERLIB_DENSE_SETS_H
#define PUFFERLIB_DENSE_SETS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    DENSE_TILE = 64, /* rows worked on at once: their activations stay in the second-level cache */
    DENSE_PAD = 16,  /* floats that every width is padded to */
    DENSE_STRIP = 8, /* rows that the rows of a tile are padded to */
};

typedef struct {
    void (*product)(int rows, int columns, int depth, const float *a, size_t a_row, size_t a_step, const float *b, size_t b_row,
                    const float *start, float *c, size_t c_row);
    void (*activate)(float *z, float *slope, size_t count);
    void (*multiply)(float *x, const float *y, size_t count);
    void (*add)(float *x, const float *y, size_t count);
    void (*add_rows)(float *sums, const float *x, int rows, int columns);
    void (*lstm)(float *gates, float *cell, float *squashed, float *hidden, int rows, int width);
    void (*lstm_back)(float *gates, const float *before, const float *squashed, const float *d_hidden, float *d_cell, int rows,
                      int width);
    void (*mingru)(float *gates, float *hidden, int rows, int width);
    void (*mingru_back)(float *gates, const float *before, float *d_hidden, int rows, int width);
    void (*gather)(int rows, int columns, int numbers, const int32_t *index, const float *amount, const float *b,
                   const float *start, float *c);
    void (*scatter)(int rows, int columns, int numbers, const int32_t *index, const float *amount, const float *d, float *sums);
} DenseSet;

#if defined(__x86_64__)
#define DENSE(name) dense_avx512_##name
#define DENSE_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma")))
#define DENSE_BYTES 64
#define DENSE_ROWS 8
#define DENSE_VECTORS 2
#include "dense_tile.h"

#define DENSE(name) dense_avx2_##name
#define DENSE_TARGET __attribute__((target("avx2,fma")))
#define DENSE_BYTES 32
#define DENSE_ROWS 4
#define DENSE_VECTORS 3
#include "dense_tile.h"
#endif

/* What every machine has: SSE2, NEON. */
#define DENSE(name) dense_plain_##name
#define DENSE_TARGET
#define DENSE_BYTES 16
#define DENSE_ROWS 4
#if defined(__aarch64__)
#define DENSE_VECTORS 4
#else
#define DENSE_VECTORS 2
#endif
#include "dense_tile.h"

/* The set of this name, "" for the best; NULL where the machine does not have it. */
static inline const DenseSet *dense_set(const char *name) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (avx512 && (!*name || strcmp(name, "avx512") == 0)) return &dense_avx512_set;
    if (avx2 && (!*name || strcmp(name, "avx2") == 0)) return &dense_avx2_set;
#endif
    return !*name || strcmp(name, "plain") == 0 ? &dense_plain_set : NULL;
}

#endif
