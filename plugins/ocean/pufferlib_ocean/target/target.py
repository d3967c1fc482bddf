"""Target: drive to goals that move elsewhere once somebody has reached them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space

from pufferlib.native import Int, NativeEnv


class Target(NativeEnv):
    """Observations: float32, each in [-1, 1]; 28 at the defaults.

    The goals, nearest first, 4 values each: dx/width, dy/height, and cosine and sine of the bearing minus the own heading;
    then the nearest `max_others` agents alike; then own x/width, y/height, speed/20 and t/max_steps (0 if that is 0). Actions:
    turn by (a - 4) * 0.1 rad, accelerate by (a - 2) * 0.5. Reward: 1 for a goal reached. Episodes are only ever truncated.
    """

    module = "pufferlib_ocean.target._target"
    arguments = (
        Int("num_agents", 8, 1, 64, help="rows of one world"),
        Int("num_goals", 4, 1, 16, help="goals at any time"),
        Int("width", 1920, 200, 10_000, help="of the field; top speed is 20 a step"),
        Int("height", 1080, 200, 10_000, help="of the field"),
        Int("max_steps", 500, 0, 10**9, help="steps until truncation; 0: never"),
        Int("max_others", 2, 0, 7, help="how many of the other agents one sees"),
    )
    keys = {
        "left": {0: 2}, "a": {0: 2}, "right": {0: 6}, "d": {0: 6}, "up": {1: 4}, "w": {1: 4}, "down": {1: 0}, "s": {1: 0},
    }  # fmt: skip
    idle_action = (4, 2)

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        size = 4 * a.num_goals + 4 * min(a.max_others, a.num_agents - 1) + 4
        return Box(-1, 1, (size,), np.float32), MultiDiscrete([9, 5])

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_agents)
