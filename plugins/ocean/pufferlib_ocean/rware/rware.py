"""Rware: robots in a warehouse bring requested shelves to the goals, without getting in each other's way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Int, NativeEnv


class Rware(NativeEnv):
    """Observations: float32[40], each in [-1, 1]. In a robot's own axes x is to its right and y behind it.

    x, y; carries a shelf; that is requested; may be put down here; heading (one of 4); the 3x3 cells around, from ahead-left,
    each robot, standing shelf, requested; offset to where to go next, in own axes (the nearest requested shelf that stands; the
    nearest free home if one carries a shelf that is not requested; else zeros); offset to the nearest goal, in own axes.

    Actions: none, forward, turn left, turn right, lift or put down. A robot with a shelf cannot pass under others. Reward: 1
    for a requested shelf brought to a goal. A world's rows are truncated together.
    """

    module = "pufferlib_ocean.rware._rware"
    arguments = (
        Int("num_agents", 8, 1, 64, help="robots, rows of one world"),
        Int("shelf_columns", 3, 1, 9, step=2, help="blocks of shelves side by side, each two shelves wide"),
        Int("column_height", 8, 2, 32, help="shelves in a block from top to bottom"),
        Int("shelf_rows", 2, 1, 8, help="blocks of shelves one below the other"),
        Int("requests", 8, 1, 2304, help="shelves that are requested at any time; at most half of all"),
        Int("max_steps", 500, 0, 10**9, help="steps until truncation; 0: never"),
    )
    keys = {"up": 1, "w": 1, "left": 2, "a": 2, "right": 3, "d": 3, "space": 4}

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        shelves = 2 * a.shelf_columns * a.column_height * a.shelf_rows
        free = (3 * a.shelf_columns + 1) * ((a.column_height + 1) * a.shelf_rows + 2) - shelves - 2
        if a.requests > shelves // 2:
            raise ConfigError(f"rware: requests must be in [1, {shelves // 2}], half of the {shelves} shelves, got {a.requests}")
        if a.num_agents > free:
            raise ConfigError(
                f"rware: num_agents must be in [1, {free}], the cells without a shelf or a goal, got {a.num_agents}; "
                "make the warehouse larger"
            )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (40,), np.float32), Discrete(5)

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_agents)
