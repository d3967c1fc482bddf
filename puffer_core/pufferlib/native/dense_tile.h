/* Products and activations of one tile of rows, written once and compiled once for each instruction set: dense_sets.h includes
 * this file with other values of
 *
 * DENSE(name)      the name of a function in this set
 * DENSE_TARGET     the compiler's name of the instructions, as an attribute
 * DENSE_BYTES      of a vector register
 * DENSE_ROWS       rows of a block; it divides DENSE_STRIP
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

/* c[rows, columns] = start + what the rows' codes choose: number k of row i adds amount times row index of b[., columns]. A row
 * of inputs that are mostly 0 costs only those that are not. */
DENSE_TARGET static void DENSE(gather)(int rows, int columns, int numbers, const int32_t *index, const float *amount,
                                       const float *b, const float *start, float *c) {
    const int wide = DENSE_LANES * DENSE_ROWS;
    for (int i = 0; i < rows; i++, index += numbers, amount += numbers, c += columns) {
        int j = 0;
        for (; j + wide <= columns; j += wide) {
            DENSE(Vector) sum[DENSE_ROWS];
#pragma GCC unroll 16
            for (int v = 0; v < DENSE_ROWS; v++) sum[v] = *(const DENSE(Vector) *)(start + j + v * DENSE_LANES);
            for (int k = 0; k < numbers; k++) {
                const float *from = b + (size_t)index[k] * (size_t)columns + j, times = amount[k];
#pragma GCC unroll 16
                for (int v = 0; v < DENSE_ROWS; v++) sum[v] += times * *(const DENSE(Vector) *)(from + v * DENSE_LANES);
            }
#pragma GCC unroll 16
            for (int v = 0; v < DENSE_ROWS; v++) *(DENSE(Vector) *)(c + j + v * DENSE_LANES) = sum[v];
        }
        for (; j < columns; j += DENSE_LANES) {
            DENSE(Vector) sum = *(const DENSE(Vector) *)(start + j);
            for (int k = 0; k < numbers; k++)
                sum += amount[k] * *(const DENSE(Vector) *)(b + (size_t)index[k] * (size_t)columns + j);
            *(DENSE(Vector) *)(c + j) = sum;
        }
    }
}

/* The gradient of that: number k of row i adds amount times row i of d[rows, columns] to row index of `sums`. */
DENSE_TARGET static void DENSE(scatter)(int rows, int columns, int numbers, const int32_t *index, const float *amount,
                                        const float *d, float *sums) {
    for (int i = 0; i < rows; i++, index += numbers, amount += numbers, d += columns) {
        for (int k = 0; k < numbers; k++) {
            float *to = sums + (size_t)index[k] * (size_t)columns, times = amount[k];
            for (int j = 0; j < columns; j += DENSE_LANES)
                *(DENSE(Vector) *)(to + j) += times * *(const DENSE(Vector) *)(d + j);
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

/* 1 / (1 + e^-x). */
DENSE_INLINE DENSE(Vector) DENSE(sigmoid)(DENSE(Vector) x) {
    const DENSE(Vector) none = {0}, least = none - 87.0f;
    DENSE(Vector) below = (DENSE(Vector))((DENSE(Whole))x | INT32_MIN); /* -|x| */
    DENSE(Whole) far = below < least;
    below = (DENSE(Vector))(((DENSE(Whole))below & ~far) | ((DENSE(Whole))least & far));
    DENSE(Vector) e = DENSE(exp)(below), small = e / (e + 1.0f); /* the sigmoid of -|x| */
    DENSE(Whole) negative = x < none;
    return (DENSE(Vector))(((DENSE(Whole))small & negative) | ((DENSE(Whole))(1.0f - small) & ~negative)) + x * 0.0f; /* NaN */
}

DENSE_INLINE DENSE(Vector) DENSE(tanh)(DENSE(Vector) x) { return 2.0f * DENSE(sigmoid)(2.0f * x) - 1.0f; }

/* One step of an LSTM (Hochreiter and Schmidhuber 1997) for `rows` rows of `width` cells. gates: [rows, 4, width], what goes into
 * the input, forget, cell and output gate, in torch's order; what comes out of them afterwards. cell: [rows, width], the new
 * one in place of the old; squashed: tanh of the new one; hidden: the output. */
DENSE_TARGET static void DENSE(lstm)(float *gates, float *cell, float *squashed, float *hidden, int rows, int width) {
    for (int r = 0; r < rows; r++) {
        float *in = gates + (size_t)r * 4 * (size_t)width, *forget = in + width, *fresh = forget + width, *out = fresh + width;
        for (int j = 0; j < width; j += DENSE_LANES) {
            size_t at = (size_t)r * (size_t)width + (size_t)j;
            DENSE(Vector) i = DENSE(sigmoid)(*(DENSE(Vector) *)(in + j)), f = DENSE(sigmoid)(*(DENSE(Vector) *)(forget + j));
            DENSE(Vector) g = DENSE(tanh)(*(DENSE(Vector) *)(fresh + j)), o = DENSE(sigmoid)(*(DENSE(Vector) *)(out + j));
            DENSE(Vector) c = f * *(DENSE(Vector) *)(cell + at) + i * g, t = DENSE(tanh)(c);
            *(DENSE(Vector) *)(in + j) = i;
            *(DENSE(Vector) *)(forget + j) = f;
            *(DENSE(Vector) *)(fresh + j) = g;
            *(DENSE(Vector) *)(out + j) = o;
            *(DENSE(Vector) *)(cell + at) = c;
            *(DENSE(Vector) *)(squashed + at) = t;
            *(DENSE(Vector) *)(hidden + at) = o * t;
        }
    }
}

/* Back through that step. gates: what came out of them, then the slopes by what went in; before: the old cells; d_hidden: the
 * slope by the output; d_cell: by the new cells, then by the old ones. */
DENSE_TARGET static void DENSE(lstm_back)(float *gates, const float *before, const float *squashed, const float *d_hidden,
                                          float *d_cell, int rows, int width) {
    for (int r = 0; r < rows; r++) {
        float *in = gates + (size_t)r * 4 * (size_t)width, *forget = in + width, *fresh = forget + width, *out = fresh + width;
        for (int j = 0; j < width; j += DENSE_LANES) {
            size_t at = (size_t)r * (size_t)width + (size_t)j;
            DENSE(Vector) i = *(DENSE(Vector) *)(in + j), f = *(DENSE(Vector) *)(forget + j);
            DENSE(Vector) g = *(DENSE(Vector) *)(fresh + j), o = *(DENSE(Vector) *)(out + j);
            DENSE(Vector) t = *(const DENSE(Vector) *)(squashed + at), dh = *(const DENSE(Vector) *)(d_hidden + at);
            DENSE(Vector) dc = *(DENSE(Vector) *)(d_cell + at) + dh * o * (1.0f - t * t);
            *(DENSE(Vector) *)(in + j) = dc * g * i * (1.0f - i);
            *(DENSE(Vector) *)(forget + j) = dc * *(const DENSE(Vector) *)(before + at) * f * (1.0f - f);
            *(DENSE(Vector) *)(fresh + j) = dc * i * (1.0f - g * g);
            *(DENSE(Vector) *)(out + j) = dh * t * o * (1.0f - o);
            *(DENSE(Vector) *)(d_cell + at) = dc * f;
        }
    }
}

/* One step of a MinGRU (Feng et al. 2024): h' = (1 - z) h + z g, z = sigmoid(a), g = b + 1/2 for b >= 0, else sigmoid(b).
 * gates: [rows, 2, width], a and b, then z and g. hidden: [rows, width], the new one in place of the old. */
DENSE_TARGET static void DENSE(mingru)(float *gates, float *hidden, int rows, int width) {
    const DENSE(Vector) none = {0};
    for (int r = 0; r < rows; r++) {
        float *update = gates + (size_t)r * 2 * (size_t)width, *fresh = update + width;
        for (int j = 0; j < width; j += DENSE_LANES) {
            float *at = hidden + (size_t)r * (size_t)width + j;
            DENSE(Vector) z = DENSE(sigmoid)(*(DENSE(Vector) *)(update + j)), b = *(DENSE(Vector) *)(fresh + j);
            DENSE(Whole) above = b >= none;
            DENSE(Vector) low = DENSE(sigmoid)(b);
            DENSE(Vector) g = (DENSE(Vector))(((DENSE(Whole))(b + 0.5f) & above) | ((DENSE(Whole))low & ~above));
            DENSE(Vector) h = *(DENSE(Vector) *)at;
            *(DENSE(Vector) *)(update + j) = z;
            *(DENSE(Vector) *)(fresh + j) = g;
            *(DENSE(Vector) *)at = (1.0f - z) * h + z * g;
        }
    }
}

/* Back through that step. gates: z and g, then the slopes by a and b; before: the old state; d_hidden: the slope by the new
 * state, then by the old one. g is at least 1/2 exactly where b was at least 0. */
DENSE_TARGET static void DENSE(mingru_back)(float *gates, const float *before, float *d_hidden, int rows, int width) {
    const DENSE(Vector) none = {0}, one = none + 1.0f, half = none + 0.5f;
    for (int r = 0; r < rows; r++) {
        float *update = gates + (size_t)r * 2 * (size_t)width, *fresh = update + width;
        for (int j = 0; j < width; j += DENSE_LANES) {
            size_t at = (size_t)r * (size_t)width + (size_t)j;
            DENSE(Vector) z = *(DENSE(Vector) *)(update + j), g = *(DENSE(Vector) *)(fresh + j);
            DENSE(Vector) dh = *(DENSE(Vector) *)(d_hidden + at);
            DENSE(Whole) above = g >= half;
            DENSE(Vector) slope = (DENSE(Vector))(((DENSE(Whole))one & above) | ((DENSE(Whole))(g * (1.0f - g)) & ~above));
            *(DENSE(Vector) *)(update + j) = dh * (g - *(const DENSE(Vector) *)(before + at)) * z * (1.0f - z);
            *(DENSE(Vector) *)(fresh + j) = dh * z * slope;
            *(DENSE(Vector) *)(d_hidden + at) = dh * (1.0f - z);
        }
    }
}

/* x += y, elementwise. */
DENSE_TARGET static void DENSE(add)(float *x, const float *y, size_t count) {
    for (size_t i = 0; i < count; i += DENSE_LANES) *(DENSE(Vector) *)(x + i) += *(const DENSE(Vector) *)(y + i);
}

static const DenseSet DENSE(set) = {
    DENSE(product), DENSE(activate), DENSE(multiply), DENSE(add), DENSE(add_rows), DENSE(lstm), DENSE(lstm_back),
    DENSE(mingru), DENSE(mingru_back), DENSE(gather), DENSE(scatter),
};

#undef DENSE_LANES
#undef DENSE_INLINE
#undef DENSE
#undef DENSE_TARGET
#undef DENSE_BYTES
#undef DENSE_ROWS
#undef DENSE_VECTORS
