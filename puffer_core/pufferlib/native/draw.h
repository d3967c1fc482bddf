/* One description of a frame: a list of small commands that a window, an RGB rasteriser and a browser canvas replay.
 *
 * A game's draw function fills a Draw and changes nothing else. Coordinates are pixels of the canvas (x right, y down; the
 * first pixel's centre is (0.5, 0.5)), colours 0xRRGGBBAA, later commands lie above earlier ones, the canvas starts black.
 * Consecutive triangles of one colour are one shape, so a polygon made of them shows no seams. A coordinate that is not
 * finite, or a width, height, radius or size that is not above 0, draws nothing.
 * The arrays are fixed: when one is full, further commands are dropped and `overflow` is set. */
#ifndef PUFFER_DRAW_H
#define PUFFER_DRAW_H

#include <stdint.h>
#include <string.h>

#define DRAW_MAX_COMMANDS 16384
#define DRAW_MAX_BYTES (1 << 20) /* texts, tile codes and palettes */

/* A palette that looks well together; games are free to use others. */
#define DRAW_BACKGROUND 0x12161CFFu
#define DRAW_FLOOR 0x1E252EFFu
#define DRAW_EDGE 0x3B4754FFu
#define DRAW_INK 0xE6EDF3FFu
#define DRAW_DIM 0x8B98A5FFu
#define DRAW_TEAL 0x2BC4B6FFu
#define DRAW_AMBER 0xF2B84BFFu
#define DRAW_CORAL 0xF0645CFFu
#define DRAW_GREEN 0x6CC56FFFu
#define DRAW_BLUE 0x5B9DF5FFu
#define DRAW_VIOLET 0xA78BFAFFu

typedef enum DrawKind {
    DRAW_CLEAR,   /* color */
    DRAW_RECT,    /* v = x, y, w, h */
    DRAW_OUTLINE, /* v = x, y, w, h, line width; the line lies inside of the rectangle */
    DRAW_CIRCLE,  /* v = x, y, radius */
    DRAW_LINE,    /* v = x0, y0, x1, y1, line width; square ends */
    DRAW_TRI,     /* v = x0, y0, x1, y1, x2, y2 */
    DRAW_TEXT,    /* v = x, y (top left), size in pixels; bytes[data, data + size) is ASCII, no terminator */
    DRAW_TILES    /* v = x, y, cell, columns, rows; bytes[data, ...) holds 256 little-endian uint32 colours, then the codes */
} DrawKind;

typedef struct DrawCommand {
    uint32_t kind, color;
    float v[6];
    uint32_t data, size;
} DrawCommand; /* 40 bytes */

typedef struct Draw {
    int32_t width, height;   /* canvas, default 640 x 480 */
    int32_t count, used;     /* commands; bytes */
    int32_t overflow;
    DrawCommand commands[DRAW_MAX_COMMANDS];
    uint8_t bytes[DRAW_MAX_BYTES];
} Draw;

static inline void draw_begin(Draw *d) {
    d->width = 640;
    d->height = 480;
    d->count = d->used = d->overflow = 0;
}

/* Ask for another canvas than 640 x 480. Call it first. */
static inline void draw_canvas(Draw *d, int width, int height) {
    d->width = width;
    d->height = height;
}

static inline DrawCommand *draw_push(Draw *d, DrawKind kind, uint32_t color, uint32_t bytes) {
    if (d->count == DRAW_MAX_COMMANDS || bytes > (uint32_t)(DRAW_MAX_BYTES - d->used)) {
        d->overflow = 1;
        return NULL;
    }
    DrawCommand *c = &d->commands[d->count++];
    memset(c, 0, sizeof *c);
    c->kind = (uint32_t)kind;
    c->color = color;
    c->data = (uint32_t)d->used;
    c->size = bytes;
    d->used += (int32_t)bytes;
    return c;
}

static inline void draw_shape(Draw *d, DrawKind kind, uint32_t color, float a, float b, float c, float e, float f, float g) {
    DrawCommand *command = draw_push(d, kind, color, 0);
    if (!command) return;
    command->v[0] = a;
    command->v[1] = b;
    command->v[2] = c;
    command->v[3] = e;
    command->v[4] = f;
    command->v[5] = g;
}

static inline void draw_clear(Draw *d, uint32_t color) { draw_shape(d, DRAW_CLEAR, color, 0, 0, 0, 0, 0, 0); }

static inline void draw_rect(Draw *d, float x, float y, float w, float h, uint32_t color) {
    draw_shape(d, DRAW_RECT, color, x, y, w, h, 0, 0);
}

static inline void draw_outline(Draw *d, float x, float y, float w, float h, float width, uint32_t color) {
    draw_shape(d, DRAW_OUTLINE, color, x, y, w, h, width, 0);
}

static inline void draw_circle(Draw *d, float x, float y, float radius, uint32_t color) {
    draw_shape(d, DRAW_CIRCLE, color, x, y, radius, 0, 0, 0);
}

static inline void draw_line(Draw *d, float x0, float y0, float x1, float y1, float width, uint32_t color) {
    draw_shape(d, DRAW_LINE, color, x0, y0, x1, y1, width, 0);
}

static inline void draw_tri(Draw *d, float x0, float y0, float x1, float y1, float x2, float y2, uint32_t color) {
    draw_shape(d, DRAW_TRI, color, x0, y0, x1, y1, x2, y2);
}

/* The font has one width: 0.6 sizes a character. Capitals reach from 0.1 to 0.8 sizes below y, descenders to 1.0; a multiple
 * of 10 is crispest. Bytes outside printable ASCII show as a box. */
static inline float draw_text_width(float size, const char *text) { return 0.6f * size * (float)strlen(text); }

static inline void draw_text(Draw *d, float x, float y, float size, uint32_t color, const char *text) {
    size_t length = strlen(text);
    DrawCommand *c = draw_push(d, DRAW_TEXT, color, length > DRAW_MAX_BYTES ? UINT32_MAX : (uint32_t)length);
    if (!c) return;
    c->v[0] = x;
    c->v[1] = y;
    c->v[2] = size;
    memcpy(d->bytes + c->data, text, c->size);
}

/* `label` followed by a number, for score lines: games do without the C library's printf. */
static inline void draw_number(Draw *d, float x, float y, float size, uint32_t color, const char *label, int64_t value) {
    char text[96];
    size_t n = strlen(label) < 64 ? strlen(label) : 64;
    memcpy(text, label, n);
    char digits[20];
    int k = 0;
    uint64_t rest = value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
    do digits[k++] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0) text[n++] = '-';
    while (k > 0) text[n++] = digits[--k];
    text[n] = '\0';
    draw_text(d, x, y, size, color, text);
}

/* A grid of w x h cells of `cell` pixels; codes is row-major, palette has 256 colours (alpha 0: not drawn). */
static inline void draw_tiles(Draw *d, float x, float y, float cell, int w, int h, const uint8_t *codes,
                              const uint32_t palette[256]) {
    if (w < 1 || h < 1) return;
    uint64_t cells = (uint64_t)w * (uint64_t)h;
    DrawCommand *c = draw_push(d, DRAW_TILES, 0, cells > DRAW_MAX_BYTES ? UINT32_MAX : 1024u + (uint32_t)cells);
    if (!c) return;
    c->v[0] = x;
    c->v[1] = y;
    c->v[2] = cell;
    c->v[3] = (float)w;
    c->v[4] = (float)h;
    memcpy(d->bytes + c->data, palette, 1024);
    memcpy(d->bytes + c->data + 1024, codes, (size_t)cells);
}

#endif
