# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The inner loop of emulation: Python envs stepped one after the other, what they return copied into a batch's arrays."""

from libc.math cimport isfinite
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_STRIDED_RO, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

import numpy as np

cdef object ARRAY = np.ndarray
cdef int WRITE = PyBUF_SIMPLE | PyBUF_WRITABLE


def choose(list table, actions):
    """table[action] for every one of C-contiguous int32 actions; None if one of them is no index of it."""
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef int action, size = <int> len(table)
    chosen = []
    PyObject_GetBuffer(actions, &view, PyBUF_SIMPLE)
    count = view.len // 4
    for i in range(count):
        action = (<int *> view.buf)[i]
        if not 0 <= action < size:
            chosen = None
            break
        chosen.append(table[action])
    PyBuffer_Release(&view)
    return chosen


def any_ended(terminals, truncations):
    """Whether one of C-contiguous bools is true."""
    return any_set(terminals) or any_set(truncations)


cdef bint any_set(flags) except -1:
    cdef Py_buffer view
    cdef Py_ssize_t i
    cdef int found = 0
    PyObject_GetBuffer(flags, &view, PyBUF_SIMPLE)
    for i in range(view.len):
        found |= (<uint8_t *> view.buf)[i]
    PyBuffer_Release(&view)
    return found != 0


cdef class Stepper:
    """Knows what an observation must look like to be copied as it is.

    dtype, shape: of such an observation; shape None: none is. pack(observation) -> the row's bytes, for all others
    reward_value, flag_value, info_value: make a float, a bool and a dict of what is none, or raise
    After an exception, `index` is the env that was being stepped and `result` what its step returned, or NO_RESULT.
    `all_finite`: whether all rewards of the last step were.
    """

    cdef readonly bint all_finite
    cdef readonly Py_ssize_t index
    cdef readonly object result
    cdef object dtype, shape, pack, reward_value, flag_value, info_value, no_result

    def __init__(self, dtype, shape, pack, reward_value, flag_value, info_value, no_result):
        self.dtype, self.shape, self.pack = dtype, shape, pack
        self.reward_value, self.flag_value, self.info_value = reward_value, flag_value, info_value
        self.result = self.no_result = no_result

    def step(self, list steps, list choices, observations, rewards, terminals, truncations, masks, returns):
        """Call steps[i](choices[i]) for every row i.

        observations: [rows, ...]; rewards: float32[rows]; terminals, truncations, masks: bool[rows]; all are overwritten
        returns: float64[rows], to which the rewards are added. Arrays must be C-contiguous.
        Returns (rows whose episode ended, {row: its info} where there is one). Same-step reset is the caller's.
        """
        cdef Py_ssize_t rows = len(steps), row
        cdef Py_buffer views[6]
        cdef int taken = 0
        cdef char *target
        cdef Py_ssize_t size
        cdef float reward_f
        if len(choices) != rows:
            raise ValueError(f"{rows} envs were given {len(choices)} actions")
        ended, said = [], {}
        self.index, self.result, self.all_finite = 0, self.no_result, True
        try:
            for array in (observations, rewards, terminals, truncations, masks, returns):
                PyObject_GetBuffer(array, &views[taken], WRITE)
                taken += 1
                if views[taken - 1].len < rows or views[taken - 1].len % rows:
                    raise ValueError(f"an array of {views[taken - 1].len} bytes cannot hold {rows} rows")
            if views[1].len != 4 * rows or views[5].len != 8 * rows:
                raise ValueError("rewards must be float32[rows] and returns float64[rows]")
            size = views[0].len // rows
            memset(views[2].buf, 0, rows)
            memset(views[3].buf, 0, rows)
            memset(views[4].buf, 1, rows)
            for row in range(rows):
                self.index, self.result = row, self.no_result
                result = steps[row](choices[row])
                self.result = result
                observation, reward, terminal, truncation, info = result
                if type(observation) is ARRAY and observation.dtype is self.dtype and observation.shape == self.shape:
                    packed = row_bytes(observation)
                else:
                    packed = self.pack(observation)
                if PyBytes_GET_SIZE(packed) != size:
                    raise ValueError(f"a row has {size} bytes, its observation {PyBytes_GET_SIZE(packed)}")
                memcpy(<char *> views[0].buf + row * size, PyBytes_AS_STRING(packed), size)
                reward_f = <float> (<double> (reward if type(reward) is float else self.reward_value(reward)))
                self.all_finite &= isfinite(reward_f) != 0
                (<float *> views[1].buf)[row] = reward_f
                (<double *> views[5].buf)[row] += reward_f
                if terminal is not False or truncation is not False:
                    terminal = self.flag_value(terminal, "terminated")
                    truncation = self.flag_value(truncation, "truncated")
                    if terminal or truncation:
                        # Terminal wins: beyond a true end there is nothing to bootstrap.
                        (<uint8_t *> views[2].buf)[row] = bool(terminal)
                        (<uint8_t *> views[3].buf)[row] = bool(truncation) and not terminal
                        ended.append(row)
                if info or type(info) is not dict:
                    said[row] = self.info_value(info)
        finally:
            while taken:
                taken -= 1
                PyBuffer_Release(&views[taken])
        return ended, said


cpdef bytes row_bytes(array):
    """`array.tobytes()`, ten times as fast for images that are a transposed or flipped view, as many envs give."""
    cdef Py_buffer view
    if array.ndim < 2 or array.flags.c_contiguous:
        return array.tobytes()
    PyObject_GetBuffer(array, &view, PyBUF_STRIDED_RO)
    packed = PyBytes_FromStringAndSize(NULL, view.len)
    cdef char *target = PyBytes_AS_STRING(packed)
    cdef Py_ssize_t together = view.itemsize
    cdef int dimensions = view.ndim
    with nogil:
        while dimensions and view.strides[dimensions - 1] == together:
            dimensions -= 1
            together *= view.shape[dimensions]
        if view.len:
            copy_strided(target, <const char *> view.buf, view.shape, view.strides, dimensions, together)
    PyBuffer_Release(&view)
    return packed


cdef char *copy_strided(
    char *target, const char *source, const Py_ssize_t *shape, const Py_ssize_t *strides, int dimensions, Py_ssize_t together
) noexcept nogil:
    """Pieces of `together` bytes, which lie together in the source, one after the other. Returns the end."""
    cdef Py_ssize_t i, count = shape[0] if dimensions else 1, stride = strides[0] if dimensions else 0
    if dimensions > 1:
        for i in range(count):
            target = copy_strided(target, source + i * stride, shape + 1, strides + 1, dimensions - 1, together)
        return target
    for i in range(count):
        if together == 3:  # of a known size, a copy takes two instructions: a pixel's colours
            memcpy(target, source, 3)
        elif together == 1:
            target[0] = source[0]
        elif together == 4:
            memcpy(target, source, 4)
        else:
            memcpy(target, source, together)
        target += together
        source += stride
    return target


def holds_nan(array):
    """Whether a C-contiguous array of float32 or float64 holds NaN."""
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef int found = 0
    cdef bint wide = array.itemsize == 8
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    count = view.len // (8 if wide else 4)
    with nogil:
        if wide:
            for i in range(count):
                found |= (<double *> view.buf)[i] != (<double *> view.buf)[i]
        else:
            for i in range(count):
                found |= (<float *> view.buf)[i] != (<float *> view.buf)[i]
    PyBuffer_Release(&view)
    return found != 0


def all_finite(array):
    """Whether a C-contiguous array of float32 holds neither NaN nor infinity."""
    cdef Py_buffer view
    cdef Py_ssize_t i
    cdef int found = 1
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    for i in range(view.len // 4):
        found &= isfinite((<float *> view.buf)[i]) != 0
    PyBuffer_Release(&view)
    return found != 0
