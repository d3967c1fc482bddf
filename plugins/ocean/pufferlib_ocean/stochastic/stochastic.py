"""Stochastic (sanity): choose action 0 in three quarters of the steps, blindly; no deterministic policy can."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Float, Int, NativeEnv


class Stochastic(NativeEnv):
    """Observations: float32, always 0. Reward: how much closer to `p` the share of action 0 came, divided by `p`."""

    module = "pufferlib_ocean.stochastic._stochastic"
    arguments = (
        Float("p", 0.75, 0.01, 1.0, help="the share of action 0 to reach"),
        Int("max_steps", 0, 0, 10**9, help="steps until truncation; 0: never. The 100th step is terminal"),
    )
    keys = {"left": 0, "a": 0, "right": 1, "d": 1}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (1,), np.float32), Discrete(2)
