"""Cartpole: keep a pole upright on a cart, with the equations of Gymnasium's CartPole-v1."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Bool, Int, NativeEnv


class Cartpole(NativeEnv):
    """Observations: float32, position in m, velocity in m/s, angle in rad, spin in rad/s. Actions: push left, push right."""

    module = "pufferlib_ocean.cartpole._cartpole"
    arguments = (
        Bool("continuous", False, help="one action in [-1, 1], times 10 N, instead of left and right"),
        Int("max_steps", 500, 0, 10**9, help="steps until truncation; 0: never"),
        Bool("normalize", False, help="divide observations by 2.4, 3, 0.2094, 3 and clip them to [-1, 1]"),
    )
    keys = {"left": 0, "a": 0, "right": 1, "d": 1}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        high = np.array([4.8, np.inf, 0.41887903, np.inf], np.float32)
        observations = Box(-1, 1, (4,), np.float32) if a.normalize else Box(-high, high, dtype=np.float32)
        return observations, Box(-1, 1, (1,), np.float32) if a.continuous else Discrete(2)
