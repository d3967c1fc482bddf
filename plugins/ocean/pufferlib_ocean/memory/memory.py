"""Memory (sanity): recall a bit that was shown some steps ago."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int, NativeEnv


class Memory(NativeEnv):
    """Observations: float32, the bit as -1 or 1 at the first step, else 0; 1 when the answer is due. Actions: the bit."""

    module = "pufferlib_ocean.memory._memory"
    arguments = (Int("delay", 4, 1, 64, help="steps from the bit to the answer"),)
    keys = {"left": 0, "a": 0, "right": 1, "d": 1}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (2,), np.float32), Discrete(2)
