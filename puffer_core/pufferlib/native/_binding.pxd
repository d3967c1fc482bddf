"""What the binding uses of the headers."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef extern from "puffer_env.h" nogil:
    const int PUFFER_API
    ctypedef struct Draw:
        pass
    void draw_begin(Draw *)
    ctypedef struct PufferIO:
        void *obs
        void *final_obs
        const void *act
        float *rew
        uint8_t *term
        uint8_t *trunc
        uint8_t *mask
        uint8_t *act_mask
    ctypedef struct PufferShape:
        int64_t rows
        size_t obs_bytes, act_bytes, act_mask_bytes
    ctypedef enum PufferKind:
        PUFFER_KIND_SHARED, PUFFER_KIND_BYTES
    ctypedef struct PufferField:
        const char *name
        PufferKind kind
        size_t offset
    ctypedef struct PufferGame:
        int32_t api
        const char *name
        size_t log_count
        const PufferField *fields
        const char *const *log_names
        const char *const *errors
        void (*draw)(const void *, Draw *) noexcept nogil

cdef extern from "worlds.h" nogil:
    const int WORLDS_NO_MEMORY
    ctypedef struct WorldsJob:
        int reset, seeded
        PufferIO io
    ctypedef struct Worlds:
        const PufferGame *game
        int64_t count
        PufferShape shape
        size_t stride
        char *args
        int shares, groups, parts
        WorldsJob *jobs
        uint64_t *seeds
    int worlds_open(Worlds *, const PufferGame *, int64_t)
    bint worlds_set_argument(Worlds *, const PufferField *, double)
    bint worlds_set_bytes(Worlds *, const PufferField *, const void *, int64_t)
    const char *worlds_shared(const Worlds *, size_t *)
    void worlds_measure(Worlds *)
    int worlds_build(Worlds *, const PufferIO *)
    int worlds_partition(Worlds *, int, int)
    PufferIO worlds_io_at(const Worlds *, const PufferIO *, int64_t, int64_t)
    void worlds_run_part(void *, int) noexcept
    void worlds_drain_log(Worlds *, double *)
    char *worlds_at(const Worlds *, int64_t)
    PufferIO *worlds_io_of(const Worlds *, int64_t)
    void worlds_close(Worlds *)

cdef extern from "pool.h" nogil:
    ctypedef struct Pool:
        pass
    int64_t POOL_SPIN_NS, POOL_BUSY_SPIN_NS
    Pool *pool_open(int, int, int, int64_t, int64_t, void (*)(void *, int) noexcept, void *)
    void pool_close(Pool *)
    void pool_post(Pool *, int)
    int pool_take(Pool *, int)
    int pool_wait(Pool *, int, int64_t)
    void pool_quiesce(Pool *)
    void pool_run_all(Pool *)
    long port_process_id()
