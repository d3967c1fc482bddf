"""Bandit (sanity): find the one arm that pays with probability 0.9."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Int, NativeEnv


class Bandit(NativeEnv):
    """Observations: float32, always 0. Actions: the arm. Reward 1 with probability 0.9 for the best arm, else 0.1."""

    module = "pufferlib_ocean.bandit._bandit"
    arguments = (
        Int("arms", 4, 2, 64, help="number of arms"),
        Int("best", lambda a: min(2, a.arms - 1), 0, 63, help="the arm that pays best, below arms"),
    )
    keys = {str(arm + 1): arm for arm in range(4)}

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        if a.best >= a.arms:
            raise ConfigError(f"bandit: best must be below arms={a.arms}, got {a.best}")

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (1,), np.float32), Discrete(a.arms)
