"""The binding of screen.h."""

import math

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memmove


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

    ctypedef struct Greys:
        uint8_t *level
        uint8_t *known

    int to_grey(const Greys *greys, const uint8_t *raw, uint8_t *last, uint8_t *grey, int height, int width, int anew) nogil


cdef class GreyScreens:
    """The last screens of one game in grey. ALE translates every pixel of every screen, this only rows that are new.

    height, width, count: of the screens
    raw: uint8[height, width], for `ALEInterface.getScreen`; screens: a list of uint8[height, width], in grey

    Which grey a colour has is learnt from ALE's own grey screens, one for each screen with a colour that is new.
    """

    cdef Greys greys
    cdef int height, width
    cdef readonly object raw
    cdef readonly list screens
    cdef uint8_t[:, ::1] _raw
    cdef uint8_t[:, :, ::1] _last, _grey
    cdef uint8_t[::1] _begun

    def __init__(self, int height, int width, int count):
        self.height, self.width = height, width
        grey = np.zeros((count, height, width), np.uint8)
        self.raw, self.screens = np.zeros((height, width), np.uint8), list(grey)
        self._raw, self._grey = self.raw, grey
        self._last = np.zeros((count, height, width), np.uint8)
        self._begun = np.zeros(count, np.uint8)
        for color in range(256):
            self.greys.known[color] = 0

    def take(self, int slot):
        """Turn `raw` into screens[slot]. False: a colour is new; fill screens[slot] by `getScreenGrayscale`, then `learn(slot)`."""
        self._check(slot)
        cdef int anew = not self._begun[slot]
        self._begun[slot] = 1
        return to_grey(
            &self.greys, &self._raw[0, 0], &self._last[slot, 0, 0], &self._grey[slot, 0, 0], self.height, self.width, anew
        ) != 0

    def learn(self, int slot):
        """From screens[slot], which is `raw` in grey."""
        cdef int row, column
        self._check(slot)
        for row in range(self.height):
            for column in range(self.width):
                self.greys.level[self._raw[row, column]] = self._grey[slot, row, column]
                self.greys.known[self._raw[row, column]] = 1

    cdef _check(self, int slot):
        if not 0 <= slot < self._begun.shape[0]:
            raise IndexError(f"slot {slot} of {self._begun.shape[0]}")


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
        self.check(a, b, out)
        shrink_brighter(&self.plan, &a[0, 0], &b[0, 0], &out[0, 0])

    cdef check(self, const uint8_t[:, ::1] a, const uint8_t[:, ::1] b, uint8_t[:, ::1] out):
        for array, wanted in ((a, self.source), (b, self.source), (out, self.target)):
            if array.shape[0] != wanted[0] or array.shape[1] != wanted[1]:
                raise ValueError(f"an array is [{array.shape[0]}, {array.shape[1]}] instead of {list(wanted)}")


cdef class Push:
    """Drops the first picture of a stack and shrinks two screens to its end, always the same arrays.

    shrinks: one for each plane, at most three; first, second: a list each of as many screens
    stack: C-contiguous uint8[pictures * planes, height, width]
    """

    cdef list _shrinks
    cdef object _kept
    cdef uint8_t *_stack
    cdef const uint8_t *_first[3]
    cdef const uint8_t *_second[3]
    cdef size_t _picture, _older
    """Bytes of a plane's picture, and of all planes but the newest."""

    def __init__(self, list shrinks, list first, list second, stack):
        cdef int planes = len(shrinks), plane
        cdef const uint8_t[:, ::1] a, b
        cdef uint8_t[:, :, ::1] pictures = stack
        if not 1 <= planes <= 3 or not planes == len(first) == len(second) or pictures.shape[0] < planes:
            raise ValueError(f"{planes} shrinks, {len(first)} and {len(second)} screens, {pictures.shape[0]} planes in the stack")
        for plane in range(planes):
            a, b = first[plane], second[plane]
            (<AreaShrink> shrinks[plane]).check(a, b, pictures[plane])
            self._first[plane], self._second[plane] = &a[0, 0], &b[0, 0]
        self._shrinks, self._kept, self._stack = shrinks, (list(first), list(second), stack), &pictures[0, 0, 0]
        self._picture = pictures.shape[1] * pictures.shape[2]
        self._older = (pictures.shape[0] - planes) * self._picture

    def __call__(self):
        cdef int plane, planes = len(self._shrinks)
        memmove(self._stack, self._stack + planes * self._picture, self._older)
        for plane in range(planes):
            shrink_brighter(
                &(<AreaShrink> self._shrinks[plane]).plan,
                self._first[plane],
                self._second[plane],
                self._stack + self._older + plane * self._picture,
            )
