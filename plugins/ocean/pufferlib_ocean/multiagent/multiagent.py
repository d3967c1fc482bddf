"""Multiagent (sanity): two agents each choose their own number; rows that are mixed up on the way show at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import NativeEnv


class Multiagent(NativeEnv):
    """Observations: float32, onehot of the agent's number. Reward 0.5 if the two differ, and 0.5 for choosing one's own."""

    module = "pufferlib_ocean.multiagent._multiagent"
    keys = {"left": 0, "a": 0, "right": 1, "d": 1}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (2,), np.float32), Discrete(2)

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return 2
