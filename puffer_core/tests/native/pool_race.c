/* Drives the pool in every way that the binding does, for a run under a sanitizer. Prints the number of parts run. */
#include <stdio.h>

#include "pool.h"

enum { SHARES = 6, PARTS = 5, ALL = SHARES * PARTS, HELD = 1 + POOL_FAR_BEHIND - 1 };

static struct {
    int runs[ALL], inside[ALL]; /* plain ints: an unordered access from two threads is a race that is reported */
} world;

static void work(void *context, int part) {
    (void)context;
    if (world.inside[part]++) abort();
    world.runs[part]++;
    for (volatile int i = 0; i < part / PARTS * 10; i++) { }
    world.inside[part]--;
}

static long drive(int groups, int posts) {
    const int each = ALL / groups;
    Pool *p = pool_open(SHARES, groups, PARTS, POOL_SPIN_NS, POOL_BUSY_SPIN_NS, work, NULL);
    if (!p) abort();
    for (int g = 0; g < groups; g++) pool_post(p, g);
    for (int i = 0; i < posts; i++) {
        int g = pool_wait(p, i % 3 ? -1 : i % groups, 1000000000);
        if (g < 0) abort();
        for (int k = g * each; k < (g + 1) * each; k++)
            if (world.inside[k]) abort(); /* a finished group is the caller's to look at */
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
    for (int k = 0; k < ALL; k++) {
        sum += world.runs[k];
        world.runs[k] = 0;
    }
    return sum;
}

/* The first part of the last share does not end before others have done all that they may take: it hangs if they take less. */
static PortAtomic others;

static void work_held_up(void *context, int part) {
    const int *shares = (const int *)context;
    if (part != (*shares - 1) * PARTS) port_add(&others, 1);
    else while (port_load(&others) < *shares * PARTS - HELD) port_pause();
}

static void drive_held_up(int shares) {
    Pool *p = pool_open(shares, 1, PARTS, POOL_SPIN_NS, POOL_BUSY_SPIN_NS, work_held_up, &shares);
    if (!p) abort();
    for (int i = 0; i < 50; i++) {
        port_store(&others, 0);
        if (i % 2) pool_run_all(p);
        else {
            pool_post(p, 0);
            if (pool_wait(p, 0, 30000000000) != 0) abort();
        }
        if (port_load(&others) != shares * PARTS - 1) abort();
    }
    pool_close(p);
}

int main(void) {
    long want = 0, got = 0;
    for (int groups = 1; groups <= SHARES; groups++) {
        if (SHARES % groups) continue;
        int posts = 400;
        got += drive(groups, posts);
        want += ALL + (long)posts * (ALL / groups) + (long)posts * ALL + ALL;
    }
    drive_held_up(2);
    drive_held_up(3);
    printf("%ld %ld\n", got, want);
    return got == want ? 0 : 1;
}
