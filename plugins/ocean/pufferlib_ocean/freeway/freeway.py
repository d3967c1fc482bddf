"""Freeway: walk a hen across ten lanes of cars, as often as the clock allows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Bool, Int, NativeEnv


class Freeway(NativeEnv):
    """Observations: float32[34], each in [-1, 1].

    Hen y; stun; clock left; score; then for each lane from the lowest: the signed gap to the nearest car that comes towards the
    hen or is on it (/ 100 px; 1 where all have passed), the signed speed, the cars' length. Actions: stay, up, down. Reward: 1
    for a crossing and, with `dense`, 0.01 for each lane newly entered since the last start. The level decides speeds, numbers
    and lengths; from level 4 on each lane's speed changes every 128 ticks.
    """

    module = "pufferlib_ocean.freeway._freeway"
    arguments = (
        Int("frameskip", 4, 1, 16, help="ticks of the game in one step"),
        Int("max_steps", 0, 0, 10**9, help="steps until truncation; 0: never"),
        Int("game_ticks", 8192, 64, 10**6, help="ticks on the clock, whose end is the episode's"),
        Int("level", -1, -1, 7, help="traffic; -1: a random level each episode"),
        Bool("dense", True, help="also reward each lane newly entered"),
    )
    keys = {"up": 1, "w": 1, "down": 2, "s": 2}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (34,), np.float32), Discrete(3)
