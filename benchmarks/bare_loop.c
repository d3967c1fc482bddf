/* The bare C loop: one game's worlds stepped in place, with nothing of Python near. The floor that ocean.py and vector.py
 * quote their distance from.
 *
 *     cc -O2 -ffp-contract=off -DHEADER='"breakout.h"' -DGAME=breakout_game ... bare_loop.c -lm
 *     ./a.out WORLDS SECONDS ACTION_SIZES(3 or 9,5 or box) [field=value ...]
 *
 * prints agent-steps per second, the best of three windows, the bytes of one world, and the allocations while it stepped. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long mallocs; /* by the game's own code */
#define malloc(bytes) (mallocs++, malloc(bytes))
#define calloc(n, bytes) (mallocs++, calloc(n, bytes))
#define realloc(old, bytes) (mallocs++, realloc(old, bytes))
#include HEADER
#undef malloc
#undef calloc
#undef realloc

#define ACTION_SETS 16 /* random action batches, made before the clock starts */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *zeroed(size_t bytes) {
    void *block = aligned_alloc(64, puffer_round64(bytes ? bytes : 1));
    if (!block) exit(2);
    memset(block, 0, puffer_round64(bytes ? bytes : 1));
    return block;
}

static void set_field(void *args, const char *assignment, void *shared) {
    const char *equals = strchr(assignment, '=');
    for (const PufferField *f = GAME.fields; f->name; f++) {
        char *at = (char *)args + f->offset;
        if (f->kind == PUFFER_KIND_SHARED) memcpy(at, &shared, sizeof shared);
        if (!equals || strncmp(f->name, assignment, (size_t)(equals - assignment)) || f->name[equals - assignment]) continue;
        double value = atof(equals + 1);
        if (f->kind == PUFFER_KIND_INT) *(int32_t *)(void *)at = (int32_t)value;
        if (f->kind == PUFFER_KIND_FLOAT) *(float *)(void *)at = (float)value;
        if (f->kind == PUFFER_KIND_DOUBLE) *(double *)(void *)at = value;
    }
}

/* sizes: "3", "9,5" or "box" */
static void random_actions(char *sets, size_t values, const char *sizes) {
    int n[64] = {0}, count = 0;
    PufferRng rng;
    puffer_seed(&rng, 1);
    for (const char *s = sizes; *s && count < 64; s += strcspn(s, ","), s += *s == ',') n[count++] = atoi(s);
    for (size_t i = 0; i < values; i++) {
        if (!strcmp(sizes, "box")) ((float *)(void *)sets)[i] = puffer_range(&rng, -1.0f, 1.0f);
        else ((int32_t *)(void *)sets)[i] = (int32_t)puffer_below(&rng, (uint32_t)n[i % (size_t)count]);
    }
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int64_t worlds = atoll(argv[1]);
    double seconds = atof(argv[2]);
    void *args = zeroed(GAME.args_bytes);
    for (int i = 4; i < argc; i++) set_field(args, argv[i], NULL);
    void *shared = zeroed(GAME.shared_bytes ? GAME.shared_bytes(args) : 0);
    if (GAME.shared_init) GAME.shared_init(shared, args);
    set_field(args, "", shared);

    PufferShape s = GAME.shape(args);
    size_t rows = (size_t)(worlds * s.rows), stride = GAME.world_bytes + GAME.arena_bytes(args);
    char *acts = zeroed(rows * s.act_bytes), *sets = zeroed(ACTION_SETS * rows * s.act_bytes);
    PufferIO io = {zeroed(rows * s.obs_bytes), zeroed(rows * s.obs_bytes), acts, zeroed(rows * sizeof(float)),
                   zeroed(rows), zeroed(rows), zeroed(rows), s.act_mask_bytes ? zeroed(rows * s.act_mask_bytes) : NULL};
    char *block = zeroed((size_t)worlds * stride);
    uint64_t *seeds = zeroed((size_t)worlds * sizeof *seeds);
    random_actions(sets, ACTION_SETS * rows * s.act_bytes / 4, argv[3]);
    for (int64_t i = 0; i < worlds; i++) {
        seeds[i] = (uint64_t)i + 1;
        char *world = block + (size_t)i * stride;
        int failed = GAME.init(world, args, world + GAME.world_bytes, puffer_io_at(&io, s, i));
        if (failed) return fprintf(stderr, "%s\n", GAME.errors[failed]), 2;
    }
    GAME.reset_range(block, stride, 0, worlds, &io, s, seeds);

    mallocs = 0;
    double best = 0;
    for (int window = 0; window < 3; window++) {
        int64_t steps = 0;
        double start = now(), elapsed = 0;
        for (; elapsed < seconds; elapsed = now() - start)
            for (int k = 0; k < ACTION_SETS; k++, steps++) {
                memcpy(acts, sets + (size_t)k * rows * s.act_bytes, rows * s.act_bytes);
                GAME.step_range(block, stride, 0, worlds, NULL, s);
            }
        double rate = (double)steps * (double)rows / elapsed;
        best = rate > best ? rate : best;
    }
    printf("%.0f %zu %ld\n", best, stride, mallocs);
    return 0;
}
