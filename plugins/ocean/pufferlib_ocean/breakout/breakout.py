"""Breakout: clear a wall of bricks twice with a paddle that halves once the ball has touched the ceiling."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Float, Int, NativeEnv


class Breakout(NativeEnv):
    """Observations: float32[10 + rows * cols], each in [-1, 1].

    Ball x, y, vx, vy; paddle x, width; lives; wall (0 or 1); ball speed; serve timer; then the bricks from the top row, 1
    where one stands. Actions: stay, left, right. Reward: the points of each brick / 7, and `reward_life` per lost ball.
    """

    module = "pufferlib_ocean.breakout._breakout"
    arguments = (
        Int("frameskip", 4, 1, 16, help="ticks of the game in one step"),
        Int("max_steps", 10_000, 0, 10**9, help="steps until truncation; 0: never"),
        Int("lives", 5, 1, 9, help="balls in an episode"),
        Int("rows", 6, 1, 10, help="rows of bricks"),
        Int("cols", 18, 4, 30, help="columns of bricks"),
        Int("paddle_width", 48, 8, 160, help="in px of a field 360 wide"),
        Float("reward_life", 0.0, -100, 100, help="reward for a lost ball"),
    )
    keys = {"left": 1, "a": 1, "right": 2, "d": 2}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (10 + a.rows * a.cols,), np.float32), Discrete(3)
