# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The one binding of all native games: worlds in one block of memory, stepped without the GIL by the caller or by a pool.

This checks what memory safety needs: sizes, writability, alignment, states of groups. NativeEnv checks the rest.
"""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer

from pufferlib.errors import ClosedError, ConfigError, EnvError, ShapeError

cdef int64_t SIGNAL_NS = 200_000_000  # a wait looks for Ctrl-C this often


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

    capsule: the game module's `game` attribute; values: a number, or bytes, for each field of the game's argument struct
    Raises EnvError if the game speaks another version of the interface or its fields and `values` differ,
    MemoryError if the worlds do not fit.
    """

    cdef object capsule, arrays, values
    cdef const PufferGame *game
    cdef Worlds worlds
    cdef Pool *pool
    cdef PufferIO base  # of slot 0
    cdef Draw *frame
    cdef readonly int64_t num_worlds, slots
    cdef readonly bint closed
    cdef bint built, was_reset
    cdef list flights  # bool for each group
    cdef list kept     # for each group, the arrays that its worlds point to: alive until they point elsewhere
    cdef list posted   # for each group, the arrays that its worlds point to once the group in flight has finished
    cdef long pid

    def __cinit__(self, object capsule, dict values, int64_t num_worlds):
        self.capsule = capsule
        self.game = <const PufferGame *>PyCapsule_GetPointer(capsule, b"pufferlib.game")
        if self.game.api != PUFFER_API:
            raise EnvError(f"{self.name}: built for version {self.game.api} of puffer_env.h, this is {PUFFER_API}; rebuild it")
        if num_worlds < 1:
            raise ConfigError(f"{self.name}: num_envs must be at least 1, got {num_worlds}")
        self.num_worlds = num_worlds
        self._check_result(worlds_open(&self.worlds, self.game, num_worlds))
        self._fill_args(values)
        worlds_measure(&self.worlds)
        if self.worlds.shape.rows < 1 or self.worlds.shape.obs_bytes < 1:
            raise EnvError(f"{self.name}: its shape function gives no rows or no observation")
        self.kept = []
        self._partition(1, 1)

    cdef _fill_args(self, dict values):
        cdef const PufferField *field = self.game.fields
        cdef list missing = []
        self.values = values  # keeps alive the bytes to which C points
        left = dict(values)
        while field.name != NULL:
            name = field.name.decode()
            if name in left:
                value = left.pop(name)
                if isinstance(value, bytes):
                    if not worlds_set_bytes(&self.worlds, field, <const char *>value, len(value)):
                        raise EnvError(f"{self.name}: the C field {name} holds a number, and bytes were given")
                elif not worlds_set_argument(&self.worlds, field, value):
                    raise ConfigError(f"{self.name}: {name} must be a 32-bit integer, got {value}")
            elif field.kind != PUFFER_KIND_SHARED:
                missing.append(name)
            field += 1
        if missing or left:
            raise EnvError(
                f"{self.name}: the C fields and the Python arguments differ: "
                f"only in C: {missing or 'none'}; only in Python: {sorted(left) or 'none'}"
            )

    cdef _partition(self, int shares, int groups):
        self._check_result(worlds_partition(&self.worlds, shares, groups))
        self.flights = [False] * groups
        self.kept = [self.kept] * groups
        self.posted = [None] * groups

    cdef _check_result(self, int result):
        if result == WORLDS_NO_MEMORY:
            raise MemoryError(f"{self.name}: no memory for {self.num_worlds} worlds of {self.worlds.stride} bytes")
        if result:
            raise ConfigError(f"{self.name}: {self.game.errors[result].decode()}")

    @property
    def name(self):
        return self.game.name.decode()

    @property
    def log_names(self):
        """tuple of str: the fields of the episode log."""
        return tuple(self.game.log_names[i].decode() for i in range(self.game.log_count))

    def shape(self):
        """(rows of a world, bytes of a row's observation, of its action, of its action mask)"""
        cdef PufferShape s = self.worlds.shape
        return s.rows, s.obs_bytes, s.act_bytes, s.act_mask_bytes

    # ------------------------------------------------------------ arrays

    def bind(self, obs, final_obs, act, rew, term, trunc, mask, act_mask, int64_t slots=1, size_t align=8):
        """Point the worlds to these arrays of `slots` time steps, each of all rows; the first call also builds the worlds.

        final_obs and act_mask may be None. `align` is the item size of observations. Waits for groups in flight.
        """
        self._check_open()
        cdef PufferShape s = self.worlds.shape
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
        self.arrays = (obs, final_obs, act, rew, term, trunc, mask, act_mask)
        self.slots = slots
        self.base = io
        if not self.built:
            self._build()

    cdef _build(self):
        cdef int result
        with nogil:
            result = worlds_build(&self.worlds, &self.base)
        self._check_result(result)
        self.kept = [self.arrays] * self.worlds.groups
        self.built = True

    # ------------------------------------------------------------ everything at once, in the caller

    def reset(self, seeds=None, int64_t slot=0):
        """Reset all worlds; seeds: uint64[num_worlds], or None: generators go on. Results go to `slot`."""
        self._check_ready(slot)
        self._check_none_in_flight()
        self._take_seeds(seeds, 0, self.num_worlds)
        self._run_all(True, seeds is not None, worlds_io_at(&self.worlds, &self.base, slot, slot), None)
        self.was_reset = True

    def step(self, int64_t slot=0, int64_t act_slot=0, actions=None):
        """Step all worlds: actions of `act_slot`, or of an array `actions` for all rows; results go to `slot`."""
        self._check_ready(slot)
        self._check_slot(act_slot)
        self._check_reset()
        self._check_none_in_flight()
        cdef PufferShape s = self.worlds.shape
        cdef PufferIO io = worlds_io_at(&self.worlds, &self.base, slot, act_slot)
        if actions is not None:
            io.act = pointer_of(actions, "actions", self.num_worlds * s.rows * s.act_bytes, 4, False)
        self._run_all(False, False, io, actions)

    cdef _run_all(self, bint reset, bint seeded, PufferIO io, object actions):
        cdef int i
        cdef object kept = (self.arrays, actions)
        for i in range(self.worlds.groups):
            self.worlds.jobs[i] = WorldsJob(reset=reset, seeded=seeded, io=io)
        with nogil:
            if self.pool != NULL:
                pool_run_all(self.pool)
            else:
                for i in range(self.worlds.shares * self.worlds.parts):
                    worlds_run_part(&self.worlds, i)
        for i in range(self.worlds.groups):
            self.kept[i] = kept

    # ------------------------------------------------------------ groups, by the pool

    def start_pool(self, int workers, int groups):
        """One thread for each of `workers` equal shares of the worlds, in `groups` equal groups of shares."""
        self._check_open()
        if workers < 1 or self.num_worlds % workers or groups < 1 or workers % groups:
            raise ConfigError(f"{self.name}: {self.num_worlds} worlds, {workers} workers and {groups} groups do not divide evenly")
        self._stop_pool()
        self._partition(workers, groups)
        self.pool = pool_open(
            workers, groups, self.worlds.parts, POOL_SPIN_NS, POOL_BUSY_SPIN_NS, worlds_run_part, &self.worlds
        )
        if self.pool == NULL:
            raise EnvError(f"{self.name}: {workers} threads cannot be started")
        self.pid = port_process_id()

    cdef _stop_pool(self):
        """Finish what is in flight and join the threads. Worlds keep their state."""
        cdef Pool *pool = self.pool
        self.pool = NULL
        if pool == NULL or self.pid != port_process_id():
            return  # after a fork the threads are the parent's
        with nogil:
            pool_close(pool)

    def post_step(self, int group, int64_t slot, int64_t act_slot):
        """Start a step of a group; its results go to `slot`."""
        self._check_ready(slot)
        self._check_slot(act_slot)
        self._check_reset()
        self._check_group(group)
        self._post(group, False, False, worlds_io_at(&self.worlds, &self.base, slot, act_slot))

    def post_reset(self, int group, seeds=None, int64_t slot=0):
        """Start a reset of a group; seeds: uint64[num_worlds] (its own part is read), or None."""
        self._check_ready(slot)
        self._check_group(group)
        cdef int64_t each = self.num_worlds // self.worlds.groups
        self._take_seeds(seeds, group * each, each)
        self._post(group, True, seeds is not None, worlds_io_at(&self.worlds, &self.base, slot, slot))
        self.was_reset = True

    cdef _post(self, int group, bint reset, bint seeded, PufferIO io):
        self.worlds.jobs[group] = WorldsJob(reset=reset, seeded=seeded, io=io)
        self.posted[group] = self.arrays
        self.flights[group] = True
        pool_post(self.pool, group)  # never waits, so the GIL is kept

    def wait(self, int group=-1):
        """Wait for `group`, or for whichever finishes first (-1). Returns the group, which may then be posted again."""
        cdef int taken = -1
        self._check_pool()
        if group >= self.worlds.groups or not (any(self.flights) if group < 0 else self.flights[group]):
            raise EnvError(f"{self.name}: wait for a group that is not in flight")
        while taken < 0:
            with nogil:
                taken = pool_wait(self.pool, group, SIGNAL_NS)
            if taken < 0:
                PyErr_CheckSignals()
        self._landed(taken)
        return taken

    cdef _landed(self, int group):
        self.flights[group] = False
        self.kept[group] = self.posted[group]

    def abandon(self):
        """Let what is in flight finish, and forget it: every group may then be posted."""
        self._quiesce()
        for group in range(self.worlds.groups):
            if self.flights[group]:
                pool_take(self.pool, group)
                self._landed(group)

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
        if not self.built:
            return {}
        cdef double *sums = <double *>calloc(self.game.log_count, sizeof(double))
        if sums == NULL:
            raise MemoryError()
        with nogil:
            worlds_drain_log(&self.worlds, sums)
        totals = {name: sums[k] for k, name in enumerate(self.log_names)}
        free(sums)
        n = totals["n"]
        return {name: value if name == "n" else value / n for name, value in totals.items()} if n else {}

    def world_bytes(self, int64_t world):
        """A copy of a world's memory: its struct, padded to 64 bytes, then its arena."""
        self._check_world(world)
        return worlds_at(&self.worlds, world)[: self.worlds.stride]

    def shared_bytes(self):
        """A copy of the read-only block that all worlds share; b"" where the game has none."""
        cdef size_t size = 0
        self._check_ready(0)
        cdef const char *block = worlds_shared(&self.worlds, &size)
        return block[:size] if size else b""

    def set_world_bytes(self, int64_t world, bytes data):
        """Put a copy back that `world_bytes` made of this very world: its state is then what it was."""
        self._check_world(world)
        if <size_t>len(data) != self.worlds.stride:
            raise ShapeError(f"{self.name}: a world has {self.worlds.stride} bytes, got {len(data)}")
        cdef PufferIO io = worlds_io_of(&self.worlds, world)[0]
        memcpy(worlds_at(&self.worlds, world), <const char *>data, self.worlds.stride)
        worlds_io_of(&self.worlds, world)[0] = io  # pointers are not state: the arrays may have moved since

    def draw(self, int64_t world):
        """Let the game describe a frame of `world`: a read-only buffer of a whole `Draw` (draw.h), overwritten by the next call."""
        self._check_world(world)
        self._check_reset()
        if self.frame == NULL:
            self.frame = <Draw *>calloc(1, sizeof(Draw))
            if self.frame == NULL:
                raise MemoryError()
        draw_begin(self.frame)
        self.game.draw(worlds_at(&self.worlds, world), self.frame)
        return memoryview(_Frame(self))

    # ------------------------------------------------------------ checks, and the end

    cdef _take_seeds(self, object seeds, int64_t first, int64_t count):
        """Copy the seeds of some worlds; other groups may be reading theirs."""
        cdef uint64_t *source
        if seeds is not None:
            source = <uint64_t *>pointer_of(seeds, "seeds", <size_t>self.num_worlds * sizeof(uint64_t), sizeof(uint64_t), False)
            memcpy(self.worlds.seeds + first, source + first, <size_t>count * sizeof(uint64_t))

    cdef _check_open(self):
        if self.closed:
            raise ClosedError(f"{self.name} is closed")

    cdef _check_pool(self):
        if self.pool == NULL:
            raise EnvError(f"{self.name}: start_pool first")
        if self.pid != port_process_id():
            raise EnvError(f"{self.name}: its threads belong to process {self.pid}, this is a fork of it; make the env after the fork")

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

    cdef _check_none_in_flight(self):
        if any(self.flights):
            raise EnvError(f"{self.name}: groups are in flight; wait for them first")

    cdef _check_group(self, int group):
        self._check_pool()
        if not 0 <= group < self.worlds.groups:
            raise EnvError(f"{self.name}: group {group} is not one of the {self.worlds.groups} groups")
        if self.flights[group]:
            raise EnvError(f"{self.name}: group {group} is in flight; wait for it first")

    cdef _check_world(self, int64_t world):
        self._check_ready(0)
        if not 0 <= world < self.num_worlds:
            raise ConfigError(f"{self.name}: world must be in [0, {self.num_worlds}), got {world}")
        self._quiesce()

    cdef _free(self):
        self.closed = True
        self._stop_pool()
        worlds_close(&self.worlds)

    def close(self):
        """Join the threads and free the worlds. May be called any number of times."""
        if not self.closed:
            self._free()
            self.arrays = None
            self.kept = self.posted = []

    def __dealloc__(self):
        if not self.closed:
            self._free()
        free(self.frame)  # not in close(): views of the last frame may be alive


cdef class _Frame:
    """A read-only buffer over the frame of a NativeBatch, which it keeps alive."""

    cdef NativeBatch owner

    def __cinit__(self, NativeBatch owner):
        self.owner = owner

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.owner.frame, sizeof(Draw), 1, flags)
