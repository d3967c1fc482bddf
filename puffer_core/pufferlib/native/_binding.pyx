# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The one binding of all native games: worlds in one block of memory, stepped without the GIL by the caller or by a pool.

`pufferlib.native.env.NativeEnv` is the face of it. This module checks what memory safety needs (sizes, writability,
alignment, states of groups); spaces, ranges and names are checked above.
"""

import os

from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer

from pufferlib.errors import ClosedError, ConfigError, EnvError, ShapeError

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
        PUFFER_KIND_INT
        PUFFER_KIND_FLOAT
        PUFFER_KIND_DOUBLE
        PUFFER_KIND_SHARED
    ctypedef struct PufferField:
        const char *name
        PufferKind kind
        size_t offset
    ctypedef struct PufferGame:
        int32_t api
        const char *name
        size_t args_bytes, world_bytes, io_offset, log_offset, log_count
        const PufferField *fields
        const char *const *log_names
        const char *const *errors
        PufferShape (*shape)(const void *) noexcept nogil
        size_t (*arena_bytes)(const void *) noexcept nogil
        size_t (*shared_bytes)(const void *) noexcept nogil
        int (*shared_init)(void *, const void *) noexcept nogil
        int (*init)(void *, const void *, void *, PufferIO) noexcept nogil
        void (*reset_range)(char *, size_t, int64_t, int64_t, const PufferIO *, PufferShape, const uint64_t *) noexcept nogil
        void (*step_range)(char *, size_t, int64_t, int64_t, const PufferIO *, PufferShape) noexcept nogil
        void (*draw)(const void *, Draw *) noexcept nogil
    PufferIO puffer_io_at(const PufferIO *, PufferShape, int64_t)

cdef extern from "pool.h" nogil:
    ctypedef struct Pool:
        pass
    Pool *pool_open(int, int, void (*)(void *, int) noexcept nogil, void *)
    void pool_close(Pool *)
    void pool_post(Pool *, int)
    int pool_take(Pool *, int)
    int pool_wait(Pool *, int, int64_t)
    void pool_quiesce(Pool *)
    void pool_run_all(Pool *)

cdef int64_t SIGNAL_NS = 200_000_000  # a wait looks for Ctrl-C this often
cdef size_t LINE = 64

cdef enum Kind:
    STEP
    RESET

# What the threads see: plain C, no Python object.
cdef struct Job:
    Kind kind
    bint seeded
    PufferIO io

cdef struct Engine:
    const PufferGame *game
    char *worlds
    size_t stride
    int64_t worlds_per_share
    int shares_per_group
    PufferShape shape
    uint64_t *seeds
    PufferIO *share_io  # where each share's worlds point now
    Job *jobs           # one a group


cdef void run_share(void *context, int share) noexcept nogil:
    """Step or reset the worlds of a share. They learn their pointers only when the arrays moved since the last time."""
    cdef Engine *e = <Engine *>context
    cdef Job *job = &e.jobs[share // e.shares_per_group]
    cdef const PufferIO *base = NULL
    cdef int64_t a = share * e.worlds_per_share
    if memcmp(&e.share_io[share], &job.io, sizeof(PufferIO)) != 0:
        e.share_io[share] = job.io
        base = &e.share_io[share]
    if job.kind == STEP:
        e.game.step_range(e.worlds, e.stride, a, a + e.worlds_per_share, base, e.shape)
    else:
        e.game.reset_range(e.worlds, e.stride, a, a + e.worlds_per_share, base, e.shape, e.seeds if job.seeded else NULL)


cdef void *line_up(void *memory) noexcept nogil:
    return <void *>((<uintptr_t>memory + LINE - 1) & ~<uintptr_t>(LINE - 1))


cdef char *pointer_of(object array, str name, size_t needed, size_t align, bint writable) except NULL:
    """The address of a C-contiguous array of exactly `needed` bytes."""
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(array, &view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
    except (BufferError, ValueError, TypeError) as error:
        raise ShapeError(f"{name} must be a C-contiguous{' writable' if writable else ''} array: {error}") from None
    cdef char *data = <char *>view.buf
    cdef size_t length = view.len
    PyBuffer_Release(&view)  # the caller keeps a reference to the array, and nobody resizes these
    if length != needed:
        raise ShapeError(f"{name} must have {needed} bytes for this env, got {length}")
    if <uintptr_t>data % align:
        raise ShapeError(f"{name} must be aligned to {align} bytes")
    return data


cdef class NativeBatch:
    """`num_worlds` worlds of one game.

    capsule: the game module's `game` attribute; values: a number for each field of the game's argument struct
    Raises EnvError if the game speaks another version of the interface or its fields and `values` differ,
    MemoryError if the worlds do not fit.
    """

    cdef object _capsule, _arrays, _old_arrays
    cdef const PufferGame *game
    cdef char *args
    cdef void *shared
    cdef void *world_memory
    cdef Engine engine
    cdef Pool *pool
    cdef PufferIO slot0
    cdef Draw *frame
    cdef readonly int64_t num_worlds
    cdef readonly int64_t slots
    cdef readonly bint closed
    cdef int shares, groups
    cdef bint built, was_reset
    cdef list flights
    cdef long pid

    def __cinit__(self, object capsule, dict values, int64_t num_worlds):
        self._capsule = capsule
        self.game = <const PufferGame *>PyCapsule_GetPointer(capsule, b"pufferlib.game")
        if self.game.api != PUFFER_API:
            raise EnvError(f"{self.name}: built for version {self.game.api} of puffer_env.h, this pufferlib speaks {PUFFER_API}; rebuild it")
        if num_worlds < 1:
            raise ConfigError(f"{self.name}: num_envs must be at least 1, got {num_worlds}")
        self.num_worlds = num_worlds
        self.args = <char *>calloc(1, self.game.args_bytes + LINE)
        if self.args == NULL:
            raise MemoryError()
        self._fill_args(values)
        self.engine.game = self.game
        self.engine.shape = self.game.shape(self.args)
        if self.engine.shape.rows < 1 or self.engine.shape.obs_bytes < 1:
            raise EnvError(f"{self.name}: its shape function gives no rows or no observation")
        self.engine.stride = self.game.world_bytes + self.game.arena_bytes(self.args)
        self._partition(1, 1)

    def _fill_args(self, dict values):
        cdef const PufferField *field = self.game.fields
        cdef int32_t whole
        cdef float single
        cdef double real
        cdef list missing = []
        left = dict(values)
        while field.name != NULL:
            name = field.name.decode()
            if field.kind == PUFFER_KIND_SHARED:
                pass
            elif name not in left:
                missing.append(name)
            elif field.kind == PUFFER_KIND_INT:
                value = left.pop(name)
                if not INT32_MIN <= value <= INT32_MAX:
                    raise ConfigError(f"{self.name}: {name} must fit in 32 bits, got {value}")
                whole = value
                memcpy(self.args + field.offset, &whole, sizeof(whole))
            elif field.kind == PUFFER_KIND_FLOAT:
                single = left.pop(name)
                memcpy(self.args + field.offset, &single, sizeof(single))
            else:
                real = left.pop(name)
                memcpy(self.args + field.offset, &real, sizeof(real))
            field += 1
        if missing or left:
            raise EnvError(
                f"{self.name}: the C fields and the Python arguments differ: "
                f"only in C: {missing or 'none'}; only in Python: {sorted(left) or 'none'}"
            )

    def _partition(self, int shares, int groups):
        free(self.engine.share_io)
        free(self.engine.jobs)
        self.shares, self.groups = shares, groups
        self.engine.worlds_per_share = self.num_worlds // shares
        self.engine.shares_per_group = shares // groups
        self.engine.share_io = <PufferIO *>calloc(shares, sizeof(PufferIO))
        self.engine.jobs = <Job *>calloc(groups, sizeof(Job))
        if self.engine.share_io == NULL or self.engine.jobs == NULL:
            raise MemoryError()
        self.flights = [False] * groups

    @property
    def name(self):
        return self.game.name.decode()

    @property
    def log_names(self):
        """tuple of str: the fields of the episode log."""
        return tuple(self.game.log_names[i].decode() for i in range(self.game.log_count))

    def shape(self):
        """(rows of a world, bytes of a row's observation, of its action, of its action mask)"""
        cdef PufferShape s = self.engine.shape
        return s.rows, s.obs_bytes, s.act_bytes, s.act_mask_bytes

    # ------------------------------------------------------------ arrays

    def bind(self, obs, final_obs, act, rew, term, trunc, mask, act_mask, int64_t slots=1, size_t align=8):
        """Point the worlds to these arrays of `slots` time steps, each of all rows; the first call also builds the worlds.

        final_obs and act_mask may be None. `align` is the item size of observations. Waits for groups in flight.
        """
        self._check_open()
        cdef PufferShape s = self.engine.shape
        cdef size_t rows = self.num_worlds * s.rows * slots
        cdef PufferIO io
        memset(&io, 0, sizeof(io))
        io.obs = pointer_of(obs, "observations", rows * s.obs_bytes, align, True)
        if final_obs is not None:
            io.final_obs = pointer_of(final_obs, "final_observations", rows * s.obs_bytes, align, True)
        io.act = pointer_of(act, "actions", rows * s.act_bytes, 4, False)
        io.rew = <float *>pointer_of(rew, "rewards", rows * sizeof(float), sizeof(float), True)
        io.term = <uint8_t *>pointer_of(term, "terminals", rows, 1, True)
        io.trunc = <uint8_t *>pointer_of(trunc, "truncations", rows, 1, True)
        io.mask = <uint8_t *>pointer_of(mask, "masks", rows, 1, True)
        if act_mask is not None:
            if s.act_mask_bytes == 0:
                raise ShapeError(f"{self.name} writes no action masks, but action_masks were given")
            io.act_mask = <uint8_t *>pointer_of(act_mask, "action_masks", rows * s.act_mask_bytes, 1, True)
        self._quiesce()
        self._arrays = (obs, final_obs, act, rew, term, trunc, mask, act_mask)
        self.slots = slots
        self.slot0 = io
        if not self.built:
            self._build()

    def _build(self):
        cdef size_t bytes
        cdef PufferField *field
        cdef int64_t i
        cdef int failed = 0
        cdef char *world
        if self.game.shared_bytes != NULL:
            self.shared = calloc(1, self.game.shared_bytes(self.args) + LINE)
            if self.shared == NULL:
                raise MemoryError(f"{self.name}: no memory for what its worlds share")
            block = <uintptr_t>line_up(self.shared)
            field = <PufferField *>self.game.fields
            while field.name != NULL:
                if field.kind == PUFFER_KIND_SHARED:
                    memcpy(self.args + field.offset, &block, sizeof(void *))
                field += 1
            self._check_init(self.game.shared_init(<void *>block, self.args))
        bytes = self.engine.stride * <size_t>self.num_worlds
        self.world_memory = calloc(1, bytes + LINE)
        if self.world_memory == NULL:
            raise MemoryError(f"{self.name}: {self.num_worlds} worlds need {bytes} bytes")
        self.engine.worlds = <char *>line_up(self.world_memory)
        with nogil:
            for i in range(self.num_worlds):
                world = self.engine.worlds + self.engine.stride * <size_t>i
                failed = self.game.init(world, self.args, world + self.game.world_bytes,
                                        puffer_io_at(&self.slot0, self.engine.shape, i))
                if failed:
                    break
        self._check_init(failed)
        self.built = True

    def _check_init(self, int result):
        if result:
            raise ConfigError(f"{self.name}: {self.game.errors[result].decode()}")

    cdef PufferIO io_at(self, int64_t slot, int64_t act_slot):
        cdef PufferShape s = self.engine.shape
        cdef int64_t world = slot * self.num_worlds
        cdef PufferIO io = puffer_io_at(&self.slot0, s, world)
        io.act = <const char *>self.slot0.act + <size_t>(act_slot * self.num_worlds * s.rows) * s.act_bytes
        return io

    # ------------------------------------------------------------ everything at once, in the caller

    def reset(self, seeds=None, int64_t slot=0):
        """Reset all worlds; seeds: uint64[num_worlds], or None: generators go on. Results go to `slot`."""
        self._check_ready(slot)
        self._take_seeds(seeds)
        self._run_all(RESET, seeds is not None, self.io_at(slot, slot))
        self.was_reset = True

    def step(self, int64_t slot=0, int64_t act_slot=0, actions=None):
        """Step all worlds: actions of `act_slot`, or of an array `actions` for all rows; results go to `slot`."""
        self._check_ready(slot)
        self._check_slot(act_slot)
        self._check_reset()
        cdef PufferIO io = self.io_at(slot, act_slot)
        if actions is not None:
            io.act = pointer_of(actions, "actions", self.num_worlds * self.engine.shape.rows * self.engine.shape.act_bytes, 4, False)
        self._run_all(STEP, False, io)

    cdef _run_all(self, Kind kind, bint seeded, PufferIO io):
        cdef int i
        if any(self.flights):
            raise EnvError(f"{self.name}: groups are in flight; wait for them first")
        for i in range(self.groups):
            self.engine.jobs[i].kind = kind
            self.engine.jobs[i].seeded = seeded
            self.engine.jobs[i].io = io
        with nogil:
            if self.pool != NULL:
                pool_run_all(self.pool)
            else:
                for i in range(self.shares):
                    run_share(&self.engine, i)

    # ------------------------------------------------------------ groups, by the pool

    def start_pool(self, int workers, int groups):
        """One thread for each of `workers` equal shares of the worlds, in `groups` equal groups of shares."""
        self._check_open()
        if workers < 1 or self.num_worlds % workers or groups < 1 or workers % groups:
            raise ConfigError(f"{self.name}: {self.num_worlds} worlds, {workers} workers and {groups} groups do not divide evenly")
        self.stop_pool()
        self._partition(workers, groups)
        self.pool = pool_open(workers, groups, run_share, &self.engine)
        if self.pool == NULL:
            raise EnvError(f"{self.name}: {workers} threads cannot be started")
        self.pid = os.getpid()

    def stop_pool(self):
        """Finish what is in flight and join the threads. Worlds keep their state."""
        cdef Pool *pool = self.pool
        self.pool = NULL
        if pool == NULL or self.pid != os.getpid():
            return  # after a fork the threads are the parent's
        with nogil:
            pool_close(pool)

    def post_step(self, int group, int64_t slot, int64_t act_slot):
        """Start a step of a group; its results go to `slot`."""
        self._check_slot(act_slot)
        self._check_reset()
        self._post(group, STEP, False, slot, act_slot)

    def post_reset(self, int group, seeds=None, int64_t slot=0):
        """Start a reset of a group; seeds: uint64[num_worlds] (its own part is read), or None."""
        self._check_ready(slot)
        self._take_seeds(seeds, group)
        self._post(group, RESET, seeds is not None, slot, slot)
        self.was_reset = True

    cdef _post(self, int group, Kind kind, bint seeded, int64_t slot, int64_t act_slot):
        self._check_ready(slot)
        self._check_group(group)
        cdef Job *job = &self.engine.jobs[group]
        job.kind = kind
        job.seeded = seeded
        job.io = self.io_at(slot, act_slot)
        self.flights[group] = True
        with nogil:
            pool_post(self.pool, group)

    def wait(self, int group=-1):
        """Wait for `group`, or for whichever finishes first (-1). Returns the group, which may then be posted again."""
        cdef int taken = -1
        self._check_pool()
        if group >= 0 and (group >= self.groups or not self.flights[group]) or not any(self.flights):
            raise EnvError(f"{self.name}: wait for a group that is not in flight")
        while taken < 0:
            with nogil:
                taken = pool_wait(self.pool, group, SIGNAL_NS)
            if taken < 0:
                PyErr_CheckSignals()
        self.flights[taken] = False
        return taken

    def abandon(self):
        """Let what is in flight finish, and forget it: every group may then be posted."""
        self._quiesce()
        for group in range(self.groups):
            if self.flights[group]:
                pool_take(self.pool, group)
                self.flights[group] = False

    cdef _quiesce(self):
        if self.pool != NULL:
            self._check_pool()
            with nogil:
                pool_quiesce(self.pool)

    # ------------------------------------------------------------ looking at worlds

    def drain_log(self):
        """{field: mean over row-episodes that ended since the last drain, "n": their number}, {} if none ended.

        Waits for groups in flight. Worlds are summed in index order: the result does not depend on threads.
        """
        self._check_open()
        self._quiesce()
        cdef size_t count = self.game.log_count, k
        cdef double *sums = <double *>calloc(count, sizeof(double))
        cdef double *log
        cdef int64_t i
        if sums == NULL:
            raise MemoryError()
        with nogil:
            for i in range(self.num_worlds if self.built else 0):
                log = <double *>(self.engine.worlds + self.engine.stride * <size_t>i + self.game.log_offset)
                for k in range(count):
                    sums[k] += log[k]
                    log[k] = 0
        names = self.log_names
        totals = {names[k]: sums[k] for k in range(count)}
        free(sums)
        n = totals["n"]
        return {name: value if name == "n" else value / n for name, value in totals.items()} if n else {}

    def world_bytes(self, int64_t world):
        """A copy of a world's memory: its struct, padded to 64 bytes, then its arena."""
        self._check_world(world)
        return (self.engine.worlds + self.engine.stride * <size_t>world)[: self.engine.stride]

    def set_world_bytes(self, int64_t world, bytes data):
        """Put a copy back that `world_bytes` made of this very world: its state is then what it was."""
        self._check_world(world)
        if <size_t>len(data) != self.engine.stride:
            raise ShapeError(f"{self.name}: a world has {self.engine.stride} bytes, got {len(data)}")
        cdef char *target = self.engine.worlds + self.engine.stride * <size_t>world
        cdef const char *source = data
        cdef PufferIO io = (<PufferIO *>(target + self.game.io_offset))[0]
        memcpy(target, source, self.engine.stride)
        (<PufferIO *>(target + self.game.io_offset))[0] = io  # pointers are not state: the arrays may have moved since

    def draw(self, int64_t world):
        """Let the game describe a frame of `world`: a read-only buffer of a whole `Draw` (draw.h), overwritten by the next call."""
        self._check_world(world)
        self._check_reset()
        if self.frame == NULL:
            self.frame = <Draw *>calloc(1, sizeof(Draw))
            if self.frame == NULL:
                raise MemoryError()
        draw_begin(self.frame)
        self.game.draw(self.engine.worlds + self.engine.stride * <size_t>world, self.frame)
        return memoryview(_Frame(self))

    # ------------------------------------------------------------ checks, and the end

    cdef _take_seeds(self, object seeds, int group=-1):
        cdef size_t bytes = <size_t>self.num_worlds * sizeof(uint64_t), offset = 0
        cdef const char *source
        if seeds is None:
            return
        source = pointer_of(seeds, "seeds", bytes, sizeof(uint64_t), False)
        if self.engine.seeds == NULL:
            self.engine.seeds = <uint64_t *>calloc(1, bytes)
            if self.engine.seeds == NULL:
                raise MemoryError()
        if group >= 0:  # other groups may be reading theirs
            self._check_group(group)
            bytes //= <size_t>self.groups
            offset = bytes * <size_t>group
        memcpy(<char *>self.engine.seeds + offset, source + offset, bytes)

    cdef _check_open(self):
        if self.closed:
            raise ClosedError(f"{self.name} is closed")

    cdef _check_pool(self):
        if self.pool == NULL:
            raise EnvError(f"{self.name}: start_pool first")
        if self.pid != os.getpid():
            raise EnvError(f"{self.name}: its threads belong to process {self.pid}, this one is a fork of it; make the env after the fork")

    cdef _check_slot(self, int64_t slot):
        if not 0 <= slot < self.slots:
            raise ShapeError(f"{self.name}: slot {slot} is outside of the {self.slots} slots of the bound arrays")

    cdef _check_ready(self, int64_t slot):
        self._check_open()
        if not self.built:
            raise EnvError(f"{self.name}: bind arrays first")
        self._check_slot(slot)
        if self.pool != NULL:
            self._check_pool()

    cdef _check_reset(self):
        if not self.was_reset:
            raise EnvError(f"{self.name}: call reset() first")

    cdef _check_group(self, int group):
        self._check_pool()
        if not 0 <= group < self.groups:
            raise EnvError(f"{self.name}: group {group} is not one of the {self.groups} groups")
        if self.flights[group]:
            raise EnvError(f"{self.name}: group {group} is in flight; wait for it first")

    cdef _check_world(self, int64_t world):
        self._check_ready(0)
        if not 0 <= world < self.num_worlds:
            raise ConfigError(f"{self.name}: world must be in [0, {self.num_worlds}), got {world}")
        self._quiesce()

    def close(self):
        """Join the threads and free the worlds. May be called any number of times."""
        if not self.closed:
            self.closed = True
            self._free()

    cdef _free(self):
        self.stop_pool()
        free(self.world_memory)
        free(self.shared)
        free(self.args)
        free(self.engine.seeds)
        free(self.engine.share_io)
        free(self.engine.jobs)
        self.world_memory = self.shared = NULL
        self.args = NULL
        self.engine.seeds = NULL
        self.engine.share_io = NULL
        self.engine.jobs = NULL
        self.engine.worlds = NULL
        self._arrays = None

    def __dealloc__(self):
        if not self.closed:
            self.closed = True
            self._free()
        free(self.frame)  # not in close(): views of the last frame may be alive


cdef class _Frame:
    """A read-only buffer over the frame of a NativeBatch, which it keeps alive."""

    cdef NativeBatch owner

    def __cinit__(self, NativeBatch owner):
        self.owner = owner

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.owner.frame, sizeof(Draw), 1, flags)
