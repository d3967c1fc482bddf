"""The binding of screen.h."""

import math

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t


cdef extern from "screen.h":
    ctypedef struct Axis:
        int source, target, taps, total
        const int32_t *first
        const int32_t *count
        const uint16_t *weight

    ctypedef struct Shrink:
        Axis rows, columns
        uint8_t *brighter
        uint8_t *changed
        uint8_t *picture
        uint16_t *line
        uint32_t *sums

    void shrink_brighter(Shrink *s, const uint8_t *a, const uint8_t *b, uint8_t *out) nogil


cdef class AreaShrink:
    """Averages over areas, as OpenCV's INTER_AREA, of the brighter of two screens.

    source, target: (height, width). Raises ValueError unless 1 <= target <= source on both axes.
    Calling it: `shrink(a, b, out)` with uint8 arrays, a and b C-contiguous [height, width] of the source, out of the target.
    """

    cdef Shrink plan
    cdef readonly tuple source, target
    cdef list _kept

    def __init__(self, source, target):
        self.source, self.target, self._kept = tuple(source), tuple(target), []
        for name, size, least in zip(("height", "width"), self.source, self.target):
            if not 1 <= least <= size:
                raise ValueError(f"{name} {least} must be in [1, {size}], the screen's own")
        self._lay(&self.plan.rows, self.source[0], self.target[0])
        self._lay(&self.plan.columns, self.source[1], self.target[1])
        if self.plan.rows.total > 257:
            raise ValueError(f"a screen of {self.source[0]} rows is too high: sums are kept in 16 bits")
        cdef uint8_t[::1] brighter = np.zeros(self.source[0] * self.source[1], np.uint8)
        cdef uint8_t[::1] changed = np.ones(self.source[0], np.uint8)
        cdef uint8_t[::1] picture = np.zeros(self.target[0] * self.target[1], np.uint8)
        cdef uint16_t[::1] line = np.zeros(self.source[1] + self.plan.columns.taps, np.uint16)
        cdef uint32_t[::1] sums = np.zeros(self.target[1], np.uint32)
        self._kept += [brighter, changed, picture, line, sums]
        self.plan.brighter, self.plan.changed, self.plan.picture = &brighter[0], &changed[0], &picture[0]
        self.plan.line, self.plan.sums = &line[0], &sums[0]

    cdef _lay(self, Axis *axis, int source, int target):
        """Target pixel i covers [i * source, (i + 1) * source) of a line in which a source pixel is `target` long."""
        shared = math.gcd(source, target)
        length, width = target // shared, source // shared
        begins = np.arange(target) * width
        firsts, ends = begins // length, -(-(begins + width) // length)
        taps = int((ends - firsts).max())
        pixels = firsts[:, None] + np.arange(taps)
        covered = np.minimum((pixels + 1) * length, begins[:, None] + width) - np.maximum(pixels * length, begins[:, None])
        cdef int32_t[::1] first = firsts.astype(np.int32)
        cdef int32_t[::1] count = (ends - firsts).astype(np.int32)
        cdef uint16_t[:, ::1] weight = np.maximum(covered, 0).astype(np.uint16)
        self._kept += [first, count, weight]
        axis.source, axis.target, axis.taps, axis.total = source, target, taps, width
        axis.first, axis.count, axis.weight = &first[0], &count[0], &weight[0, 0]

    def __call__(self, const uint8_t[:, ::1] a, const uint8_t[:, ::1] b, uint8_t[:, ::1] out):
        for array, wanted in ((a, self.source), (b, self.source), (out, self.target)):
            if array.shape[0] != wanted[0] or array.shape[1] != wanted[1]:
                raise ValueError(f"an array is [{array.shape[0]}, {array.shape[1]}] instead of {list(wanted)}")
        shrink_brighter(&self.plan, &a[0, 0], &b[0, 0], &out[0, 0])
