"""Boids: each agent steers one boid by what it sees of its neighbours, and is paid for flying as a flock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space

from pufferlib.native import Float, Int, NativeEnv


class Boids(NativeEnv):
    """Observations: float32[4 + 4 * neighbours], each in [-1, 1].

    Own x and y (0 in the middle, 1 at the edge), velocity / 4; then of the nearest boids within 100, nearest first: offset / 100
    and difference in velocity / 8, zeros where there are fewer. Actions: accelerate along x and y by (a - 2) * 0.25 each; speeds
    lie in [1, 4]. Reward, each step, by the weights and divided by 100: cohesion * (1 - |mean offset| / 100) + alignment *
    (cosine between the own and the neighbours' mean velocity) - separation * (share of the neighbours within 20) - margin
    (within 50 of a wall). Score: that cosine's mean. A world's rows are truncated together.
    """

    module = "pufferlib_ocean.boids._boids"
    arguments = (
        Int("num_boids", 64, 2, 1024, help="rows of one world"),
        Int("neighbours", 8, 1, 16, help="most that one sees"),
        Int("width", 800, 100, 5000, help="of the field; the fastest fly 4 a step"),
        Int("height", 600, 100, 5000, help="of the field"),
        Int("max_steps", 1000, 0, 10**9, help="steps until truncation; 0: never"),
        Float("cohesion", 0.05, -100, 100, help="weight of being near the neighbours' middle"),
        Float("alignment", 1.0, -100, 100, help="weight of flying as they do"),
        Float("separation", 1.0, -100, 100, help="weight against being too near"),
        Float("margin", 1.0, -100, 100, help="weight against being near a wall"),
    )
    keys = {
        "left": {0: 0}, "a": {0: 0}, "right": {0: 4}, "d": {0: 4}, "up": {1: 0}, "w": {1: 0}, "down": {1: 4}, "s": {1: 4},
    }  # fmt: skip
    idle_action = (2, 2)

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (4 + 4 * a.neighbours,), np.float32), MultiDiscrete([5, 5])

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_boids)
