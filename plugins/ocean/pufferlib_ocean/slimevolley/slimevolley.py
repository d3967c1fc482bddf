"""Slimevolley: volleyball of two slimes, against a bot or against yourself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Choice, Float, Int, NativeEnv


class Slimevolley(NativeEnv):
    """Observations: float32[14], each in [-1, 1]. Every row sees itself on the left, y is up.

    Own x/24, y/10, vx/17, vy/24; ball x/24, y/24, vx/40, vy/40; the other's like the own; own lives, other's lives, as shares.
    Actions: none, forward (to the net), back, jump, forward and jump, back and jump. Reward: 1 for a ball won, -1 for one lost.
    With opponent="self" a world has two rows, whose episodes end together.
    """

    module = "pufferlib_ocean.slimevolley._slimevolley"
    arguments = (
        Choice("opponent", "bot", ("bot", "self"), help="who plays the other side"),
        Float("bot_epsilon", 0.0, 0, 1, help="share of the bot's moves that are random"),
        Int("lives", 5, 1, 20, help="balls that a side may lose"),
        Int("frameskip", 2, 1, 16, help="ticks of 1/60 s in one step"),
        Int("max_steps", 3000, 0, 10**9, help="steps until truncation; 0: never"),
    )
    keys = {
        "right": 1, "d": 1, "left": 2, "a": 2, "up": 3, "w": 3, "space": 3, "right+up": 4, "right+space": 4, "d+w": 4,
        "left+up": 5, "left+space": 5, "a+w": 5,
    }  # fmt: skip

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (14,), np.float32), Discrete(6)

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return 2 if a.opponent == "self" else 1
