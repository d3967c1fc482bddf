/* Steps the dummy game through worlds.h by the pool, over several slots and groups, for a run under a sanitizer. */
#include <stdio.h>

#include "dummy.h"
#include "pool.h"
#include "worlds.h"

enum { WORLDS = 12, ROWS = 3, SLOTS = 4, SHARES = 6, TURNS = 600 };

static void *zeros(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) abort();
    return memory;
}

static void run(int groups) {
    Worlds w = {0};
    if (worlds_open(&w, &dummy_game, WORLDS) != WORLDS_OK) abort();
    for (const PufferField *f = dummy_game.fields; f->name; f++) {
        double value = !strcmp(f->name, "rows") ? ROWS : !strcmp(f->name, "max_steps") ? 7 : !strcmp(f->name, "with_mask");
        if (worlds_set_argument(&w, f, value) == (f->kind >= PUFFER_KIND_SHARED)) abort();
    }
    worlds_measure(&w);
    size_t rows = (size_t)SLOTS * WORLDS * ROWS;
    PufferIO base = {.obs = zeros(rows, w.shape.obs_bytes), .final_obs = zeros(rows, w.shape.obs_bytes),
                     .act = zeros(rows, w.shape.act_bytes), .rew = zeros(rows, sizeof(float)), .term = zeros(rows, 1),
                     .trunc = zeros(rows, 1), .mask = zeros(rows, 1), .act_mask = zeros(rows, w.shape.act_mask_bytes)};
    if (worlds_build(&w, &base) != WORLDS_OK || worlds_partition(&w, SHARES, groups) != WORLDS_OK) abort();
    Pool *p = pool_open(SHARES, groups, w.parts, POOL_SPIN_NS, POOL_BUSY_SPIN_NS, worlds_run_part, &w);
    if (!p) abort();
    for (int g = 0; g < groups; g++) {
        w.jobs[g] = (WorldsJob){.reset = 1, .seeded = 1, .io = worlds_io_at(&w, &base, 0, 0)};
        pool_post(p, g);
    }
    int steps[SHARES] = {0}, slot[SHARES] = {0};
    for (int turn = 0; turn < TURNS; turn++) {
        int g = pool_wait(p, -1, 10000000000);
        if (g < 0) abort();
        int64_t first = (int64_t)slot[g] * WORLDS * ROWS + (int64_t)g * (WORLDS / groups) * ROWS;
        const float *obs = (const float *)base.obs + first * DUMMY_VALUES;
        for (int row = 0; row < WORLDS / groups * ROWS; row++)
            if (obs[row * DUMMY_VALUES] != (float)steps[g]) abort();
        steps[g]++;
        int next = (slot[g] + 1) % SLOTS;
        w.jobs[g] = (WorldsJob){.io = worlds_io_at(&w, &base, next, slot[g])};
        slot[g] = next;
        pool_post(p, g);
    }
    pool_close(p);
    double sums[8] = {0};
    worlds_drain_log(&w, sums);
    if (sums[6] != 0 || sums[7] != (double)TURNS * (WORLDS / groups)) abort(); /* overlaps, steps */
    worlds_close(&w);
    void *arrays[] = {base.obs, base.final_obs, (void *)base.act, base.rew, base.term, base.trunc, base.mask, base.act_mask};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
}

int main(void) {
    for (int groups = 1; groups <= SHARES; groups++)
        if (SHARES % groups == 0) run(groups);
    printf("ok\n");
    return 0;
}
