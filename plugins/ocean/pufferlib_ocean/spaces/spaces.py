"""Spaces (sanity): structured observations and actions, of which every part is needed. In Python, through emulation."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Tuple

CELLS = (5, 5)


class Spaces(gymnasium.Env[dict[str, Any], tuple[Any, Any]]):
    """One step an episode: half a point for (more than 12 cells are set) XOR code, half for the vector's largest number."""

    observation_space = Dict({"image": Box(0, 1, CELLS, np.uint8), "vector": Box(-1, 1, (3,), np.float32), "code": Discrete(2)})
    action_space = Tuple((Discrete(2), Discrete(3)))  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        draw = self.np_random
        self.seen = {
            "image": draw.integers(0, 2, CELLS, np.uint8),
            "vector": draw.uniform(-1, 1, 3).astype(np.float32),
            "code": draw.integers(2),
        }
        return self.seen, {}

    def step(self, action: tuple[Any, Any]) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        first, second = best(self.seen)
        reward = 0.5 * (action[0] == first) + 0.5 * (action[1] == second)
        return self.seen, reward, True, False, {"score": reward, "perf": reward}


def best(seen: dict[str, Any]) -> tuple[int, int]:
    """The action that earns a whole point."""
    return int(seen["image"].sum() > 12) ^ int(seen["code"]), int(seen["vector"].argmax())
