"""Tetris: seven falling pieces, a preview, a hold, and full rows that vanish."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Bool, Int, NativeEnv


class Tetris(NativeEnv):
    """Observations: float32[width * height + 22 + 7 * preview], each in [-1, 1].

    The cells from the top row (0 empty, 1 locked, .5 falling); the piece (one-hot of I, O, T, S, Z, J, L), its rotation
    (one-hot), x and y of its box; the held piece (one-hot, zeros: none), whether holding is allowed, the fall timer; then the
    next pieces (one-hot each). Actions: none, left, right, turn clockwise, soft drop, hard drop, hold. Reward: .1, .3, .5, .8
    for 1 to 4 rows at once, -1 at the end.
    """

    module = "pufferlib_ocean.tetris._tetris"
    arguments = (
        Int("width", 10, 6, 16, help="columns"),
        Int("height", 20, 8, 32, help="rows"),
        Int("preview", 3, 0, 5, help="next pieces that are seen"),
        Int("gravity", 4, 1, 64, help="steps in which a piece falls one row"),
        Bool("hold", True, help="a piece may be put aside once"),
        Int("max_steps", 10_000, 0, 10**9, help="steps until truncation; 0: never"),
        Int("garbage", 0, 0, 16, help="rows with one hole at the start; at most height / 2"),
    )
    keys = {"left": 1, "a": 1, "right": 2, "d": 2, "up": 3, "w": 3, "down": 4, "s": 4, "space": 5, "x": 6}

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        if a.garbage > a.height // 2:
            raise ConfigError(f"tetris: garbage must be in [0, {a.height // 2}], half of height={a.height}, got {a.garbage}")

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (a.width * a.height + 22 + 7 * a.preview,), np.float32), Discrete(7)
