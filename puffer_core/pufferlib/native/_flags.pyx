# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The flags by which the `processes` back end hands commands to its workers (flags.h), over memory that they share."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals

from pufferlib.errors import ShapeError

cdef extern from "flags.h" nogil:
    int FLAGS_LINE
    int FLAGS_WAIT_OVER, FLAGS_INTERRUPTED, FLAGS_BUSY_SPIN_NS
    int _FAILED "FLAGS_FAILED"
    int _PLAIN "FLAGS_PLAIN"
    int _PAYLOAD "FLAGS_PAYLOAD"
    int _FAILURE "FLAGS_FAILURE"
    ctypedef int PortAtomic
    ctypedef struct FlagsHead:
        PortAtomic failures
        int groups, workers_per_group
    ctypedef struct FlagsGroup:
        PortAtomic payloads
    ctypedef struct FlagsWorker:
        PortAtomic command, done, sleeping, status, steps
        int kind, source, target
    FlagsHead *flags_head(char *)
    FlagsGroup *flags_group(char *, int)
    FlagsWorker *flags_worker(char *, int)
    int64_t port_now_ns()
    int port_load(PortAtomic *)
    int port_add(PortAtomic *, int)
    void port_store(PortAtomic *, int)
    int flags_await_command(char *, int, int, int64_t, int64_t)
    void flags_order(char *, int, int, int, int)
    void flags_order_group(char *, int, int, int, int)
    void flags_finish(char *, int, int, int)
    int flags_wait(char *, const int *, int, int64_t, int64_t)

cdef extern from *:
    """
    #if defined(__linux__)
    #include <signal.h>
    #include <sys/prctl.h>
    static int flags_die_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0; }
    #else
    static int flags_die_with_parent(void) { return 0; }
    #endif
    """
    int flags_die_with_parent()

FAILED = _FAILED
WAIT_OVER = FLAGS_WAIT_OVER
PLAIN, PAYLOAD, FAILURE = _PLAIN, _PAYLOAD, _FAILURE


def flags_bytes(int groups, int workers):
    """How much memory the flags need."""
    return FLAGS_LINE * (1 + groups + workers)


def die_with_parent():
    """Ask the system to kill this process once the thread that started it is gone. False where it cannot (not Linux)."""
    return bool(flags_die_with_parent())


cdef class Flags:
    """One process's view of the flags. The parent gives orders and waits for groups; a worker takes orders and finishes them.

    memory: a writable buffer of `flags_bytes(groups, workers)`; the parent's constructor clears it
    spin_ns: how long this process spins before it sleeps; 0 where cores are scarce
    One thread of a process at a time.
    """

    cdef Py_buffer view
    cdef char *base
    cdef int groups, workers
    cdef int64_t spin_ns
    cdef int64_t waited  # for the group that was done last
    cdef int seen
    cdef int *wanted  # [groups]: scratch of `wait`

    def __cinit__(self, memory, int groups, int workers, *, int64_t spin_ns=0, bint clear=False):
        self.base = NULL
        self.wanted = NULL
        PyObject_GetBuffer(memory, &self.view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        if groups < 1 or workers < groups or workers % groups or self.view.len < flags_bytes(groups, workers):
            PyBuffer_Release(&self.view)
            raise ShapeError(
                f"{groups} groups of {workers} workers need {flags_bytes(groups, workers)} bytes of flags, got {self.view.len}"
            )
        self.base = <char *>self.view.buf
        self.groups, self.workers = groups, workers
        self.wanted = <int *>calloc(groups, sizeof(int))
        if self.wanted == NULL:
            raise MemoryError(f"no memory for {groups} groups")
        self.spin_ns = spin_ns
        if clear:
            memset(self.base, 0, flags_bytes(groups, workers))
            flags_head(self.base).groups = groups
            flags_head(self.base).workers_per_group = workers // groups

    def __dealloc__(self):
        free(self.wanted)
        if self.base != NULL:
            PyBuffer_Release(&self.view)

    cdef int check(self, int index, int limit, str what) except -1:
        if not 0 <= index < limit:
            raise ShapeError(f"{what} must be in [0, {limit - 1}], got {index}")
        return 0

    # ------------------------------------------------------------ the parent

    def order(self, int group, int kind, int source, int target):
        """Let every worker of a group do something."""
        self.check(group, self.groups, "group")
        flags_order_group(self.base, group, kind, source, target)

    def order_one(self, int worker, int kind):
        """Let one worker do something that its group does not count."""
        self.check(worker, self.workers, "worker")
        flags_order(self.base, worker, kind, 0, 0)

    def wait(self, groups, int64_t ns):
        """The first group that is done, FAILED as soon as a worker failed, or WAIT_OVER after `ns`. Runs signal handlers."""
        cdef int count = 0, found, group
        for group in groups:
            self.check(group, self.groups, "group")
            if count == self.groups:
                raise ShapeError(f"groups must be distinct, got {groups}")
            self.wanted[count] = group
            count += 1
        cdef int64_t begin = port_now_ns(), spin_ns = self.spin_ns
        if spin_ns and self.waited < FLAGS_BUSY_SPIN_NS:
            spin_ns = FLAGS_BUSY_SPIN_NS
        with nogil:
            found = flags_wait(self.base, self.wanted, count, spin_ns, ns)
        self.waited = port_now_ns() - begin
        if found == FLAGS_INTERRUPTED:
            PyErr_CheckSignals()
            return FLAGS_WAIT_OVER
        return found

    def payloads(self, int group):
        """How many of the group's workers have sent something."""
        self.check(group, self.groups, "group")
        return port_load(&flags_group(self.base, group).payloads)

    def status(self, int worker):
        """What the worker's last command ended with: PLAIN, PAYLOAD or FAILURE."""
        self.check(worker, self.workers, "worker")
        return port_load(&flags_worker(self.base, worker).status)

    def is_done(self, int worker):
        """Whether the worker has finished its last command."""
        self.check(worker, self.workers, "worker")
        cdef FlagsWorker *w = flags_worker(self.base, worker)
        return port_load(&w.done) == port_load(&w.command)

    def steps(self, int worker):
        """Commands of its group that this worker has finished."""
        self.check(worker, self.workers, "worker")
        return port_load(&flags_worker(self.base, worker).steps)

    def forget_failure(self, int worker):
        """Make a failed worker's status PLAIN."""
        self.check(worker, self.workers, "worker")
        cdef FlagsWorker *w = flags_worker(self.base, worker)
        if port_load(&w.status) == _FAILURE:
            port_store(&w.status, _PLAIN)
            port_add(&flags_head(self.base).failures, -1)

    def replace(self, int worker):
        """A new process takes this worker's place: it has nothing to do and has finished nothing."""
        self.check(worker, self.workers, "worker")
        cdef FlagsWorker *w = flags_worker(self.base, worker)
        port_store(&w.command, 0)
        port_store(&w.done, 0)
        port_store(&w.steps, 0)
        port_store(&w.sleeping, 0)

    def finish_for(self, int worker):
        """Say in a lost worker's place that the group's command is done."""
        self.check(worker, self.workers, "worker")
        cdef FlagsWorker *w = flags_worker(self.base, worker)
        flags_finish(self.base, worker, port_load(&w.command), _PLAIN)
        port_add(&w.steps, -1)

    # ------------------------------------------------------------ a worker

    def take(self, int worker, int64_t ns):
        """(kind, source, target) of the next command, or None after `ns` or a signal."""
        self.check(worker, self.workers, "worker")
        cdef FlagsWorker *w = flags_worker(self.base, worker)
        cdef int came
        with nogil:
            came = flags_await_command(self.base, worker, self.seen, self.spin_ns, ns)
        if not came:
            PyErr_CheckSignals()
            return None
        self.seen = port_load(&w.command)
        return w.kind, w.source, w.target

    def finish(self, int worker, int status):
        """Say that the group's command is done."""
        self.check(worker, self.workers, "worker")
        flags_finish(self.base, worker, self.seen, status)

    def answer(self, int worker):
        """Say that a command of `order_one` is done."""
        self.check(worker, self.workers, "worker")
        port_store(&flags_worker(self.base, worker).done, self.seen)
