/* The rasteriser: replays a Draw into uint8 rgb[height][width][3], with no display, library or allocation.
 *
 * Rectangles, outlines and tiles own the pixels whose centres they contain, so neighbours share no pixel and leave no gap.
 * Circles, lines, triangles and text are anti-aliased by coverage. Alpha is blended over what is there, rounded to nearest;
 * the picture starts black. A command with a coordinate that is not finite, or with a size that is not above 0, draws nothing,
 * and nothing is ever written outside of rgb, whatever the commands hold. Only arithmetic, sqrt, ceil and floor are used: the
 * same commands give the same bytes everywhere. */
#ifndef PUFFER_RASTER_H
#define PUFFER_RASTER_H

#include "raster_shapes.h"
#include "raster_text.h"

static int raster_valid(const DrawCommand *c) {
    for (int i = 0; i < 6; i++) {
        if (!isfinite(c->v[i])) return 0;
    }
    return c->data <= DRAW_MAX_BYTES && c->size <= DRAW_MAX_BYTES - c->data;
}

static void raster_one(Raster *r, const Draw *d, const DrawCommand *c) {
    const float *v = c->v;
    switch (c->kind) {
    case DRAW_CLEAR: raster_fill(r, 0, 0, r->width, r->height, c->color); break;
    case DRAW_RECT: raster_rect(r, v[0], v[1], (double)v[0] + v[2], (double)v[1] + v[3], c->color); break;
    case DRAW_OUTLINE: raster_outline(r, v, c->color); break;
    case DRAW_CIRCLE: raster_circle(r, v, c->color); break;
    case DRAW_LINE: raster_line(r, v, c->color); break;
    case DRAW_TEXT: raster_text(r, v, d->bytes + c->data, c->size, c->color); break;
    case DRAW_TILES: raster_tiles(r, v, d->bytes + c->data, c->size); break;
    default: break;
    }
}

static void raster_draw(const Draw *d, uint8_t *rgb) {
    if (d->width < 1 || d->width > RASTER_MAX_SIDE || d->height < 1 || d->height > RASTER_MAX_SIDE) return;
    int count = d->count < 0 ? 0 : d->count > DRAW_MAX_COMMANDS ? DRAW_MAX_COMMANDS : d->count;
    Raster r = {.rgb = rgb, .width = d->width, .height = d->height};
    const DrawCommand *first = &d->commands[0];
    int cleared = count > 0 && first->kind == DRAW_CLEAR && (first->color & 255u) == 255u && raster_valid(first);
    if (!cleared) memset(rgb, 0, (size_t)r.width * (size_t)r.height * 3);
    for (int i = 0; i < count;) {
        if (d->commands[i].kind == DRAW_TRI) {
            i += raster_tris(&r, &d->commands[i], count - i);
            continue;
        }
        if (raster_valid(&d->commands[i])) raster_one(&r, d, &d->commands[i]);
        i++;
    }
}

#endif
