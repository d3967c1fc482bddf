/* Products and activations of one tile of rows, written once and compiled once for each instruction set: dense.h includes
 * this file with other values of
 *
 * DENSE(name)      the name of a function in this set
 * DENSE_TARGET     the compiler's name of the instructions, as an attribute
 * DENSE_BYTES      of a vector register
 * DENSE_ROWS       rows of a block; it divides DENSE_TILE and DENSE_PAD
 * DENSE_VECTORS    vectors side by side in a block; a block's sums stay in registers, so DENSE_ROWS * DENSE_VECTORS is bounded
 *
 * Every width is padded with zeros to a multiple of DENSE_PAD floats, so that there are no odd ends to treat. */

#define DENSE_LANES (DENSE_BYTES / 4)
#define DENSE_INLINE DENSE_TARGET static inline __attribute__((always_inline))

/* Vectors that need no alignment and may look at floats. */
typedef float DENSE(Vector) __attribute__((vector_size(DENSE_BYTES), aligned(4), may_alias));
typedef int32_t DENSE(Whole) __attribute__((vector_size(DENSE_BYTES), aligned(4), may_alias));

/* One block of c = start + a b, where a's element (i, k) is a[i * a_row + k * a_step] and b's row k is b + k * b_row.
 * `start` holds one row that all rows begin with, or NULL: they begin with what c holds. */
DENSE_INLINE void DENSE(block)(int vectors, int depth, const float *a, size_t a_row, size_t a_step, const float *b, size_t b_row,
                               const float *start, float *c, size_t c_row) {
    DENSE(Vector) sum[DENSE_ROWS][DENSE_VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < DENSE_ROWS; i++) {
#pragma GCC unroll 16
        for (int v = 0; v < vectors; v++) {
            const float *from = start ? start : c + (size_t)i * c_row;
            sum[i][v] = *(const DENSE(Vector) *)(from + v * DENSE_LANES);
        }
    }
    for (int k = 0; k < depth; k++) {
        DENSE(Vector) right[DENSE_VECTORS];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; v++) right[v] = *(const DENSE(Vector) *)(b + (size_t)k * b_row + v * DENSE_LANES);
#pragma GCC unroll 16
        for (int i = 0; i < DENSE_ROWS; i++) {
            float left = a[(size_t)i * a_row + (size_t)k * a_step];
#pragma GCC unroll 16
            for (int v = 0; v < vectors; v++) sum[i][v] += left * right[v];
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < DENSE_ROWS; i++) {
#pragma GCC unroll 16
        for (int v = 0; v < vectors; v++) *(DENSE(Vector) *)(c + (size_t)i * c_row + v * DENSE_LANES) = sum[i][v];
    }
}

/* c[rows, columns] = start + a b, or c += a b where start is NULL. DENSE_ROWS divides `rows`, DENSE_PAD divides `columns`. */
DENSE_TARGET static void DENSE(product)(int rows, int columns, int depth, const float *a, size_t a_row, size_t a_step,
                                        const float *b, size_t b_row, const float *start, float *c, size_t c_row) {
    const int wide = DENSE_LANES * DENSE_VECTORS;
    int j = 0;
    for (; j + wide <= columns; j += wide) {
        for (int i = 0; i < rows; i += DENSE_ROWS) {
            DENSE(block)(DENSE_VECTORS, depth, a + (size_t)i * a_row, a_row, a_step, b + j, b_row, start ? start + j : NULL,
                         c + (size_t)i * c_row + j, c_row);
        }
    }
    for (; j < columns; j += DENSE_LANES) {
        for (int i = 0; i < rows; i += DENSE_ROWS) {
            DENSE(block)(1, depth, a + (size_t)i * a_row, a_row, a_step, b + j, b_row, start ? start + j : NULL,
                         c + (size_t)i * c_row + j, c_row);
        }
    }
}

/* e^x for x in [-87, 0], to 2 units in the last place: 2^n e^r with |r| <= ln 2 / 2 and a polynomial for e^r (Cephes' expf). */
DENSE_INLINE DENSE(Vector) DENSE(exp)(DENSE(Vector) x) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
    DENSE(Vector) shifted = x * 1.44269504f + shift;
    DENSE(Vector) n = shifted - shift;
    DENSE(Vector) r = x - n * 0.693359375f - n * -2.12194440e-4f;
    DENSE(Vector) p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    DENSE(Whole) power = (DENSE(Whole))shifted << 23; /* n, moved to where a float holds its exponent */
    return (DENSE(Vector))((DENSE(Whole))p + power);
}

/* GELU (Hendrycks and Gimpel 2016), z Phi(z), and its slope Phi(z) + z phi(z). 1 - Phi comes from Abramowitz and Stegun
 * 7.1.26, whose error stays below 1.5e-7; its exponential is the one that phi needs. `slope` may be NULL. */
DENSE_INLINE void DENSE(gelu)(float *z, float *slope, size_t count) {
    const DENSE(Vector) none = {0}, least = none - 87.0f;
    for (size_t i = 0; i < count; i += DENSE_LANES) {
        DENSE(Vector) x = *(DENSE(Vector) *)(z + i);
        DENSE(Whole) sign = (DENSE(Whole))x & INT32_MIN;
        DENSE(Vector) size = (DENSE(Vector))((DENSE(Whole))x & INT32_MAX);
        DENSE(Vector) half_square = x * x * -0.5f;
        DENSE(Whole) far = half_square < -87.0f;
        half_square = (DENSE(Vector))(((DENSE(Whole))half_square & ~far) | ((DENSE(Whole))least & far));
        DENSE(Vector) bell = DENSE(exp)(half_square);
        DENSE(Vector) t = 1.0f / (size * (0.3275911f * 0.70710678f) + 1.0f);
        DENSE(Vector) tail = t * 1.061405429f - 1.453152027f;
        tail = tail * t + 1.421413741f;
        tail = tail * t - 0.284496736f;
        tail = tail * t + 0.254829592f;
        tail = tail * t * bell * 0.5f;
        DENSE(Vector) above = (DENSE(Vector))((DENSE(Whole))(0.5f - tail) | sign) + 0.5f;
        *(DENSE(Vector) *)(z + i) = x * above;
        if (slope) *(DENSE(Vector) *)(slope + i) = above + x * bell * 0.39894228f;
    }
}

DENSE_TARGET static void DENSE(activate)(float *z, float *slope, size_t count) {
    if (slope) DENSE(gelu)(z, slope, count);
    else DENSE(gelu)(z, NULL, count);
}

/* x *= y, elementwise. */
DENSE_TARGET static void DENSE(multiply)(float *x, const float *y, size_t count) {
    for (size_t i = 0; i < count; i += DENSE_LANES) *(DENSE(Vector) *)(x + i) *= *(const DENSE(Vector) *)(y + i);
}

/* sums[columns] += the sum over all rows of x[rows, columns]. */
DENSE_TARGET static void DENSE(add_rows)(float *sums, const float *x, int rows, int columns) {
    for (int j = 0; j < columns; j += DENSE_LANES) {
        DENSE(Vector) sum = *(DENSE(Vector) *)(sums + j);
        for (int i = 0; i < rows; i++) sum += *(const DENSE(Vector) *)(x + (size_t)i * (size_t)columns + j);
        *(DENSE(Vector) *)(sums + j) = sum;
    }
}

static const DenseSet DENSE(set) = {DENSE(product), DENSE(activate), DENSE(multiply), DENSE(add_rows)};

#undef DENSE_LANES
#undef DENSE_INLINE
#undef DENSE
#undef DENSE_TARGET
#undef DENSE_BYTES
#undef DENSE_ROWS
#undef DENSE_VECTORS
