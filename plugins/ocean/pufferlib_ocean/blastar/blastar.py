"""Blastar: shoot thirty saucers, each faster than the last, and step out of their beams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int, NativeEnv


class Blastar(NativeEnv):
    """Observations: float32[10], each in [-1, 1].

    Ship x; saucer x, y and direction; shot x, y; beam x, y (each -1, and the direction 0, where there is none); lives; kills.
    Actions: none, left, right, fire, left and fire, right and fire; firing while a shot flies does nothing. Reward: 1 for each
    saucer, -1 for each lost life.
    """

    module = "pufferlib_ocean.blastar._blastar"
    arguments = (
        Int("frameskip", 4, 1, 16, help="ticks of the game in one step"),
        Int("max_steps", 4000, 0, 10**9, help="steps until truncation; 0: never"),
        Int("lives", 5, 1, 9, help="beams that end an episode"),
        Int("kills", 30, 1, 1000, help="saucers that end an episode"),
    )
    keys = {"left": 1, "a": 1, "right": 2, "d": 2, "space": 3, "left+space": 4, "a+space": 4, "right+space": 5, "d+space": 5}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (10,), np.float32), Discrete(6)
