/* The shapes of the rasteriser; see raster.h. */
#ifndef PUFFER_RASTER_SHAPES_H
#define PUFFER_RASTER_SHAPES_H

#include <math.h>

#include "draw.h"

#define RASTER_MAX_SIDE 4096 /* of a canvas; a larger one, or one below 1, is not drawn at all */
#define RASTER_TRI_GROUP 64

typedef struct Raster {
    uint8_t *rgb;
    int width, height;
    uint8_t cover[RASTER_MAX_SIDE]; /* scratch: coverage of one row by one shape, 255 = whole pixel */
} Raster;

/* ---------------------------------------------------------------- pixels and spans */

/* The first pixel whose centre is not left of `edge`, within [0, limit]. */
static int raster_pixel(double edge, int limit) {
    if (!(edge > 0.5)) return 0;
    if (edge >= limit) return limit;
    int whole = (int)edge;
    return whole + (edge - whole > 0.5);
}

static uint8_t raster_mix(uint8_t below, uint32_t above, uint32_t alpha) {
    uint32_t sum = above * alpha + below * (255u - alpha) + 128u;
    return (uint8_t)((sum + (sum >> 8)) >> 8); /* sum / 255, rounded to nearest */
}

static void raster_blend(uint8_t *pixel, uint32_t color, uint32_t alpha) {
    pixel[0] = raster_mix(pixel[0], color >> 24, alpha);
    pixel[1] = raster_mix(pixel[1], color >> 16 & 255u, alpha);
    pixel[2] = raster_mix(pixel[2], color >> 8 & 255u, alpha);
}

static uint8_t *raster_at(const Raster *r, int x, int y) { return r->rgb + ((size_t)y * (size_t)r->width + (size_t)x) * 3; }

/* Pixels [x0, x1) of row y. */
static void raster_span(const Raster *r, int y, int x0, int x1, uint32_t color) {
    if (x0 >= x1) return;
    uint32_t alpha = color & 255u;
    uint8_t red = (uint8_t)(color >> 24), green = (uint8_t)(color >> 16), blue = (uint8_t)(color >> 8);
    uint8_t *p = raster_at(r, x0, y), *end = p + (size_t)(x1 - x0) * 3;
    if (alpha == 255u) {
        for (; p < end; p += 3) {
            p[0] = red;
            p[1] = green;
            p[2] = blue;
        }
    } else if (alpha) {
        for (; p < end; p += 3) raster_blend(p, color, alpha);
    }
}

static void raster_fill(const Raster *r, int x0, int y0, int x1, int y1, uint32_t color) {
    if (x0 >= x1 || y0 >= y1) return;
    raster_span(r, y0, x0, x1, color);
    for (int y = y0 + 1; y < y1; y++) {
        if ((color & 255u) == 255u) memcpy(raster_at(r, x0, y), raster_at(r, x0, y0), (size_t)(x1 - x0) * 3);
        else raster_span(r, y, x0, x1, color);
    }
}

/* Blend pixels [x0, x1) of row y by r->cover, then leave it zeroed. */
static void raster_covered(Raster *r, int y, int x0, int x1, uint32_t color) {
    uint32_t alpha = color & 255u;
    for (int x = x0; x < x1; x++) {
        if (r->cover[x] >= 254) { /* two halves of a pixel may round to 254 */
            int run = x + 1;
            while (run < x1 && r->cover[run] >= 254) run++;
            raster_span(r, y, x, run, color);
            x = run - 1;
        } else if (r->cover[x]) {
            raster_blend(raster_at(r, x, y), color, (alpha * r->cover[x] + 127u) / 255u);
        }
    }
    if (x0 < x1) memset(r->cover + x0, 0, (size_t)(x1 - x0));
}

/* Wholly covered from x to below `end`, which rounding may put beyond `limit`. Returns the last pixel set. */
static int raster_solid(Raster *r, int x, int end, int limit) {
    if (end > limit) end = limit;
    memset(r->cover + x, 255, (size_t)(end - x));
    return end - 1;
}

static double raster_unit(double x) { return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x; }

static uint8_t raster_byte(double coverage) { return (uint8_t)(raster_unit(coverage) * 255.0 + 0.5); }

/* ---------------------------------------------------------------- rectangles and tiles */

static void raster_rect(const Raster *r, double x0, double y0, double x1, double y1, uint32_t color) {
    int left = raster_pixel(x0, r->width), right = raster_pixel(x1, r->width);
    raster_fill(r, left, raster_pixel(y0, r->height), right, raster_pixel(y1, r->height), color);
}

/* Four strips inside of the rectangle that meet but do not overlap. */
static void raster_outline(const Raster *r, const float *v, uint32_t color) {
    double x0 = v[0], y0 = v[1], x1 = x0 + v[2], y1 = y0 + v[3], line = v[4];
    if (!(v[2] > 0 && v[3] > 0 && line > 0)) return;
    if (2 * line >= v[2] || 2 * line >= v[3]) {
        raster_rect(r, x0, y0, x1, y1, color);
        return;
    }
    raster_rect(r, x0, y0, x1, y0 + line, color);
    raster_rect(r, x0, y1 - line, x1, y1, color);
    raster_rect(r, x0, y0 + line, x0 + line, y1 - line, color);
    raster_rect(r, x1 - line, y0 + line, x1, y1 - line, color);
}

static uint32_t raster_palette(const uint8_t *palette, uint8_t code) {
    const uint8_t *c = palette + 4 * (size_t)code;
    return (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
}

/* One row of cells into pixel rows [y0, y1). Runs of one code are one span; an opaque row is drawn once, then copied. */
static void raster_tile_row(const Raster *r, const float *v, int columns, int y0, int y1, const uint8_t *palette,
                            const uint8_t *codes) {
    double x = v[0], cell = v[2];
    int opaque = 1;
    for (int i = 0; i < columns && opaque; i++) opaque = (raster_palette(palette, codes[i]) & 255u) == 255u;
    int left = raster_pixel(x, r->width), right = left;
    for (int i = 0; i < columns && right < r->width;) {
        int run = i + 1, from = right;
        while (run < columns && codes[run] == codes[i]) run++;
        right = raster_pixel(x + run * cell, r->width);
        raster_fill(r, from, y0, right, opaque ? y0 + 1 : y1, raster_palette(palette, codes[i]));
        i = run;
    }
    if (!opaque || left >= right) return;
    for (int y = y0 + 1; y < y1; y++) memcpy(raster_at(r, left, y), raster_at(r, left, y0), (size_t)(right - left) * 3);
}

static void raster_tiles(const Raster *r, const float *v, const uint8_t *data, uint32_t bytes) {
    double columns = v[3], rows = v[4];
    if (!(v[2] > 0 && columns >= 1 && rows >= 1) || 1024.0 + columns * rows > bytes) return;
    for (int row = 0; row < (int)rows; row++) {
        int y0 = raster_pixel(v[1] + row * (double)v[2], r->height);
        int y1 = raster_pixel(v[1] + (row + 1) * (double)v[2], r->height);
        if (y0 < y1) raster_tile_row(r, v, (int)columns, y0, y1, data, data + 1024 + (size_t)row * (size_t)(int)columns);
    }
}

/* ---------------------------------------------------------------- circles and lines */

/* Coverage of a pixel falls from 1 to 0 while its centre crosses the rim within half a pixel on either side. */
static void raster_circle(Raster *r, const float *v, uint32_t color) {
    double cx = v[0], cy = v[1], outer = v[2] + 0.5, inner = v[2] - 0.5;
    if (!(v[2] > 0)) return;
    int y1 = raster_pixel(cy + outer, r->height);
    for (int y = raster_pixel(cy - outer, r->height); y < y1; y++) {
        double dy = y + 0.5 - cy, chord = outer * outer - dy * dy;
        if (!(chord > 0)) continue;
        chord = sqrt(chord);
        int x0 = raster_pixel(cx - chord, r->width), x1 = raster_pixel(cx + chord, r->width), solid0 = x1, solid1 = x1;
        if (inner > 0 && inner * inner > dy * dy) {
            double half = sqrt(inner * inner - dy * dy);
            solid0 = raster_pixel(cx - half, r->width);
            solid1 = raster_pixel(cx + half, r->width);
        }
        for (int x = x0; x < x1; x++) {
            if (x == solid0 && solid1 > x) {
                x = raster_solid(r, x, solid1, x1);
                continue;
            }
            double dx = x + 0.5 - cx;
            r->cover[x] = raster_byte(outer - sqrt(dx * dx + dy * dy));
        }
        raster_covered(r, y, x0, x1, color);
    }
}

/* Narrow [low, high] to where |slope * x + offset| <= limit. */
static void raster_band(double slope, double offset, double limit, double *low, double *high) {
    if (slope < 0) {
        slope = -slope;
        offset = -offset;
    }
    if (slope < 1e-9) {
        if (fabs(offset) > limit) *high = *low - 1;
        return;
    }
    double from = (-limit - offset) / slope, to = (limit - offset) / slope;
    if (from > *low) *low = from;
    if (to < *high) *high = to;
}

/* How much of a pixel, as the interval [at - 0.5, at + 0.5], lies in [-half, half]. */
static double raster_overlap(double at, double half) {
    double from = at - 0.5 > -half ? at - 0.5 : -half, to = at + 0.5 < half ? at + 0.5 : half;
    return raster_unit(to - from);
}

/* A turned rectangle with square ends: `along` and `across` are a pixel's place in its axes, from its centre. */
static void raster_line(Raster *r, const float *v, uint32_t color) {
    double dx = (double)v[2] - v[0], dy = (double)v[3] - v[1], length = sqrt(dx * dx + dy * dy), width = v[4];
    if (!(length > 0 && width > 0)) return;
    double ux = dx / length, uy = dy / length, cx = v[0] + dx / 2, cy = v[1] + dy / 2, half = width / 2, reach = length / 2;
    double tall = reach * fabs(uy) + half * fabs(ux) + 1;
    int y1 = raster_pixel(cy + tall, r->height);
    for (int y = raster_pixel(cy - tall, r->height); y < y1; y++) {
        double py = y + 0.5 - cy, low = 0.5 - cx, high = r->width - cx, low_solid, high_solid;
        raster_band(ux, py * uy, reach + 0.5, &low, &high);
        raster_band(-uy, py * ux, half + 0.5, &low, &high);
        int x0 = raster_pixel(cx + low, r->width), x1 = raster_pixel(cx + high, r->width), solid0 = x1, solid1 = x1;
        if (reach > 0.5 && half > 0.5) {
            low_solid = low;
            high_solid = high;
            raster_band(ux, py * uy, reach - 0.5, &low_solid, &high_solid);
            raster_band(-uy, py * ux, half - 0.5, &low_solid, &high_solid);
            if (high_solid > low_solid) {
                solid0 = raster_pixel(cx + low_solid, r->width);
                solid1 = raster_pixel(cx + high_solid, r->width);
            }
        }
        for (int x = x0; x < x1; x++) {
            if (x == solid0 && solid1 > x) {
                x = raster_solid(r, x, solid1, x1);
                continue;
            }
            double px = x + 0.5 - cx, along = px * ux + py * uy, across = py * ux - px * uy;
            r->cover[x] = raster_byte(raster_overlap(along, reach) * raster_overlap(across, half));
        }
        raster_covered(r, y, x0, x1, color);
    }
}

/* ---------------------------------------------------------------- triangles */

typedef struct RasterTri {
    double x[3], y[3], nx[3], ny[3]; /* vertices; per edge, from its vertex, the unit normal that points inside */
    double left, right, top, bottom;
} RasterTri;

static int raster_tri_set(RasterTri *t, const float *v) {
    for (int i = 0; i < 3; i++) {
        t->x[i] = v[2 * i];
        t->y[i] = v[2 * i + 1];
    }
    double area = (t->x[1] - t->x[0]) * (t->y[2] - t->y[0]) - (t->x[2] - t->x[0]) * (t->y[1] - t->y[0]);
    if (area == 0) return 0;
    t->left = fmin(fmin(t->x[0], t->x[1]), t->x[2]);
    t->right = fmax(fmax(t->x[0], t->x[1]), t->x[2]);
    t->top = fmin(fmin(t->y[0], t->y[1]), t->y[2]);
    t->bottom = fmax(fmax(t->y[0], t->y[1]), t->y[2]);
    for (int i = 0; i < 3; i++) {
        double ex = t->x[(i + 1) % 3] - t->x[i], ey = t->y[(i + 1) % 3] - t->y[i], length = sqrt(ex * ex + ey * ey);
        double side = area > 0 ? 1 : -1;
        t->nx[i] = -ey / length * side;
        t->ny[i] = ex / length * side;
    }
    return 1;
}

/* Add one triangle's coverage of row y to r->cover; widen [*x0, *x1) to what it touched. */
static void raster_tri_row(Raster *r, const RasterTri *t, int y, int *x0, int *x1) {
    double py = y + 0.5;
    if (!(py > t->top - 0.5 && py < t->bottom + 0.5)) return;
    double low = t->left - 0.5, high = t->right + 0.5, low_solid = low, high_solid = high;
    for (int i = 0; i < 3; i++) { /* the distance from edge i, nx * (x - x[i]) + rest, is at least -0.5; solid: 0.5 */
        double nx = t->nx[i], rest = (py - t->y[i]) * t->ny[i];
        if (fabs(nx) < 1e-9) {
            if (rest < -0.5) return;
            if (rest < 0.5) high_solid = low_solid - 1;
            continue;
        }
        double at = t->x[i] + (-0.5 - rest) / nx, solid = t->x[i] + (0.5 - rest) / nx;
        if (nx > 0) {
            low = fmax(low, at);
            low_solid = fmax(low_solid, solid);
        } else {
            high = fmin(high, at);
            high_solid = fmin(high_solid, solid);
        }
    }
    int from = raster_pixel(low, r->width), to = raster_pixel(high, r->width), solid0 = to, solid1 = to;
    if (low_solid < high_solid) {
        solid0 = raster_pixel(low_solid, r->width);
        solid1 = raster_pixel(high_solid, r->width);
    }
    for (int x = from; x < to; x++) {
        if (x == solid0 && solid1 > x) {
            x = raster_solid(r, x, solid1, to);
            continue;
        }
        double part = 1;
        for (int i = 0; i < 3; i++) part *= raster_unit(t->nx[i] * (x + 0.5 - t->x[i]) + (py - t->y[i]) * t->ny[i] + 0.5);
        int sum = r->cover[x] + raster_byte(part);
        r->cover[x] = (uint8_t)(sum > 255 ? 255 : sum);
    }
    if (from < *x0) *x0 = from;
    if (to > *x1) *x1 = to;
}

/* Consecutive triangles of one colour are one shape: their coverage adds up before it is blended, so a polygon made of
 * triangles shows no seams. Returns how many commands were drawn. */
static int raster_tris(Raster *r, const DrawCommand *c, int count) {
    RasterTri group[RASTER_TRI_GROUP];
    int used = 0, taken = 0;
    double top = INFINITY, bottom = -INFINITY;
    for (; taken < count && used < RASTER_TRI_GROUP && c[taken].kind == DRAW_TRI && c[taken].color == c->color; taken++) {
        const float *v = c[taken].v;
        int finite = 1;
        for (int i = 0; i < 6; i++) finite &= isfinite(v[i]) != 0;
        if (!finite || !raster_tri_set(&group[used], v)) continue;
        top = fmin(top, group[used].top);
        bottom = fmax(bottom, group[used++].bottom);
    }
    if (!used) return taken;
    int y1 = raster_pixel(bottom + 0.5, r->height);
    for (int y = raster_pixel(top - 0.5, r->height); y < y1; y++) {
        int x0 = r->width, x1 = 0;
        for (int i = 0; i < used; i++) raster_tri_row(r, &group[i], y, &x0, &x1);
        raster_covered(r, y, x0, x1, c->color);
    }
    return taken;
}

#endif
