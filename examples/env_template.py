"""The two styles of PufferEnv, each as short as it can be. Copy the one that fits.

python examples/env_template.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

import pufferlib
from pufferlib import Buffers, PufferEnv


class GuessOne(PufferEnv):
    """Declarative style: one env, ordinary values. Guess a coin that the observation shows, ten times."""

    def __init__(self, buf: Buffers | None = None) -> None:
        super().__init__(buf)
        self.observation_space = self.make_space((1,), low=0, high=1)
        self.action_space = self.make_discrete(2)
        self.rng = np.random.default_rng()

    def reset(self, seed: int | None = None) -> np.ndarray:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.t, self.coin = 0, int(self.rng.integers(2))
        return np.array([self.coin], np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        reward = float(action == self.coin)
        self.t, self.coin = self.t + 1, int(self.rng.integers(2))
        return np.array([self.coin], np.float32), reward, self.t == 10, {}


class GuessMany(PufferEnv):
    """Native style: the same game for many agents at once, written straight into the batch arrays."""

    def __init__(self, buf: Buffers | None = None, num_agents: int = 64) -> None:
        self.single_observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = num_agents
        super().__init__(buf)
        self.rng = np.random.default_rng()
        self.t = 0

    def reset(self, seed: Any = None) -> Any:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.t = 0
        self.coins = self.rng.integers(2, size=self.num_agents)
        self.observations[:, 0] = self.coins
        return self.observations, []

    def step(self, actions: np.ndarray) -> Any:
        self.t += 1
        self.rewards[:] = actions == self.coins
        self.coins = self.rng.integers(2, size=self.num_agents)
        self.terminals[:] = self.t == 10
        if self.t == 10:  # same-step autoreset: the last observation goes aside, the next episode's first one is returned
            self.final_observations[:, 0] = self.coins
            self.t = 0
        self.observations[:, 0] = self.coins
        return self.observations, self.rewards, self.terminals, self.truncations, []


if __name__ == "__main__":
    for env in (pufferlib.emulate(GuessOne, num_envs=64), pufferlib.emulate(GuessMany)):
        observations, _ = env.reset(seed=1)
        for _ in range(100):
            observations, rewards, *_ = env.step(observations[:, 0].astype(np.int32))
        print(f"{env.num_agents} agents, mean reward of always guessing right: {rewards.mean()}")
        env.close()
