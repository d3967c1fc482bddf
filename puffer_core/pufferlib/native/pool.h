/* A pool of threads with fixed shares of the work.
 *
 * The work is cut into `shares`, each with its own thread, so that a share's memory stays in one core's cache. Equal runs
 * of neighbouring shares form a group: groups are posted and waited for. A thread without work spins for a while, then
 * parks on a condition variable; while its last wait was short it spins longer, since waking a parked thread costs more than
 * a short wait. A caller that waits spins and parks too, but it first takes shares that no thread has started yet: on a
 * machine with as many cores as shares a synchronous step then keeps every core busy with work and none with waiting.
 *
 * One thread at a time may call the pool. Nothing is allocated after pool_open. Threads do not survive a fork: a child
 * process must not touch its parent's pool (the binding compares process ids). */
#ifndef PUFFER_POOL_H
#define PUFFER_POOL_H

#include <stdlib.h>

#include "threads_port.h"

#define POOL_SPIN_NS 20000
#define POOL_BUSY_SPIN_NS 150000 /* of a thread whose last wait was shorter than this: steps follow one another */
#define POOL_SPIN_CHECK 64 /* pauses between looks at the clock */

typedef void (*PoolWork)(void *context, int share);

enum { SHARE_IDLE, SHARE_POSTED, SHARE_RUNNING };
enum { GROUP_IDLE, GROUP_BUSY, GROUP_DONE };

struct Pool;

typedef struct PoolShare {
    PortAtomic state, parked;
    struct Pool *pool;
    int index, started;
    PortThread thread;
    PortMutex mutex;
    PortCond wake;
    char apart[128]; /* no two shares' states in one cache line */
} PoolShare;

typedef struct PoolGroup {
    PortAtomic state, remaining;
    int wait_follows;     /* when the group was last posted, the caller waited for it at once */
    int64_t posted_ns;
    uint64_t posted_as;   /* place in the order of posting; written and read by the poster, who is the waiter */
    uint64_t finished_as; /* place in the order of finishing; read when state is GROUP_DONE */
    char apart[128];
} PoolGroup;

typedef struct Pool {
    int shares, groups, shares_per_group;
    int64_t spin_ns, busy_spin_ns;
    PoolWork work;
    void *context;
    PoolShare *share;
    PoolGroup *group;
    int unwoken; /* a posted share whose thread was left asleep, or -1; the caller's own */
    PortAtomic stop;
    PortAtomic finished; /* counts finished groups, wraps around: a waiter watches it change */
    uint64_t posted_total, finished_total;
    PortMutex mutex; /* guards finished_total and the sleep of the waiter */
    PortCond done;
} Pool;

static inline void pool_run(Pool *p, int share) {
    PoolShare *s = &p->share[share];
    PoolGroup *g = &p->group[share / p->shares_per_group];
    p->work(p->context, share);
    port_store(&s->state, SHARE_IDLE);
    if (port_add(&g->remaining, -1) > 1) return;
    port_lock(&p->mutex);
    g->finished_as = p->finished_total++;
    port_store(&g->state, GROUP_DONE);
    port_add(&p->finished, 1);
    port_cond_wake(&p->done);
    port_unlock(&p->mutex);
}

static inline int pool_claim(Pool *p, int share) { return port_swap_if(&p->share[share].state, SHARE_POSTED, SHARE_RUNNING); }

/* Run one share of `group` that no thread has started. True if there was one. */
static inline int pool_help_group(Pool *p, int group) {
    int first = group * p->shares_per_group, end = first + p->shares_per_group;
    for (int share = first; share < end; share++) {
        if (pool_claim(p, share)) {
            pool_run(p, share);
            return 1;
        }
    }
    return 0;
}

/* Spin while *a equals `value`, for at most `limit_ns`. True when it changed. */
static inline int pool_spin(PortAtomic *a, int value, PortAtomic *stop, int64_t limit_ns) {
    int64_t until = port_now_ns() + limit_ns;
    do {
        for (int i = 0; i < POOL_SPIN_CHECK; i++) {
            if (port_load(a) != value) return 1;
            if (stop && port_load(stop)) return 1;
            port_pause();
        }
    } while (port_now_ns() < until);
    return 0;
}

PORT_ENTRY(pool_thread, arg) {
    PoolShare *s = (PoolShare *)arg;
    Pool *p = s->pool;
    int64_t idle_since = port_now_ns(), spin_ns = p->spin_ns;
    while (!port_load(&p->stop)) {
        if (pool_claim(p, s->index)) {
            spin_ns = port_now_ns() - idle_since < p->busy_spin_ns ? p->busy_spin_ns : p->spin_ns;
            pool_run(p, s->index);
            idle_since = port_now_ns();
            continue;
        }
        if (pool_spin(&s->state, SHARE_IDLE, &p->stop, spin_ns) && port_load(&s->state) == SHARE_POSTED) continue;
        if (pool_help_group(p, s->index / p->shares_per_group)) continue;
        port_lock(&s->mutex);
        port_store(&s->parked, 1); /* before the look at the state: a poster stores the state, then looks here */
        while (port_load(&s->state) != SHARE_POSTED && !port_load(&p->stop)) port_cond_wait(&s->wake, &s->mutex);
        port_store(&s->parked, 0);
        port_unlock(&s->mutex);
    }
    PORT_ENTRY_END;
}

static inline void pool_wake(PoolShare *s) {
    if (!port_load(&s->parked)) return;
    port_lock(&s->mutex);
    port_cond_wake(&s->wake);
    port_unlock(&s->mutex);
}

static inline void pool_post_share(Pool *p, int share) {
    port_store(&p->share[share].state, SHARE_POSTED);
    pool_wake(&p->share[share]);
}

static inline void pool_begin_group(Pool *p, int group) {
    port_store(&p->group[group].remaining, p->shares_per_group);
    port_store(&p->group[group].state, GROUP_BUSY);
}

static inline void pool_wake_unwoken(Pool *p) {
    if (p->unwoken >= 0) pool_wake(&p->share[p->unwoken]);
    p->unwoken = -1;
}

/* Hand a group that is idle to its threads. */
static inline void pool_post(Pool *p, int group) {
    PoolGroup *g = &p->group[group];
    int first = group * p->shares_per_group;
    pool_wake_unwoken(p);
    g->posted_as = p->posted_total++;
    g->posted_ns = port_now_ns();
    pool_begin_group(p, group);
    for (int i = p->shares_per_group - 1; i > 0; i--) pool_post_share(p, first + i);
    port_store(&p->share[first].state, SHARE_POSTED);
    if (g->wait_follows) p->unwoken = first;
    else pool_wake(&p->share[first]);
}

static inline int pool_has_posted(Pool *p, int group) {
    int first = group * p->shares_per_group, end = first + p->shares_per_group;
    for (int share = first; share < end; share++)
        if (port_load(&p->share[share].state) == SHARE_POSTED) return 1;
    return 0;
}

/* pool_help_group for the caller of the pool: the share that sleeps is either the one taken, or must not wait for it. */
static inline int pool_take_over(Pool *p, int group) {
    int first = group * p->shares_per_group;
    if (p->unwoken < first || p->unwoken >= first + p->shares_per_group) pool_wake_unwoken(p);
    if (!pool_help_group(p, group)) return 0;
    p->unwoken = -1;
    return 1;
}

/* The same for any group (-1), the one posted first before the others: else a caller that posts one group again and again
 * would do that one's work for ever, and the others starve while the threads get no core. */
static inline int pool_help(Pool *p, int group) {
    if (group >= 0) return pool_take_over(p, group);
    for (;;) {
        int oldest = -1;
        for (int i = 0; i < p->groups; i++) {
            if (!pool_has_posted(p, i)) continue;
            if (oldest < 0 || p->group[i].posted_as < p->group[oldest].posted_as) oldest = i;
        }
        if (oldest < 0) return 0;
        if (pool_take_over(p, oldest)) return 1; /* else its thread was quicker: look again */
    }
}

/* The finished group that finished first, or `group` itself if it has finished (-1: none); it becomes idle. */
static inline int pool_take(Pool *p, int group) {
    int best = -1;
    if (group >= 0) {
        if (port_load(&p->group[group].state) == GROUP_DONE) best = group;
    } else {
        for (int i = 0; i < p->groups; i++) {
            if (port_load(&p->group[i].state) != GROUP_DONE) continue;
            if (best < 0 || p->group[i].finished_as < p->group[best].finished_as) best = i;
        }
    }
    if (best >= 0) port_store(&p->group[best].state, GROUP_IDLE);
    return best;
}

/* Help, spin or sleep until a group finishes that had not when `seen` was read, at most timeout_ns. */
static inline void pool_await_finish(Pool *p, int group, int seen, int64_t timeout_ns) {
    if (pool_help(p, group) || pool_spin(&p->finished, seen, NULL, p->spin_ns)) return;
    port_lock(&p->mutex);
    if (port_load(&p->finished) == seen) port_cond_wait_ns(&p->done, &p->mutex, timeout_ns);
    port_unlock(&p->mutex);
}

/* Wait for `group`, or for the first that finishes (-1). Returns it, or -1 when timeout_ns passed. */
static inline int pool_wait(Pool *p, int group, int64_t timeout_ns) {
    int64_t called = port_now_ns();
    int taken;
    for (;;) {
        int seen = port_load(&p->finished);
        taken = pool_take(p, group);
        int64_t left = called + timeout_ns - port_now_ns();
        if (taken >= 0 || left <= 0) break;
        pool_await_finish(p, group, seen, left);
    }
    if (taken >= 0) {
        PoolGroup *g = &p->group[taken];
        g->wait_follows = called - g->posted_ns < p->spin_ns;
        if (p->unwoken == taken * p->shares_per_group) p->unwoken = -1;
    }
    pool_wake_unwoken(p); /* another group's: the caller goes away now */
    return taken;
}

static inline int pool_busy(Pool *p) {
    for (int i = 0; i < p->groups; i++)
        if (port_load(&p->group[i].state) == GROUP_BUSY) return 1;
    return 0;
}

/* Return when no group is being worked on. Finished groups stay finished. */
static inline void pool_quiesce(Pool *p) {
    for (;;) {
        int seen = port_load(&p->finished);
        if (!pool_busy(p)) return;
        pool_await_finish(p, -1, seen, 1000000000);
    }
}

/* Run every group once and wait: the caller does the first share itself. All groups must be idle, and are afterwards. */
static inline void pool_run_all(Pool *p) {
    for (int i = 0; i < p->groups; i++) pool_begin_group(p, i);
    port_store(&p->share[0].state, SHARE_RUNNING);
    for (int i = 1; i < p->shares; i++) pool_post_share(p, i);
    pool_run(p, 0);
    pool_quiesce(p);
    for (int i = 0; i < p->groups; i++) port_store(&p->group[i].state, GROUP_IDLE);
}

/* Finish what is posted, stop the threads, free everything. */
static inline void pool_close(Pool *p) {
    if (!p) return;
    pool_quiesce(p);
    port_store(&p->stop, 1);
    for (int i = 0; i < p->shares; i++) {
        PoolShare *s = &p->share[i];
        if (s->started) {
            pool_wake(s);
            port_thread_join(s->thread);
        }
        port_mutex_free(&s->mutex);
        port_cond_free(&s->wake);
    }
    port_mutex_free(&p->mutex);
    port_cond_free(&p->done);
    free(p->share);
    free(p->group);
    free(p);
}

/* `groups` divides `shares`. A thread without work spins for spin_ns, or for busy_spin_ns while its waits are that short.
 * NULL when memory or threads cannot be had. */
static inline Pool *pool_open(int shares, int groups, int64_t spin_ns, int64_t busy_spin_ns, PoolWork work, void *context) {
    Pool *p = (Pool *)calloc(1, sizeof *p);
    if (!p) return NULL;
    p->share = (PoolShare *)calloc((size_t)shares, sizeof *p->share);
    p->group = (PoolGroup *)calloc((size_t)groups, sizeof *p->group);
    if (!p->share || !p->group) {
        free(p->share);
        free(p->group);
        free(p);
        return NULL;
    }
    p->unwoken = -1;
    p->spin_ns = spin_ns;
    p->busy_spin_ns = busy_spin_ns;
    p->shares = shares;
    p->groups = groups;
    p->shares_per_group = shares / groups;
    p->work = work;
    p->context = context;
    port_mutex_init(&p->mutex);
    port_cond_init(&p->done);
    for (int i = 0; i < shares; i++) {
        p->share[i].pool = p;
        p->share[i].index = i;
        port_mutex_init(&p->share[i].mutex);
        port_cond_init(&p->share[i].wake);
    }
    for (int i = 0; i < shares; i++) {
        if (port_thread_start(&p->share[i].thread, pool_thread, &p->share[i]) != 0) {
            pool_close(p);
            return NULL;
        }
        p->share[i].started = 1;
    }
    return p;
}

#endif
