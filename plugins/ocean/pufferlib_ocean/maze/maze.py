"""Maze: find the goal of an unknown maze, seeing only a window around yourself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Float, Int, NativeEnv


class Maze(NativeEnv):
    """Observations: uint8, the cells around the agent row by row, then the direction of the goal.

    Cells: 0 open, 1 wall (and outside), 2 goal, 3 visited in this episode, 4 the agent itself. Direction: sign(dx) + 1 and
    sign(dy) + 1. Actions: stay, up, right, down, left; walls block. Reward: 1 at the goal, -0.001 a step. All worlds draw
    their mazes from one pool, the same for every seed of the env.
    """

    module = "pufferlib_ocean.maze._maze"
    arguments = (
        Int("size", 21, 5, 47, step=2, help="cells of a side, with the outer walls"),
        Int("vision", 5, 1, 10, help="cells seen on each side"),
        Int("num_maps", 1024, 1, 65_536, help="mazes in the pool"),
        Int("map_seed", 0, 0, 2**31 - 1, help="of the pool"),
        Float("loops", 0.05, 0, 1, help="share of the walls between two corridors that are opened after carving"),
        Int("max_steps", lambda a: 2 * a.size**2, 0, 10**9, help="steps until truncation; 0: never"),
    )
    keys = {"up": 1, "w": 1, "right": 2, "d": 2, "down": 3, "s": 3, "left": 4, "a": 4}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(0, 4, ((2 * a.vision + 1) ** 2 + 2,), np.uint8), Discrete(5)
