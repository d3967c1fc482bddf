"""Password (sanity): guess a fixed sequence of bits, with a reward only at its end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int, NativeEnv


class Password(NativeEnv):
    """Observations: float32, a one for each bit guessed so far. Actions: the next bit; a wrong one ends the episode."""

    module = "pufferlib_ocean.password._password"
    arguments = (
        Int("length", 5, 1, 16, help="number of bits"),
        Int("map_seed", 0, 0, 2**31 - 1, help="fixes the bits, the same in every world"),
    )
    keys = {"left": 0, "a": 0, "right": 1, "d": 1}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (a.length,), np.float32), Discrete(2)
