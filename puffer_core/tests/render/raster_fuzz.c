/* Random command lists, with extreme coordinates and wild sizes, into buffers of exactly the canvas's size: the address and
 * undefined-behaviour sanitizers must stay silent. Usage: raster_fuzz <lists> <seed> */
#include <stdio.h>
#include <stdlib.h>

#include "puffer_env.h"
#include "raster.h"

static float number(PufferRng *rng) {
    static const float extreme[] = {0.0f, 0.5f, -1.0f, 3.4e38f, -3.4e38f, 1e-45f, 1e9f, -1e9f, 2147483648.0f, NAN, INFINITY, -INFINITY};
    if (puffer_below(rng, 4) == 0) return extreme[puffer_below(rng, sizeof extreme / sizeof *extreme)];
    return puffer_range(rng, -40, 120);
}

static void random_list(PufferRng *rng, Draw *d) {
    static uint8_t codes[4096];
    static uint32_t palette[256];
    char text[64];
    draw_begin(d);
    draw_canvas(d, 1 + (int)puffer_below(rng, 90), 1 + (int)puffer_below(rng, 90));
    for (int i = 0; i < 256; i++) palette[i] = puffer_u32(rng);
    for (uint32_t i = 0; i < sizeof codes; i++) codes[i] = (uint8_t)puffer_u32(rng);
    for (uint32_t i = puffer_below(rng, 20); i > 0; i--) {
        int length = (int)puffer_below(rng, sizeof text - 1);
        for (int k = 0; k < length; k++) text[k] = (char)(1 + puffer_below(rng, 255));
        text[length] = 0;
        draw_text(d, number(rng), number(rng), number(rng), puffer_u32(rng), text);
        draw_tiles(d, number(rng), number(rng), number(rng), (int)puffer_below(rng, 64) - 1, (int)puffer_below(rng, 64) - 1, codes, palette);
        draw_shape(d, (DrawKind)puffer_below(rng, 9), puffer_u32(rng), number(rng), number(rng), number(rng), number(rng), number(rng), number(rng));
        if (puffer_below(rng, 8) == 0) { /* as if memory had been overwritten */
            DrawCommand *c = &d->commands[puffer_below(rng, (uint32_t)d->count)];
            c->kind = puffer_below(rng, 12);
            c->data = puffer_u32(rng) >> puffer_below(rng, 32);
            c->size = puffer_u32(rng) >> puffer_below(rng, 32);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    PufferRng rng;
    puffer_seed(&rng, strtoull(argv[2], NULL, 10));
    Draw *d = calloc(1, sizeof *d);
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
        random_list(&rng, d);
        size_t bytes = (size_t)d->width * (size_t)d->height * 3;
        uint8_t *first = malloc(bytes), *second = malloc(bytes);
        raster_draw(d, first);
        raster_draw(d, second);
        if (memcmp(first, second, bytes) != 0) return 1;
        free(first);
        free(second);
    }
    free(d);
    puts("clean");
    return 0;
}
