/* The few thread calls that the pool needs, over POSIX threads or Win32, and atomics over C11 or MSVC's intrinsics.
 * Every atomic operation is sequentially consistent: the pool's parking relies on one order that all threads see. */
#ifndef PUFFER_THREADS_PORT_H
#define PUFFER_THREADS_PORT_H

#include <stdint.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef HANDLE PortThread;
typedef CRITICAL_SECTION PortMutex;
typedef CONDITION_VARIABLE PortCond;
typedef DWORD(WINAPI *PortEntry)(LPVOID);
#define PORT_ENTRY(name, arg) static DWORD WINAPI name(LPVOID arg)
#define PORT_ENTRY_END return 0

static inline int port_thread_start(PortThread *t, PortEntry entry, void *arg) {
    *t = CreateThread(NULL, 0, entry, arg, 0, NULL);
    return *t ? 0 : -1;
}
static inline void port_thread_join(PortThread t) {
    WaitForSingleObject(t, INFINITE);
    CloseHandle(t);
}
static inline void port_mutex_init(PortMutex *m) { InitializeCriticalSection(m); }
static inline void port_mutex_free(PortMutex *m) { DeleteCriticalSection(m); }
static inline void port_lock(PortMutex *m) { EnterCriticalSection(m); }
static inline void port_unlock(PortMutex *m) { LeaveCriticalSection(m); }
static inline void port_cond_init(PortCond *c) { InitializeConditionVariable(c); }
static inline void port_cond_free(PortCond *c) { (void)c; }
static inline void port_cond_wake(PortCond *c) { WakeAllConditionVariable(c); }
static inline void port_cond_wait(PortCond *c, PortMutex *m) { SleepConditionVariableCS(c, m, INFINITE); }
static inline void port_cond_wait_ns(PortCond *c, PortMutex *m, int64_t ns) {
    SleepConditionVariableCS(c, m, (DWORD)(ns / 1000000 + 1));
}
static inline long port_process_id(void) { return (long)GetCurrentProcessId(); }
static inline int64_t port_now_ns(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (int64_t)((double)count.QuadPart * 1e9 / (double)frequency.QuadPart);
}
#else
#include <pthread.h>
#include <time.h>
#include <unistd.h>

typedef pthread_t PortThread;
typedef pthread_mutex_t PortMutex;
typedef pthread_cond_t PortCond;
typedef void *(*PortEntry)(void *);
#define PORT_ENTRY(name, arg) static void *name(void *arg)
#define PORT_ENTRY_END return NULL

static inline int port_thread_start(PortThread *t, PortEntry entry, void *arg) { return pthread_create(t, NULL, entry, arg); }
static inline void port_thread_join(PortThread t) { pthread_join(t, NULL); }
static inline void port_mutex_init(PortMutex *m) { pthread_mutex_init(m, NULL); }
static inline void port_mutex_free(PortMutex *m) { pthread_mutex_destroy(m); }
static inline void port_lock(PortMutex *m) { pthread_mutex_lock(m); }
static inline void port_unlock(PortMutex *m) { pthread_mutex_unlock(m); }
static inline void port_cond_init(PortCond *c) { pthread_cond_init(c, NULL); }
static inline void port_cond_free(PortCond *c) { pthread_cond_destroy(c); }
static inline void port_cond_wake(PortCond *c) { pthread_cond_broadcast(c); }
static inline void port_cond_wait(PortCond *c, PortMutex *m) { pthread_cond_wait(c, m); }
static inline void port_cond_wait_ns(PortCond *c, PortMutex *m, int64_t ns) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* macOS offers no monotonic clock here; a jump only shortens or lengthens one wait */
    ns += until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(c, m, &until);
}
/* Asking the system takes as long as posting a step to the pool: ask once, and in each new process. */
static pthread_once_t port_process_once = PTHREAD_ONCE_INIT;
static long port_process; /* 0: the system must be asked each time */
static void port_after_fork(void) { port_process = (long)getpid(); }
static void port_watch_forks(void) {
    if (pthread_atfork(NULL, NULL, port_after_fork) == 0) port_after_fork();
}
static inline long port_process_id(void) {
    pthread_once(&port_process_once, port_watch_forks);
    return port_process ? port_process : (long)getpid();
}
static inline int64_t port_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
#endif

#if defined(_MSC_VER) && !defined(__clang__)
typedef volatile long PortAtomic;
static inline int port_load(PortAtomic *a) { return (int)InterlockedOr(a, 0); }
static inline void port_store(PortAtomic *a, int value) { InterlockedExchange(a, value); }
static inline int port_add(PortAtomic *a, int delta) { return (int)InterlockedExchangeAdd(a, delta); } /* the value before */
static inline int port_swap_if(PortAtomic *a, int expected, int value) {
    return InterlockedCompareExchange(a, value, expected) == expected;
}
static inline void port_pause(void) { YieldProcessor(); }
#else
#include <stdatomic.h>
typedef atomic_int PortAtomic;
static inline int port_load(PortAtomic *a) { return atomic_load(a); }
static inline void port_store(PortAtomic *a, int value) { atomic_store(a, value); }
static inline int port_add(PortAtomic *a, int delta) { return atomic_fetch_add(a, delta); } /* the value before */
static inline int port_swap_if(PortAtomic *a, int expected, int value) {
    return atomic_compare_exchange_strong(a, &expected, value);
}
static inline void port_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}
#endif

#endif
