"""Measure a policy: whole episodes, with exact recurrent states.

policy = pufferlib.load_policy("runs/ocean-breakout/...")
rows = evaluate(pufferlib.make("ocean-breakout", num_envs=8), policy, episodes=100)
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from pufferlib.buffers import Array, action_layout
from pufferlib.errors import ConfigError
from pufferlib.policies.distributions import distribution_of
from pufferlib.policies.recurrent import map_state, reset_state
from pufferlib.vector import VecEnv

log = logging.getLogger("pufferlib.eval")


class Episode(NamedTuple):
    """One agent's episode."""

    row: int
    """Which row of the env played it."""
    episode_return: float
    """The plain sum of its rewards."""
    length: int
    """Its steps."""
    score: float | None
    """What the env's own log calls its score, if it does."""
    sharing: int = 1
    """How many episodes ended in the same step: their `score` is the mean of theirs, as the log tells no more."""
    is_cut: bool = False
    """It had not ended after `max_steps` steps: its return and length are so far."""


def evaluate(
    env: VecEnv,
    policy: nn.Module | None,
    episodes: int,
    *,
    deterministic: bool = False,
    seed: int | None = None,
    device: str | torch.device = "cpu",
    max_steps: int | None = None,
    on_step: Callable[[list[Episode]], None] | None = None,
) -> list[Episode]:
    """Play `episodes` whole episodes and return them in the order in which they ended.

    Each row plays its share of them, equal but for one: taking the first to end of all rows would favour short episodes.

    policy: as the trainer's, with whatever it remembers cleared in each row where an episode ends; None plays at random
    deterministic: take the likeliest action instead of sampling
    seed: of the envs and the sampling. None: as the env was seeded, and drawn from the system
    max_steps: an episode that has not ended after so many is cut, and its row plays no more, because only the end of an episode
        resets a world: so fewer than `episodes` may be returned. None: wait, for ever in an env whose episodes never end
    on_step: called after the reset and each step with the episodes that ended so far, for example to render. KeyboardInterrupt
        in it, or at any time, ends the evaluation early with the episodes so far, if there are any
    """
    if not isinstance(episodes, int) or episodes < 1:
        raise ConfigError(f"episodes must be an integer of at least 1, got {episodes!r}")
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
        raise ConfigError(f"max_steps must be an integer of at least 1, or None, got {max_steps!r}")
    rows = env.num_agents
    actor: Actor | RandomActor = (
        RandomActor(env.single_action_space, rows, env.action_mask_size, seed)
        if policy is None
        else Actor(policy, env.single_action_space, rows, deterministic=deterministic, seed=seed, device=device)
    )
    quota = np.full(rows, episodes // rows)
    quota[: episodes % rows] += 1
    returns, lengths = np.zeros(rows), np.zeros(rows, np.int64)
    waited = np.zeros(rows, np.int64)
    """Since the episode began, or the row lost its agent."""
    finished: list[Episode] = []
    observations, _ = env.reset(seed=seed)
    env.drain_log()
    masks = env.storage.masks[0].copy()
    try:
        if on_step:
            on_step(finished)
        while quota.any():
            action_masks = None if env.storage.action_masks is None else env.storage.action_masks[0]
            observations, rewards, terminals, truncations, _ = env.step(actor.act(observations, action_masks))
            joined = env.storage.masks[0] & ~masks
            masks = env.storage.masks[0].copy()
            returns += np.where(masks, rewards, 0)
            lengths += masks
            waited = np.where(joined, 1, waited + 1)
            ended = (terminals | truncations) & masks
            score = env.drain_log().get("score")  # each step: foreign envs may log in any, the last one counts
            if ended.any():
                for row in ended.nonzero()[0]:
                    if quota[row]:
                        quota[row] -= 1
                        finished.append(Episode(int(row), float(returns[row]), int(lengths[row]), score, int(ended.sum())))
                returns[ended], lengths[ended], waited[ended] = 0, 0, 0
            if max_steps is not None:
                for row in ((waited >= max_steps) & (quota > 0)).nonzero()[0]:
                    quota[row] = 0
                    if lengths[row]:
                        finished.append(Episode(int(row), float(returns[row]), int(lengths[row]), None, is_cut=True))
            actor.forget(ended | ~masks)
            if on_step:
                on_step(finished)
    except KeyboardInterrupt:
        if not finished:
            raise
        log.warning("interrupted: %d of %d episodes", len(finished), episodes)
    return finished


class Actor:
    """Acts for the rows of one env with a policy, and keeps its recurrent state.

    policy: its contract is the trainer's; it is put into evaluation mode
    deterministic: take the likeliest action instead of sampling
    """

    def __init__(
        self,
        policy: nn.Module,
        action_space: spaces.Space[Any],
        rows: int,
        *,
        deterministic: bool = False,
        seed: int | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        self.policy = policy.to(device).eval()
        self.deterministic, self.device = deterministic, torch.device(device)
        self.distribution = distribution_of(self.policy, action_space)
        self._dtype = action_layout(action_space)[1]
        self.generator = torch.Generator(self.device)
        if seed is None:
            self.generator.seed()
        else:
            self.generator.manual_seed(seed)
        self.state: Any = None
        if hasattr(policy, "initial_state"):
            with torch.no_grad():
                self._initial = policy.initial_state(rows)  # type: ignore[operator]
            self.state = map_state(torch.clone, self._initial)

    @torch.no_grad()
    def act(self, observations: Array, action_masks: Array | None = None) -> Array:
        """An action per row: int32 or float32 [rows, ...], a Box's clipped to its bounds."""
        inputs = torch.from_numpy(np.array(observations)).to(self.device)
        if self.state is None:
            parameters = self.policy(inputs)[0]
        else:
            parameters, _, self.state = self.policy(inputs, self.state)
        mask = None if action_masks is None else torch.from_numpy(np.array(action_masks)).to(self.device)
        if self.deterministic:
            actions = self.distribution.mode(parameters, mask)
        else:
            actions, _ = self.distribution.sample(parameters, self.generator, mask)
        return self.distribution.to_env(actions).cpu().numpy().astype(self._dtype)

    def forget(self, ended: Array) -> None:
        """Back to the initial state in rows whose episode ended. ended: bool[rows]"""
        if self.state is not None and ended.any():
            self.state = reset_state(self.state, torch.from_numpy(np.array(ended)).to(self.device), self._initial)


class RandomActor:
    """Uniformly random actions among those that the masks allow; a Box without bounds gets normal ones."""

    def __init__(self, action_space: spaces.Space[Any], rows: int, action_mask_size: int = 0, seed: int | None = None) -> None:
        self._space, self._rows = action_space, rows
        self._shape, self._dtype = action_layout(action_space)
        self._random = np.random.default_rng(seed)
        self._sizes: list[int] = []
        if isinstance(action_space, spaces.Discrete):
            self._sizes = [int(action_space.n)]
        elif isinstance(action_space, spaces.MultiDiscrete):
            self._sizes = [int(n) for n in action_space.nvec.reshape(-1)]

    def act(self, observations: Array, action_masks: Array | None = None) -> Array:
        """An action per row: int32 or float32 [rows, ...]."""
        if not self._sizes:
            return self._box()
        columns, first = [], 0
        for size in self._sizes:
            allowed = np.ones((self._rows, size)) if action_masks is None else action_masks[:, first : first + size] != 0
            noise = self._random.random((self._rows, size))
            columns.append(np.where(allowed, noise, noise - 2).argmax(axis=1))  # all masked: any of them
            first += size
        return np.stack(columns, axis=1).reshape(self._rows, *self._shape).astype(self._dtype)

    def _box(self) -> Array:
        space = self._space
        assert isinstance(space, spaces.Box)
        bounded = np.isfinite(space.low) & np.isfinite(space.high)
        low, high = np.where(bounded, space.low, 0), np.where(bounded, space.high, 1)
        uniform = self._random.uniform(low, high, (self._rows, *self._shape))
        normal = self._random.standard_normal((self._rows, *self._shape))
        return np.where(bounded, uniform, np.clip(normal, space.low, space.high)).astype(self._dtype)

    def forget(self, ended: Array) -> None:
        """Nothing is remembered."""
