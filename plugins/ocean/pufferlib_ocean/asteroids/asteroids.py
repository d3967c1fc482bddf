"""Asteroids: turn, thrust and shoot rocks that split, on a torus."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int, NativeEnv


class Asteroids(NativeEnv):
    """Observations: float32[68], each in [-1, 1].

    Velocity x, y; heading (cos, sin); cooldown; free shots; lives; safety after a lost life; then the 12 nearest rocks as the
    ship sees them (ahead, to the right): offset * 2, relative velocity / 0.02, size / 3 (all 0: no more rocks). Actions: none,
    thrust, left, right, fire, thrust and fire. Reward: 0.1, 0.2, 0.3 for a rock of size 3, 2, 1, and -1 for a lost life.
    """

    module = "pufferlib_ocean.asteroids._asteroids"
    arguments = (
        Int("frameskip", 2, 1, 16, help="ticks of the game in one step"),
        Int("max_steps", 3000, 0, 10**9, help="steps until truncation; 0: never"),
        Int("start_rocks", 4, 1, 8, help="rocks of the first wave; each wave has one more, up to 8"),
        Int("lives", 3, 1, 9, help="collisions that end an episode"),
    )
    keys = {
        "up": 1, "w": 1, "left": 2, "a": 2, "right": 3, "d": 3, "space": 4, "up+space": 5, "w+space": 5,
    }  # fmt: skip

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (68,), np.float32), Discrete(6)
