"""Enduro: pass enough cars each day, in bends and by night."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int, NativeEnv


class Enduro(NativeEnv):
    """Observations: float32[68], each in [-1, 1].

    x; speed; the road's curvature here and 60 and 120 units ahead; clock left; cars still to pass / 100; days passed, up to 5;
    then for each of ten slots: whether there is a car, its gap / 440, lane, speed, distance across and relative speed (zeros
    where none is, and in the last quarter of a day beyond a gap of 150). Actions: none, gas, left, right, brake, gas and left,
    gas and right, brake and left, brake and right. Reward: 0.1 for each car passed (-0.1 for one that passes), 1 for each day.
    """

    module = "pufferlib_ocean.enduro._enduro"
    arguments = (
        Int("frameskip", 4, 1, 16, help="ticks of the game in one step"),
        Int("max_steps", 20_000, 0, 10**9, help="steps until truncation; 0: never"),
        Int("day_ticks", 4096, 256, 10**6, help="ticks of a day"),
        Int("quota1", 60, 1, 1000, help="cars to pass on the first day"),
        Int("quota", 90, 1, 1000, help="cars to pass on each later day"),
    )
    keys = {
        "up": 1, "w": 1, "left": 2, "a": 2, "right": 3, "d": 3, "down": 4, "s": 4, "up+left": 5, "w+a": 5,
        "up+right": 6, "w+d": 6, "down+left": 7, "s+a": 7, "down+right": 8, "s+d": 8,
    }  # fmt: skip

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (68,), np.float32), Discrete(9)
