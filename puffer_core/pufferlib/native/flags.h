/* Flags in shared memory, by which one process hands work to others and hears that it is done.
 *
 * A waiter spins for a moment, then sleeps until it is woken (a futex on Linux, naps that grow to 2 ms elsewhere). Where there
 * are more waiters than cores it sleeps at once, which gives the core away as sched_yield would, but the system wakes it
 * promptly: one that yielded to a busy process waits for the end of that one's time slice. With one worker per core the parent
 * sleeps at once, and so does the worker on whose core it ran last; the others spin, since waking a core that has gone to sleep
 * costs more than a small env's step. Whoever changes a flag makes a system call only if somebody sleeps on it. Workers belong
 * to groups; a group is done when all of its workers are. Every atomic operation is sequentially consistent: sleepers rely on
 * one order that all processes see. */
#ifndef PUFFER_FLAGS_H
#define PUFFER_FLAGS_H

#include "threads_port.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define FLAGS_LINE 128 /* no two processes' flags in one cache line, nor in a pair of lines that are fetched together */
#define FLAGS_NAP_MIN_NS 50000
#define FLAGS_NAP_MAX_NS 2000000
#define FLAGS_SPIN_CHECK 32 /* pauses between looks at the clock */
#define FLAGS_BUSY_SPIN_NS 500000 /* of a parent that spins at all and whose last wait was shorter than this */

enum { FLAGS_WAIT_OVER = -1, FLAGS_FAILED = -2, FLAGS_INTERRUPTED = -3 };
enum { FLAGS_PLAIN, FLAGS_PAYLOAD, FLAGS_FAILURE };

typedef struct {
    PortAtomic bell, sleeping, failures;
    PortAtomic core; /* where the parent began to wait last */
    int groups, workers_per_group;
} FlagsHead;

typedef struct {
    PortAtomic remaining, payloads;
} FlagsGroup;

typedef struct {
    PortAtomic command; /* counts up: a change is a new command */
    PortAtomic done;    /* the command that was finished last */
    PortAtomic sleeping, status, steps;
    int kind, source, target;
} FlagsWorker;

static inline FlagsHead *flags_head(char *base) { return (FlagsHead *)base; }
static inline FlagsGroup *flags_group(char *base, int group) { return (FlagsGroup *)(base + FLAGS_LINE * (size_t)(1 + group)); }
static inline FlagsWorker *flags_worker(char *base, int worker) {
    return (FlagsWorker *)(base + FLAGS_LINE * (size_t)(1 + flags_head(base)->groups + worker));
}

/* Sleep until *word is no longer `seen`, for `ns` at most. May return early. */
static inline void flags_sleep(PortAtomic *word, int seen, int64_t ns, int64_t slept) {
#if defined(__linux__) && defined(SYS_futex)
    struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    (void)slept;
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, NULL, 0);
#else
    int64_t nap = slept / 8;
    (void)word, (void)seen;
    if (nap < FLAGS_NAP_MIN_NS) nap = FLAGS_NAP_MIN_NS;
    if (nap > FLAGS_NAP_MAX_NS) nap = FLAGS_NAP_MAX_NS;
    if (nap > ns) nap = ns;
#if defined(_WIN32)
    Sleep((DWORD)(nap / 1000000));
#else
    struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)nap};
    nanosleep(&pause, NULL);
#endif
#endif
}

static inline void flags_wake(PortAtomic *word) {
#if defined(__linux__) && defined(SYS_futex)
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
#else
    (void)word;
#endif
}

/* Wait until *word is no longer `seen`: 1, or 0 when that did not happen within `ns` or a signal came. */
static inline int flags_await(PortAtomic *word, int seen, PortAtomic *sleeping, int64_t spin_ns, int64_t ns) {
    int64_t begin = port_now_ns(), waited = 0;
    for (int i = 1; spin_ns > 0; i++) {
        if (port_load(word) != seen) return 1;
        port_pause();
        if (i % FLAGS_SPIN_CHECK == 0 && port_now_ns() - begin > spin_ns) break;
    }
    port_store(sleeping, 1);
    for (;;) {
        if (port_load(word) != seen) break;
#if defined(__linux__) && defined(SYS_futex)
        if (waited) break; /* woken without a change: a signal, or the time is over */
#else
        if (waited >= ns) break;
#endif
        flags_sleep(word, seen, ns, waited);
        waited = port_now_ns() - begin;
    }
    port_store(sleeping, 0);
    return port_load(word) != seen;
}

/* The core that this process runs on; -1 where the system does not say. */
static inline int flags_core(void) {
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Wait for a worker's next command, as flags_await does. On the parent's core it spins only while others of its group work. */
static inline int flags_await_command(char *base, int worker, int seen, int64_t spin_ns, int64_t ns) {
    FlagsHead *head = flags_head(base);
    FlagsGroup *group = flags_group(base, worker / head->workers_per_group);
    FlagsWorker *w = flags_worker(base, worker);
    int64_t begin = port_now_ns();
    int core = flags_core(), shared = core >= 0 && core == port_load(&head->core);
    for (int i = 1; spin_ns > 0 && !(shared && port_load(&group->remaining) == 0); i++) {
        if (port_load(&w->command) != seen) return 1;
        port_pause();
        if (i % FLAGS_SPIN_CHECK == 0 && port_now_ns() - begin > spin_ns) break;
    }
    return flags_await(&w->command, seen, &w->sleeping, 0, ns);
}

static inline void flags_order(char *base, int worker, int kind, int source, int target) {
    FlagsWorker *w = flags_worker(base, worker);
    w->kind = kind;
    w->source = source;
    w->target = target;
    port_store(&w->status, FLAGS_PLAIN);
    port_add(&w->command, 1);
    if (port_load(&w->sleeping)) flags_wake(&w->command);
}

static inline void flags_order_group(char *base, int group, int kind, int source, int target) {
    int workers = flags_head(base)->workers_per_group;
    port_store(&flags_group(base, group)->payloads, 0);
    port_store(&flags_group(base, group)->remaining, workers);
    for (int k = 0; k < workers; k++) flags_order(base, group * workers + k, kind, source, target);
}

/* A worker is done with its group's command number `command`. */
static inline void flags_finish(char *base, int worker, int command, int status) {
    FlagsHead *head = flags_head(base);
    FlagsGroup *group = flags_group(base, worker / head->workers_per_group);
    FlagsWorker *w = flags_worker(base, worker);
    port_store(&w->status, status);
    if (status != FLAGS_FAILURE) port_add(&w->steps, 1);
    port_store(&w->done, command);
    if (status == FLAGS_PAYLOAD) port_add(&group->payloads, 1);
    if (status == FLAGS_FAILURE) port_add(&head->failures, 1);
    if (port_add(&group->remaining, -1) == 1 || status == FLAGS_FAILURE) {
        port_add(&head->bell, 1);
        if (port_load(&head->sleeping)) flags_wake(&head->bell);
    }
}

/* The first of these groups that is done, FLAGS_FAILED if a worker failed, or FLAGS_WAIT_OVER. */
static inline int flags_wait(char *base, const int *groups, int count, int64_t spin_ns, int64_t ns) {
    FlagsHead *head = flags_head(base);
    int64_t until = port_now_ns() + ns;
    port_store(&head->core, flags_core());
    for (;;) {
        int seen = port_load(&head->bell);
        int64_t left = until - port_now_ns();
        if (port_load(&head->failures) > 0) return FLAGS_FAILED;
        for (int i = 0; i < count; i++)
            if (port_load(&flags_group(base, groups[i])->remaining) == 0) return groups[i];
        if (left <= 0) return FLAGS_WAIT_OVER;
        if (!flags_await(&head->bell, seen, &head->sleeping, spin_ns, left)) {
            if (port_now_ns() < until) return FLAGS_INTERRUPTED;
        }
    }
}

#endif
