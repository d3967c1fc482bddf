/* The text of the rasteriser; see raster.h. */
#ifndef PUFFER_RASTER_TEXT_H
#define PUFFER_RASTER_TEXT_H

#include "font.h"
#include "raster_shapes.h"

#define RASTER_MAX_STROKES 160

typedef struct RasterStroke {
    int ax, ay, bx, by; /* from dot to dot, b not above a */
} RasterStroke;

static int raster_dot(const uint8_t *dots, int x, int y) {
    return x >= 0 && x < FONT_COLUMNS && y >= 0 && y < FONT_ROWS && (dots[y] >> (FONT_COLUMNS - 1 - x) & 1);
}

/* Does a stroke join dot (x, y) to its neighbour in direction (dx, dy)? A diagonal one only where it would cut no corner. */
static int raster_joined(const uint8_t *dots, int x, int y, int dx, int dy) {
    if (!raster_dot(dots, x, y) || !raster_dot(dots, x + dx, y + dy)) return 0;
    return dx == 0 || dy == 0 || (!raster_dot(dots, x + dx, y) && !raster_dot(dots, x, y + dy));
}

/* A glyph's dots as straight strokes; a dot without neighbours is a stroke of length 0. */
static int raster_strokes(const uint8_t *dots, RasterStroke strokes[RASTER_MAX_STROKES]) {
    static const int steps[4][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 1}};
    int count = 0;
    for (int y = 0; y < FONT_ROWS; y++) {
        for (int x = 0; x < FONT_COLUMNS; x++) {
            int alone = 1;
            if (!raster_dot(dots, x, y)) continue;
            for (int i = 0; i < 4; i++) {
                int dx = steps[i][0], dy = steps[i][1], length = 0;
                int before = raster_joined(dots, x - dx, y - dy, dx, dy);
                while (raster_joined(dots, x + length * dx, y + length * dy, dx, dy)) length++;
                if (before || length) alone = 0;
                if (length && !before) strokes[count++] = (RasterStroke){x, y, x + length * dx, y + length * dy};
            }
            if (alone) strokes[count++] = (RasterStroke){x, y, x, y};
        }
    }
    return count;
}

/* One glyph whose cell's corner is (left, top); `dot` pixels to a dot. Dots are joined by strokes with round ends. */
static void raster_glyph(Raster *r, const uint8_t *dots, double left, double top, double dot, uint32_t color) {
    RasterStroke strokes[RASTER_MAX_STROKES];
    int count = raster_strokes(dots, strokes), y1 = raster_pixel(top + FONT_ROWS * dot + 0.5, r->height);
    double half = dot < 0.8 ? 0.4 : dot / 2, solid = half > 0.5 ? (half - 0.5) * (half - 0.5) : -1;
    int x0 = raster_pixel(left - 0.5, r->width), x1 = raster_pixel(left + FONT_COLUMNS * dot + 0.5, r->width);
    for (int y = raster_pixel(top - 0.5, r->height); y < y1; y++) {
        for (int i = 0; i < count; i++) {
            double ax = left + (strokes[i].ax + 0.5) * dot, ay = top + (strokes[i].ay + 0.5) * dot;
            double dx = (strokes[i].bx - strokes[i].ax) * dot, dy = (strokes[i].by - strokes[i].ay) * dot, reach = half + 0.5;
            double py = y + 0.5 - ay, square = dx * dx + dy * dy;
            if (py < -reach || py > dy + reach) continue;
            int to = raster_pixel(fmax(ax, ax + dx) + reach, x1);
            for (int x = raster_pixel(fmin(ax, ax + dx) - reach, x1); x < to; x++) {
                double px = x + 0.5 - ax, along = square > 0 ? raster_unit((px * dx + py * dy) / square) : 0;
                double ex = px - along * dx, ey = py - along * dy, away = ex * ex + ey * ey;
                if (r->cover[x] == 255 || away >= reach * reach) continue;
                uint8_t cover = away <= solid ? 255 : raster_byte(reach - sqrt(away));
                if (cover > r->cover[x]) r->cover[x] = cover;
            }
        }
        raster_covered(r, y, x0, x1, color);
    }
}

/* Size s: each glyph takes 0.6 s, capital letters stand from 0.1 s to 0.8 s below y. Origins are whole pixels, so that
 * multiples of 10 are crisp. Below 2 pixels nothing is drawn. */
static void raster_text(Raster *r, const float *v, const uint8_t *text, uint32_t length, uint32_t color) {
    double left = floor(v[0] + 0.5), top = floor(v[1] + 0.5), dot = v[2] / 10.0;
    if (dot < 0.2 || top > r->height || top + v[2] < 0) return;
    for (uint32_t i = 0; i < length; i++) {
        double x = left + i * 6.0 * dot;
        if (x > r->width) return;
        if (x + 6.0 * dot < 0) continue;
        int known = text[i] >= FONT_FIRST && text[i] <= FONT_LAST;
        raster_glyph(r, known ? font_dots[text[i] - FONT_FIRST] : font_unknown, x, top + dot, dot, color);
    }
}

#endif
