/* One picture from two screens: the brighter of both at each pixel, averaged over areas. Before that, screens in grey.
 *
 * Averages are those of OpenCV's INTER_AREA bit for bit, at a fraction of its time: sums are exact integers, and only an average
 * that lies between two levels (x.5), or so near that float32 cannot tell, depends on how rounding errors fall. Those few are
 * computed once more, in float32 and in OpenCV's order.
 */
#ifndef PUFFERLIB_ATARI_SCREEN_H
#define PUFFERLIB_ATARI_SCREEN_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of one float32 operation on numbers up to 255: half a unit in the last place, 255 / 2^24, and some more. */
#define FLOAT_ERROR 1.6e-5

/* What an emulator's colours look like in grey, as far as they were seen. */
typedef struct {
    uint8_t level[256];
    uint8_t known[256];
} Greys;

/* raw: [height * width] colours, as emulated; last: those of the call before, if `anew` is 0; grey: [height * width], what they look
 * like. Rows that are as they were stay. Returns whether all colours are known: if not, `grey` is not to be used. */
static int to_grey(const Greys *greys, const uint8_t *raw, uint8_t *last, uint8_t *grey, int height, int width, int anew) {
    uint8_t known = 1;
    for (int row = 0; row < height; row++, raw += width, last += width, grey += width) {
        if (!anew && memcmp(raw, last, (size_t)width) == 0) {
            continue;
        }
        memcpy(last, raw, (size_t)width);
        for (int i = 0; i < width; i++) {
            grey[i] = greys->level[raw[i]];
            known &= greys->known[raw[i]];
        }
    }
    return known;
}

/* How `source` pixels in a line become `target` ones. Pixel i is the sum of count[i] pixels from first[i] on, with weights
 * weight[i * taps ...], divided by total. */
typedef struct {
    int source, target, taps, total;
    const int32_t *first;
    const int32_t *count;
    const uint16_t *weight;
} Axis;

typedef struct {
    Axis rows, columns;
    uint8_t *brighter; /* [rows.source * columns.source]: of the last two screens */
    uint8_t *changed;  /* [rows.source]: whether a row of it is new; all are before the first picture */
    uint8_t *picture;  /* [rows.target * columns.target]: the last one */
    uint16_t *line;    /* [columns.source + columns.taps]: a row shrunk along the other axis only; zeros behind it */
    uint32_t *sums;    /* [columns.target] */
} Shrink;

/* The pixel as OpenCV rounds it: float32, along each row first, then over the rows; half to even. */
static uint8_t tied_pixel(const Shrink *s, int row, int column, uint32_t sum) {
    const Axis *r = &s->rows, *c = &s->columns;
    if (r->source % r->target == 0 && c->source % c->target == 0) { /* whole pixels: integer sums, times one over the area */
        if (r->source == 2 * r->target && c->source == 2 * c->target) {
            return (uint8_t)((sum + 2) >> 2);
        }
        return (uint8_t)lrintf((float)sum * (1.0f / (float)(r->total * c->total)));
    }
    float total = 0;
    for (int i = 0; i < r->count[row]; i++) {
        const uint8_t *pixel = s->brighter + (size_t)(r->first[row] + i) * c->source + c->first[column];
        float along = 0;
        for (int k = 0; k < c->count[column]; k++) {
            along += (float)pixel[k] * ((float)c->weight[column * c->taps + k] / (float)c->total);
        }
        total += along * ((float)r->weight[row * r->taps + i] / (float)r->total);
    }
    return (uint8_t)lrintf(total);
}

/* Takes the brighter pixels of a row. Returns whether any of them is new in `out`. */
static uint8_t take_brighter(const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out, int count) {
    uint8_t changed = 0;
    for (int i = 0; i < count; i++) {
        const uint8_t pixel = a[i] > b[i] ? a[i] : b[i];
        changed |= pixel ^ out[i];
        out[i] = pixel;
    }
    return changed;
}

static int any_changed(const Axis *r, int row, const uint8_t *changed) {
    int any = 0;
    for (int i = 0; i < r->count[row]; i++) {
        any |= changed[r->first[row] + i];
    }
    return any;
}

/* One row of the result, not yet shrunk along the columns. Weights sum up to at most 257 (checked when the Shrink is made), so sums
 * fit into 16 bits. */
static void add_rows(const Axis *r, int row, const uint8_t *screen, int width, uint16_t *restrict line) {
    const uint16_t *weight = r->weight + row * r->taps;
    const uint8_t *pixel = screen + (size_t)r->first[row] * width;
    for (int i = 0; i < width; i++) {
        line[i] = (uint16_t)(weight[0] * pixel[i]);
    }
    for (int k = 1; k < r->count[row]; k++) {
        pixel += width;
        const uint16_t times = weight[k];
        for (int i = 0; i < width; i++) {
            line[i] = (uint16_t)(line[i] + times * pixel[i]);
        }
    }
}

/* sums[i]: a row's exact sums, out of rows.total * columns.total. Atari's 160 pixels become 84 by two or three each. */
static void sum_along(const Axis *c, const uint16_t *line, uint32_t *sums) {
    const uint16_t *weight = c->weight;
    for (int i = 0; i < c->target; i++, weight += c->taps) {
        const uint16_t *from = line + c->first[i];
        if (c->taps == 3) {
            sums[i] = (uint32_t)weight[0] * from[0] + (uint32_t)weight[1] * from[1] + (uint32_t)weight[2] * from[2];
            continue;
        }
        sums[i] = 0;
        for (int k = 0; k < c->taps; k++) {
            sums[i] += (uint32_t)weight[k] * from[k];
        }
    }
}

/* How far `sum / total` is above the half below it, in units of 1 / (2 total), if it was rounded to `rounded`. */
static int above_half(uint32_t sum, int total, int rounded) {
    return 2 * (int)sum + total - 2 * total * rounded;
}

/* Sums to averages, halves up. Returns whether any was within `slack` of a half. */
static int round_row(const uint32_t *restrict sums, uint8_t *restrict out, int count, int total, int slack) {
    const double inverse = 0.5 / total;
    int halves = 0;
    for (int i = 0; i < count; i++) {
        const int rounded = (int)(((double)(2 * (int)sums[i] + total) + 0.5) * inverse); /* 0.5: off the edge between integers */
        const int above = above_half(sums[i], total, rounded);
        halves |= (above <= slack) | (above >= 2 * total - slack);
        out[i] = (uint8_t)rounded;
    }
    return halves;
}

/* Shrinks row `row` of s->brighter. */
static void shrink_row(const Shrink *s, int row, uint8_t *out) {
    const Axis *r = &s->rows, *c = &s->columns;
    const int total = r->total * c->total;
    const int slack = (int)(2.0 * total * (r->taps + c->taps + 2) * FLOAT_ERROR);
    add_rows(r, row, s->brighter, c->source, s->line);
    sum_along(c, s->line, s->sums);
    if (round_row(s->sums, out, c->target, total, slack)) {
        for (int i = 0; i < c->target; i++) {
            const int above = above_half(s->sums[i], total, out[i]);
            if (above <= slack || above >= 2 * total - slack) {
                out[i] = tied_pixel(s, row, i, s->sums[i]);
            }
        }
    }
}

/* a, b: [rows.source * columns.source]; out: [rows.target * columns.target].
 * Most of a screen stays as it was, so rows of the picture on which nothing is new are the last picture's. */
static void shrink_brighter(Shrink *s, const uint8_t *a, const uint8_t *b, uint8_t *out) {
    const Axis *r = &s->rows, *c = &s->columns;
    for (int row = 0; row < r->source; row++) {
        const size_t from = (size_t)row * c->source;
        s->changed[row] |= take_brighter(a + from, b + from, s->brighter + from, c->source);
    }
    for (int row = 0; row < r->target; row++) {
        if (any_changed(r, row, s->changed)) {
            shrink_row(s, row, s->picture + (size_t)row * c->target);
        }
    }
    memset(s->changed, 0, (size_t)r->source);
    memcpy(out, s->picture, (size_t)r->target * c->target);
}

#endif
