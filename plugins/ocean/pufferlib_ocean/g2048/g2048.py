"""2048: slide the tiles of a board; equal ones merge, and every move adds one, until nothing can move."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Float, Int, NativeEnv


class G2048(NativeEnv):
    """Observations: uint8[size * size], the cells row by row: 0 where empty, else the exponent of the tile's value (1 is 2).

    Actions: up, right, down, left. A move slides every tile and merges equal ones, each once; if anything changed, a new
    tile appears in a random empty cell, 2 or (once in ten) 4. Reward: the exponents of the tiles made / `goal`, or
    `reward_noop` where nothing moved. Score: the sum of the values of the tiles made. Tiles of 2^17 do not merge.
    """

    module = "pufferlib_ocean.g2048._g2048"
    arguments = (
        Int("size", 4, 2, 6, help="cells of a side"),
        Int("goal", 11, 3, 17, help="exponent of the tile that counts as solved: 11 is 2048"),
        Int("max_steps", 10_000, 0, 10**9, help="steps until truncation; 0: never"),
        Float("reward_noop", -0.05, -100, 100, help="reward for a move that changes nothing"),
    )
    waits_for_keys = True
    keys = {"up": 0, "w": 0, "right": 1, "d": 1, "down": 2, "s": 2, "left": 3, "a": 3}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(0, 17, (a.size * a.size,), np.uint8), Discrete(4)
