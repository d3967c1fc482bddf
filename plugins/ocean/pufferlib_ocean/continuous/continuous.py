"""Continuous (sanity): move a point to a target in the plane with two real-valued actions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space

from pufferlib.native import Bool, Int, NativeEnv


class Continuous(NativeEnv):
    """Observations: float32, x, y, target x, target y. Actions: the move in tenths, two in [-1, 1]."""

    module = "pufferlib_ocean.continuous._continuous"
    arguments = (
        Int("max_steps", 50, 0, 10**9, help="steps until truncation; 0: never"),
        Bool("discretize", False, help="choose each axis from -1, -0.5, 0, 0.5, 1 instead"),
    )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (4,), np.float32), MultiDiscrete([5, 5]) if a.discretize else Box(-1, 1, (2,), np.float32)
