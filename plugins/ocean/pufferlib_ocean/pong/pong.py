"""Pong: keep the ball in play and past the other paddle, against a bot or against yourself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Choice, Float, Int, NativeEnv


class Pong(NativeEnv):
    """Observations: float32[8], each in [-1, 1]. Every row sees itself at the right end.

    Own y, other's y; ball x, y, vx, vy; own points, other's points. Actions: stay, up, down. Reward: 1 for a point won, -1
    for one lost. With opponent="self" a world has two rows, whose episodes end together.
    """

    module = "pufferlib_ocean.pong._pong"
    arguments = (
        Int("frameskip", 4, 1, 16, help="ticks of the game in one step"),
        Int("max_steps", 10_000, 0, 10**9, help="steps until truncation; 0: never"),
        Choice("opponent", "bot", ("bot", "self"), help="who plays the other side"),
        Float("bot_speed", 2.5, 0, 8, help="of the bot's paddle, px per tick; a learner's is 4"),
        Int("points", 21, 1, 99, help="points that win an episode"),
    )
    keys = {"up": 1, "w": 1, "down": 2, "s": 2}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (8,), np.float32), Discrete(3)

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return 2 if a.opponent == "self" else 1
