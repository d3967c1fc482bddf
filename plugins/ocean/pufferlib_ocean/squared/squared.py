"""Squared: walk from the middle of a room to the target on its rim."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int, NativeEnv


class Squared(NativeEnv):
    """Observations: uint8, the cells row by row, 0 empty, 1 the agent, 2 the target. Actions: stay, up, right, down, left."""

    module = "pufferlib_ocean.squared._squared"
    arguments = (
        Int("radius", 5, 1, 15, help="the room has 2 * radius + 1 cells a side"),
        Int("max_steps", lambda a: 8 * a.radius + 4, 0, 10**9, help="steps until truncation; 0: never"),
    )
    keys = {"up": 1, "w": 1, "right": 2, "d": 2, "down": 3, "s": 3, "left": 4, "a": 4}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(0, 2, ((2 * a.radius + 1) ** 2,), np.uint8), Discrete(5)
