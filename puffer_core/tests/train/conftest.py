"""A scripted env whose every number can be worked out by hand, and small trainers on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib.env import PufferEnv
from pufferlib.vector import make_vec


class Scripted(PufferEnv):
    """Row r ends its episode after lengths[r % len(lengths)] steps. Observation: (row, steps in the episode, the action that led
    here or 0 at the start).

    Reward: the step count within the episode, so the first step gives 1. `end`: "terminal" or "truncation".
    """

    def __init__(
        self, num_envs: int = 1, *, lengths: tuple[int, ...] = (3,), end: str = "terminal", action_space: Any = None,
        action_mask: Any = None, observation_space: Any = None, buf: Any = None,
    ) -> None:  # fmt: skip
        self.num_envs = self.num_agents = num_envs
        self.single_observation_space = observation_space or spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.single_action_space = action_space or spaces.Discrete(2)
        self.action_mask = action_mask
        self.action_mask_size = 0 if action_mask is None else len(action_mask)
        self.all_lengths, self.end = lengths, end
        self.age = np.zeros(num_envs, np.int64)
        self.received: list[Any] = []
        self.seeds: list[Any] = []
        self.bad: dict[str, tuple[int, float]] = {}
        """array name -> (row, value): written over what the step wrote."""
        self.done_returns: list[float] = []
        super().__init__(buf)

    def reset(self, seed: Any = None) -> Any:
        self.seeds.append(seed)
        self.row_numbers = self.first_env + np.arange(self.num_envs)
        self.lengths = np.array(self.all_lengths)[self.row_numbers % len(self.all_lengths)]
        self.age[:] = 0
        self.terminals[:] = self.truncations[:] = False
        self.rewards[:] = 0
        self.masks[:] = True
        self._observe(np.zeros(self.num_envs))
        return self.observations, []

    def step(self, actions: Any) -> Any:
        self.received.append(np.array(actions))
        first = np.asarray(actions, np.float64).reshape(self.num_envs, -1)[:, 0]
        self.age += 1
        self.rewards[:] = self.age
        over = self.age >= self.lengths
        self.terminals[:] = over & (self.end == "terminal")
        self.truncations[:] = over & (self.end == "truncation")
        self.masks[:] = True
        self._observe(first)
        self.final_observations[over] = self.observations[over]
        self.done_returns += [float(n * (n + 1) / 2) for n in self.lengths[over]]
        self.age[over] = 0
        self._observe(first)
        for name, (row, value) in self.bad.items():
            getattr(self, name)[row] = value
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def _observe(self, action: Any) -> None:
        self.observations[:, 0] = self.row_numbers
        self.observations[:, 1] = self.age
        self.observations[:, 2] = np.where(self.age > 0, action, 0)
        if self.action_masks is not None:
            self.action_masks[:] = self.action_mask

    def drain_log(self) -> dict[str, float]:
        if not self.done_returns:
            return {}
        log = {"episode_return": float(np.mean(self.done_returns)), "n": float(len(self.done_returns))}
        self.done_returns.clear()
        return log


@pytest.fixture
def scripted() -> Any:
    """make(num_envs, workers=..., batch_size=..., **Scripted's arguments) -> (VecEnv, its Scripted batches)."""

    def make(num_envs: int = 4, *, num_workers: int = 1, batch_size: int | None = None, **arguments: Any) -> Any:
        built: list[Scripted] = []

        def maker(num_envs: int = 1) -> Scripted:
            built.append(Scripted(num_envs, **arguments))
            return built[-1]

        vec = make_vec(maker, num_envs=num_envs, num_workers=num_workers, batch_size=batch_size, backend="serial")
        return vec, built

    return make


@pytest.fixture
def small_policy() -> Any:
    """make(vec, hidden_size=16, name="mlp", **kwargs) -> a policy with fixed first weights."""
    from pufferlib.policies import build_policy

    def make(vec: Any, name: str = "mlp", **kwargs: Any) -> torch.nn.Module:
        settings = {"hidden_size": 16, "num_layers": 1, **kwargs}
        policy: torch.nn.Module = build_policy(name, vec.single_observation_space, vec.single_action_space, seed=3, **settings)
        return policy

    return make


class StepCounter(torch.nn.Module):
    """A recurrent policy whose value is the number of steps since its state was cleared (S25's StepCountMemory)."""

    def __init__(self, actions: int = 2) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.zeros(actions))
        self.seen: list[Any] = []

    def initial_state(self, rows: int) -> Any:
        return torch.zeros(rows, 1)

    def forward(self, observations: Any, state: Any) -> Any:
        return self.logits.expand(len(observations), -1), state[:, 0] + 0 * self.logits.sum(), state + 1


@pytest.fixture
def step_counter() -> Any:
    """The StepCounter class."""
    return StepCounter
