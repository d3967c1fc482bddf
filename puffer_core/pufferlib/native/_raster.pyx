# cython: language_level=3, boundscheck=False, wraparound=False
"""Turns draw commands into RGB pixels: the C rasteriser over any buffer that holds a whole `Draw` (see draw.h)."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, uint8_t

import numpy as np

from pufferlib.errors import RenderError, ShapeError

cdef extern from "raster.h" nogil:
    ctypedef struct Draw:
        int32_t width, height

    int _MAX_SIDE "RASTER_MAX_SIDE"
    int _MAX_COMMANDS "DRAW_MAX_COMMANDS"
    int _MAX_BYTES "DRAW_MAX_BYTES"
    void raster_draw(const Draw *d, uint8_t *rgb)

MAX_SIDE = _MAX_SIDE
MAX_COMMANDS = _MAX_COMMANDS
MAX_BYTES = _MAX_BYTES
DRAW_BYTES = sizeof(Draw)


def rasterise(draw, out=None):
    """The picture of a `Draw`: uint8[height, width, 3].

    draw: a contiguous buffer of DRAW_BYTES bytes, for example an array of `pufferlib.render.commands.DRAW_DTYPE`
    out: a C-contiguous uint8[height, width, 3] array to fill and return; without it a new one is made
    Raises ShapeError if a buffer does not fit, RenderError if the canvas is not within 1 .. MAX_SIDE pixels a side.
    """
    cdef Py_buffer source, target
    cdef int32_t width, height
    PyObject_GetBuffer(draw, &source, PyBUF_SIMPLE)
    try:
        if source.len != sizeof(Draw):
            raise ShapeError(f"draw must hold one Draw of {sizeof(Draw)} bytes, got {source.len} bytes")
        width = (<const Draw *> source.buf).width
        height = (<const Draw *> source.buf).height
        if not (1 <= width <= _MAX_SIDE and 1 <= height <= _MAX_SIDE):
            raise RenderError(f"the canvas must have 1 to {_MAX_SIDE} pixels a side, got width={width}, height={height}")
        if out is None:
            out = np.empty((height, width, 3), np.uint8)
        elif not isinstance(out, np.ndarray) or out.shape != (height, width, 3) or out.dtype != np.uint8 or not out.flags.c_contiguous:
            found = f"{out.dtype}{list(out.shape)}" if isinstance(out, np.ndarray) else type(out).__name__
            raise ShapeError(f"out must be a C-contiguous uint8[{height}, {width}, 3] array, got {found}")
        PyObject_GetBuffer(out, &target, PyBUF_SIMPLE | PyBUF_WRITABLE)
        try:
            with nogil:
                raster_draw(<const Draw *> source.buf, <uint8_t *> target.buf)
        finally:
            PyBuffer_Release(&target)
    finally:
        PyBuffer_Release(&source)
    return out
