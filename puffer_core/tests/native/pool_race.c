/* Drives the pool in every way that the binding does, for a run under a sanitizer. Prints the number of shares run. */
#include <stdio.h>

#include "pool.h"

#define SHARES 6

static struct {
    int runs[SHARES], inside[SHARES]; /* plain ints: an unordered access from two threads is a race that is reported */
} world;

static void work(void *context, int share) {
    (void)context;
    if (world.inside[share]++) abort();
    world.runs[share]++;
    for (volatile int i = 0; i < share * 50; i++) { }
    world.inside[share]--;
}

static long drive(int groups, int posts) {
    Pool *p = pool_open(SHARES, groups, POOL_SPIN_NS, POOL_BUSY_SPIN_NS, work, NULL);
    if (!p) abort();
    for (int g = 0; g < groups; g++) pool_post(p, g);
    for (int i = 0; i < posts; i++) {
        int g = pool_wait(p, i % 3 ? -1 : i % groups, 1000000000);
        if (g < 0) abort();
        for (int s = 0; s < SHARES / groups; s++)
            if (world.inside[g * (SHARES / groups) + s]) abort(); /* a finished group is the caller's to look at */
        if (i % 97 == 0) pool_quiesce(p);
        if (i % 50 == 0) { /* long enough for threads to park, and for the pool to guess wrong */
            for (int64_t until = port_now_ns() + 200000; port_now_ns() < until;) port_pause();
        }
        pool_post(p, g);
    }
    for (int g = 0; g < groups; g++)
        if (pool_wait(p, g, 1000000000) != g) abort();
    for (int i = 0; i < posts; i++) pool_run_all(p);
    for (int g = 0; g < groups; g++) pool_post(p, g);
    pool_close(p); /* busy */
    long sum = 0;
    for (int s = 0; s < SHARES; s++) sum += world.runs[s];
    return sum;
}

int main(void) {
    long want = 0, got = 0;
    for (int groups = 1; groups <= SHARES; groups++) {
        if (SHARES % groups) continue;
        int posts = 400;
        got = drive(groups, posts);
        want += SHARES + (long)posts * (SHARES / groups) + (long)posts * SHARES + SHARES;
    }
    printf("%ld %ld\n", got, want);
    return got == want ? 0 : 1;
}
