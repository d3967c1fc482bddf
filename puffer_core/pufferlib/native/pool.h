/* A pool of threads, each with a share of the work that is its own unless it comes late.
 *
 * The work is cut into `shares`, each with its own thread, so that a share's memory stays in one core's cache. Equal runs
 * of neighbouring shares form a group: groups are posted and waited for. A share is some parts: its thread takes them from
 * the first on, and a thread that has none left takes the last ones of shares of its group that are far behind, and goes on
 * taking those from then on. So cores of unequal speed, or threads that start late, keep each other busy, and a part seldom
 * changes caches. A thread without work spins for a while, then parks on a condition variable; while its last wait was short it
 * spins longer, since waking a parked thread costs more than a short wait. A caller that waits spins and parks too, but it
 * first does the share of a thread that was left asleep for it, or that no thread has started yet: on a machine with as many
 * cores as shares a synchronous step then keeps every core busy with work and none with waiting.
 *
 * One thread at a time may call the pool. Nothing is allocated after pool_open. Threads do not survive a fork: a child
 * process must not touch its parent's pool (the binding compares process ids). */
#ifndef PUFFER_POOL_H
#define PUFFER_POOL_H

#include <stdlib.h>

#include "threads_port.h"

#define POOL_SPIN_NS 20000
#define POOL_BUSY_SPIN_NS 150000 /* of a thread whose last wait was shorter than this: steps follow one another */
#define POOL_SPIN_CHECK 64       /* pauses between looks at the clock */
#define POOL_FAR_BEHIND 3        /* parts that a share has left: fewer are its thread's, in whose cache they are */

typedef void (*PoolWork)(void *context, int part); /* part: share * parts of a share + place in it */

enum { GROUP_IDLE, GROUP_BUSY, GROUP_DONE };

struct Pool;

typedef struct PoolShare {
    PortAtomic left; /* a PoolLeft, packed */
    PortAtomic called, parked;
    struct Pool *pool;
    int index, started;
    PortThread thread;
    PortMutex mutex;
    PortCond wake;
    char apart[128]; /* no two shares' states in one cache line */
} PoolShare;

typedef struct PoolGroup {
    PortAtomic state, remaining; /* remaining: parts that are not finished */
    int wait_follows;     /* when the group was last posted, the caller waited for it at once */
    int64_t posted_ns;
    uint64_t posted_as;   /* place in the order of posting; written and read by the poster, who is the waiter */
    unsigned finished_as; /* place in the order of finishing, wraps around; read when state is GROUP_DONE */
    char apart[128];
} PoolGroup;

/* What is written by different threads, or written while others only read, lies apart: a shared line costs each step. */
typedef struct Pool {
    int shares, groups, shares_per_group, parts; /* parts: of each share */
    int64_t spin_ns, busy_spin_ns;
    PoolWork work;
    void *context;
    PoolShare *share;
    PoolGroup *group;
    PortAtomic stop;
    char caller_apart[128];
    int unwoken; /* a posted share whose thread was not called, or -1; the caller's own */
    uint64_t posted_total;
    char finished_apart[128];
    PortAtomic finished; /* counts finished groups, wraps around: a waiter watches it change */
    char order_apart[128];
    PortAtomic order;    /* the next place in the order of finishing */
    PortAtomic sleeping; /* the waiter sleeps, or is about to look once more at `finished` */
    PortMutex mutex;     /* guards the sleep of the waiter */
    PortCond done;
} Pool;

/* The parts of a share that nobody has started, [first, end), and from which on others took them when it was last posted. Its
 * thread moves `first`, others move `end`, which stays for the next time to see. */
typedef struct PoolLeft {
    int first, end, lent;
} PoolLeft;

static inline int pool_pack(PoolLeft l) { return l.first | l.end << 10 | l.lent << 20; }
static inline PoolLeft pool_unpack(int left) { return (PoolLeft){left & 1023, left >> 10 & 1023, left >> 20 & 1023}; }
static inline PoolLeft pool_left(PoolShare *s) { return pool_unpack(port_load(&s->left)); }

/* Claim the first part that nobody has started. -1: none. Work may have been posted anew since `left` was read: it is then that
 * work's part, nothing else was read before. */
static inline int pool_claim(PoolShare *s) {
    for (;;) {
        PoolLeft l = pool_left(s), now = {l.first + 1, l.end, l.lent};
        if (l.first == l.end) return -1;
        if (port_swap_if(&s->left, pool_pack(l), pool_pack(now))) return l.first;
    }
}

/* The last part of a share of somebody else's, if that helps: its memory is in this core's cache since the last time, or its
 * thread is far behind, or has not begun. A part that changes caches may take several times as long. A share that has begun
 * has a thread, or the caller, that goes on with it until nothing is left: what is not taken here is not lost. */
static inline int pool_steal(PoolShare *s) {
    for (;;) {
        PoolLeft l = pool_left(s), now = {l.first, l.end - 1, l.lent};
        int helps = l.end > l.lent || l.first == 0 || l.end - l.first >= POOL_FAR_BEHIND;
        if (l.first == l.end || !helps) return -1;
        if (port_swap_if(&s->left, pool_pack(l), pool_pack(now))) return now.end;
    }
}

static inline void pool_finish(Pool *p, PoolGroup *g, int parts) {
    if (port_add(&g->remaining, -parts) > parts) return;
    g->finished_as = (unsigned)port_add(&p->order, 1);
    port_store(&g->state, GROUP_DONE);
    port_add(&p->finished, 1);
    if (!port_load(&p->sleeping)) return; /* after the count: the waiter says that it sleeps, then looks at the count */
    port_lock(&p->mutex);
    port_cond_wake(&p->done);
    port_unlock(&p->mutex);
}

/* Run the parts of a share, then what it helps to take from the others of its group. Returns how many. What is run is counted
 * at the end, so that a group is not posted anew while a thread still looks through it with something to count. */
static inline int pool_run(Pool *p, int share) {
    int group = share / p->shares_per_group, first = group * p->shares_per_group, part, done = 0;
    for (; (part = pool_claim(&p->share[share])) >= 0; done++) p->work(p->context, share * p->parts + part);
    for (int i = 1; i < p->shares_per_group; i++) {
        int from = first + (share - first + i) % p->shares_per_group;
        for (; (part = pool_steal(&p->share[from])) >= 0; done++) p->work(p->context, from * p->parts + part);
    }
    if (done) pool_finish(p, &p->group[group], done);
    return done;
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
        if (port_swap_if(&s->called, 1, 0)) {
            spin_ns = port_now_ns() - idle_since < p->busy_spin_ns ? p->busy_spin_ns : p->spin_ns;
            pool_run(p, s->index);
            idle_since = port_now_ns();
        }
        if (pool_spin(&s->called, 0, &p->stop, spin_ns)) continue;
        port_lock(&s->mutex);
        port_store(&s->parked, 1); /* before the look at the call: a poster calls, then looks here */
        while (!port_load(&s->called) && !port_load(&p->stop)) port_cond_wait(&s->wake, &s->mutex);
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

static inline void pool_call(PoolShare *s) {
    port_store(&s->called, 1);
    pool_wake(s);
}

static inline void pool_call_unwoken(Pool *p) {
    if (p->unwoken >= 0) pool_call(&p->share[p->unwoken]);
    p->unwoken = -1;
}

/* Lay out the work of a group that is idle, its first share last, since the caller may do that one, and call the threads of
 * the others. */
static inline void pool_begin_group(Pool *p, int group) {
    int first = group * p->shares_per_group;
    port_store(&p->group[group].remaining, p->shares_per_group * p->parts);
    port_store(&p->group[group].state, GROUP_BUSY);
    for (int share = first + p->shares_per_group - 1; share >= first; share--) {
        port_store(&p->share[share].left, pool_pack((PoolLeft){0, p->parts, pool_left(&p->share[share]).end}));
        if (share > first) pool_call(&p->share[share]);
    }
}

/* Hand a group that is idle to its threads. */
static inline void pool_post(Pool *p, int group) {
    PoolGroup *g = &p->group[group];
    int first = group * p->shares_per_group;
    pool_call_unwoken(p);
    g->posted_as = p->posted_total++;
    g->posted_ns = port_now_ns();
    pool_begin_group(p, group);
    if (g->wait_follows) p->unwoken = first;
    else pool_call(&p->share[first]);
}

/* A share that the caller may do: one whose thread was not called, or one that nobody has started. -1: none. Others are in
 * good hands, and no more threads should work than there are shares. */
static inline int pool_find_share(Pool *p, int group) {
    int first = group * p->shares_per_group, end = first + p->shares_per_group;
    for (int share = first; share < end; share++) {
        PoolLeft l = pool_left(&p->share[share]);
        if (l.first < l.end && (share == p->unwoken || (l.first == 0 && l.end == p->parts))) return share;
    }
    return -1;
}

/* Do such a share. One of another group, whose thread was not called, must not wait for it. True if work was done. */
static inline int pool_take_over(Pool *p, int group) {
    int share = pool_find_share(p, group);
    if (p->unwoken >= 0 && p->unwoken / p->shares_per_group != group) pool_call_unwoken(p);
    if (share < 0) return 0;
    if (share == p->unwoken) p->unwoken = -1;
    return pool_run(p, share) > 0;
}

/* The same for any group (-1), the one posted first before the others: else a caller that posts one group again and again
 * would do that one's work for ever, and the others starve while the threads get no core. */
static inline int pool_help(Pool *p, int group) {
    if (group >= 0) return pool_take_over(p, group);
    for (;;) {
        int oldest = -1;
        for (int i = 0; i < p->groups; i++) {
            if (pool_find_share(p, i) < 0) continue;
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
            if (best < 0 || (int)(p->group[i].finished_as - p->group[best].finished_as) < 0) best = i;
        }
    }
    if (best >= 0) port_store(&p->group[best].state, GROUP_IDLE);
    return best;
}

/* Help, spin or sleep until a group finishes that had not when `seen` was read, at most timeout_ns. */
static inline void pool_await_finish(Pool *p, int group, int seen, int64_t timeout_ns) {
    if (pool_help(p, group) || pool_spin(&p->finished, seen, NULL, p->spin_ns)) return;
    port_lock(&p->mutex);
    port_store(&p->sleeping, 1);
    if (port_load(&p->finished) == seen) port_cond_wait_ns(&p->done, &p->mutex, timeout_ns);
    port_store(&p->sleeping, 0);
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
    pool_call_unwoken(p); /* another group's: the caller goes away now */
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
    for (int i = p->groups - 1; i >= 0; i--) {
        pool_begin_group(p, i);
        if (i > 0) pool_call(&p->share[i * p->shares_per_group]);
    }
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

/* `groups` divides `shares`; `parts` (of each share) is below 1024. A thread without work spins for spin_ns, or for busy_spin_ns
 * while its waits are that short. NULL when memory or threads cannot be had. */
static inline Pool *pool_open(int shares, int groups, int parts, int64_t spin_ns, int64_t busy_spin_ns, PoolWork work,
                              void *context) {
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
    p->parts = parts;
    p->work = work;
    p->context = context;
    port_mutex_init(&p->mutex);
    port_cond_init(&p->done);
    for (int i = 0; i < shares; i++) {
        p->share[i].pool = p;
        p->share[i].index = i;
        port_store(&p->share[i].left, pool_pack((PoolLeft){parts, parts, parts}));
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
