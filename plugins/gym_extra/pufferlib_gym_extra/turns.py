"""OpenSpiel's games as PettingZoo's AEC envs, seeded from one episode to the next. Importing this imports PettingZoo."""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

ILLEGAL_REWARD = -1.0


class Turns(TerminateIllegalWrapper):  # type: ignore[misc]  # PettingZoo has no types
    """An illegal move ends the game with -1. Every episode has a seed of its own: without one Shimmy deals its cards anew."""

    def __init__(self, env: Any) -> None:
        super().__init__(env, illegal_reward=ILLEGAL_REWARD)
        self._seeds = np.random.default_rng()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        super().reset(seed=int(self._seeds.integers(2**31)), options=options)
