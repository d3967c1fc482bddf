"""The draw commands of draw.h as numpy sees them, and a builder of them for envs and tools written in Python.

`Frame` fills a `Draw` from Python; `Frame.rgb` and `Frame.commands` are what `NativeEnv.render` and
`NativeEnv.draw_commands` are for a game in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pufferlib.native._raster import MAX_BYTES, MAX_COMMANDS, rasterise
from pufferlib.native.env import DRAW_COMMAND, DrawCommands


class Kind(IntEnum):
    """DrawKind: what a command draws, and what its `v` holds."""

    CLEAR = 0
    RECT = 1  # x, y, w, h
    OUTLINE = 2  # x, y, w, h, line width
    CIRCLE = 3  # x, y, radius
    LINE = 4  # x0, y0, x1, y1, line width
    TRI = 5  # x0, y0, x1, y1, x2, y2
    TEXT = 6  # x, y, size
    TILES = 7  # x, y, cell, columns, rows


HEADER = ("width", "height", "count", "used", "overflow")
DRAW_DTYPE = np.dtype(
    [(name, np.int32) for name in HEADER] + [("commands", DRAW_COMMAND, MAX_COMMANDS), ("bytes", np.uint8, MAX_BYTES)]
)


class Frame:
    """A `Draw` filled from Python: the functions of draw.h as methods. Colours are 0xRRGGBBAA, coordinates pixels."""

    def __init__(self, width: int = 640, height: int = 480) -> None:
        self.data: NDArray[Any] = np.zeros((), DRAW_DTYPE)
        self.data["width"], self.data["height"] = width, height

    def _push(self, kind: Kind, color: int, values: Sequence[float], payload: bytes = b"") -> None:
        count, used = int(self.data["count"]), int(self.data["used"])
        if count == MAX_COMMANDS or used + len(payload) > MAX_BYTES:
            self.data["overflow"] = 1
            return
        command = self.data["commands"][count]
        command["kind"], command["color"], command["data"], command["size"] = kind, color, used, len(payload)
        command["v"] = 0
        command["v"][: len(values)] = values
        self.data["bytes"][used : used + len(payload)] = np.frombuffer(payload, np.uint8)
        self.data["count"], self.data["used"] = count + 1, used + len(payload)

    def begin(self) -> None:
        """Start the next picture on the same canvas."""
        self.data["count"] = self.data["used"] = self.data["overflow"] = 0

    def clear(self, color: int) -> None:
        """The whole canvas."""
        self._push(Kind.CLEAR, color, ())

    def rect(self, x: float, y: float, w: float, h: float, color: int) -> None:
        """Filled."""
        self._push(Kind.RECT, color, (x, y, w, h))

    def outline(self, x: float, y: float, w: float, h: float, width: float, color: int) -> None:
        """A rectangle's border, `width` thick, inside of it."""
        self._push(Kind.OUTLINE, color, (x, y, w, h, width))

    def circle(self, x: float, y: float, radius: float, color: int) -> None:
        """Filled, around (x, y)."""
        self._push(Kind.CIRCLE, color, (x, y, radius))

    def line(self, x0: float, y0: float, x1: float, y1: float, width: float, color: int) -> None:
        """Square ends."""
        self._push(Kind.LINE, color, (x0, y0, x1, y1, width))

    def tri(self, x0: float, y0: float, x1: float, y1: float, x2: float, y2: float, color: int) -> None:
        """Filled; consecutive ones of one colour are one shape."""
        self._push(Kind.TRI, color, (x0, y0, x1, y1, x2, y2))

    def text(self, x: float, y: float, size: float, color: int, text: str) -> None:
        """From the top left corner, 0.6 * size a character."""
        self._push(Kind.TEXT, color, (x, y, size), text.encode("ascii", "replace"))

    def tiles(self, x: float, y: float, cell: float, codes: ArrayLike, palette: ArrayLike) -> None:
        """A grid: codes uint8[rows, columns], palette uint32[256] of colours (alpha 0: not drawn)."""
        grid, colors = np.asarray(codes, np.uint8), np.zeros(256, "<u4")
        given = np.asarray(palette, np.uint32)
        colors[: len(given)] = given
        if grid.size:
            self._push(Kind.TILES, 0, (x, y, cell, grid.shape[1], grid.shape[0]), colors.tobytes() + grid.tobytes())

    def rgb(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The picture so far, uint8[height, width, 3], written into `out` if that is given."""
        return rasterise(self.data, out)

    def commands(self) -> DrawCommands:
        """Views of the commands so far, for players such as a window."""
        d = self.data
        return DrawCommands(int(d["width"]), int(d["height"]), bool(d["overflow"]), d["commands"][: int(d["count"])], d["bytes"])
