"""Frames from observations. The package draws through Java's AWT, which needs a display and draws windows' pixels."""

from __future__ import annotations

import numpy as np

from pufferlib.buffers import Array

CELL = 32
"""Pixels of a cell's side."""
OWNER, KIND = slice(10, 13), slice(13, 21)
"""Planes: whose a unit is (nobody, the row's side, the other), and what (nothing, resource, base, barracks, worker, light, heavy,
ranged)."""
GROUND, GRID = (24, 26, 30), (36, 39, 45)
COLOURS = np.array([(87, 171, 90), (83, 155, 245), (229, 83, 75)], np.uint8)


def frame(observation: Array) -> Array:
    """uint8[height * 32, width * 32, 3] from an observation [height, width, planes]."""
    height, width = observation.shape[:2]
    owners, kinds = observation[:, :, OWNER].argmax(axis=2), observation[:, :, KIND].argmax(axis=2)
    shapes = _shapes()[kinds].transpose(0, 2, 1, 3)
    picture = np.empty((height, CELL, width, CELL, 3), np.uint8)
    picture[:] = GROUND
    picture[:, 0], picture[:, :, :, 0] = GRID, GRID
    colours = np.broadcast_to(COLOURS[owners][:, None, :, None], picture.shape)
    picture[shapes] = colours[shapes]
    return picture.reshape(height * CELL, width * CELL, 3)


def _shapes() -> Array:
    """bool[kinds, 32, 32]: squares for what stands still, discs for what moves, a diamond for what shoots."""
    y, x = np.mgrid[0:CELL, 0:CELL] - (CELL - 1) / 2
    square, disc, diamond = np.maximum(abs(x), abs(y)), np.hypot(x, y), abs(x) + abs(y)
    nothing = np.zeros((CELL, CELL), np.bool_)
    barracks = (square < 12) & ((square > 8) | (square < 4))
    return np.stack([nothing, square < 9, square < 14, barracks, disc < 6, disc < 9, disc < 13, diamond < 12])
