"""A Gymnasium environment: walk to the right end of a corridor."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Corridor(gymnasium.Env[np.ndarray, int]):
    """`length` cells. Actions: 0 left, 1 right. Reward 1 at the right end, which ends the episode; -0.01 a step."""

    def __init__(self, length: int = 8) -> None:
        self.length = length
        self.observation_space = spaces.Box(0, 1, (length,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(self.length - 1))
        return self.observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.cell = max(0, self.cell + (1 if action == 1 else -1))
        done = self.cell == self.length - 1
        return self.observe(), 1.0 if done else -0.01, done, False, {}

    def observe(self) -> np.ndarray:
        """One-hot position, float32[length]."""
        return np.eye(1, self.length, self.cell, dtype=np.float32)[0]
