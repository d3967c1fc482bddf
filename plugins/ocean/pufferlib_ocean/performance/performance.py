"""Performance (sanity): burn a known time per step, to measure how vectorisation scales."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Float, Int, NativeEnv


class Performance(NativeEnv):
    """Observations: float32, the last random number in [0, 1], then zeros. Actions do nothing; the reward is 0."""

    module = "pufferlib_ocean.performance._performance"
    arguments = (
        Int("work", 1000, 0, 10**7, help="random numbers (PCG32) made per step"),
        Float("spread", 0.0, 0.0, 1.0, help="work varies evenly by this share from step to step"),
        Int("obs_size", 64, 1, 65536, help="floats in an observation"),
        Int("max_steps", 100, 0, 10**9, help="steps until truncation; 0: never"),
    )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (a.obs_size,), np.float32), Discrete(2)
