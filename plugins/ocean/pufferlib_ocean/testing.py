"""What the tests of games share: random actions for any space, and playing a policy for its score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.native import NativeEnv

Policy = Callable[[Array, np.random.Generator], Array]
"""Observations of all rows and a generator in, the actions of all rows out."""


def random_actions(env: NativeEnv, rng: np.random.Generator) -> Array:
    """Uniform over the action space, one for each row."""
    space: spaces.Space[Any] = env.single_action_space
    rows = env.num_agents
    if isinstance(space, spaces.Discrete):
        return rng.integers(0, space.n, rows, dtype=np.int32)
    if isinstance(space, spaces.MultiDiscrete):
        return rng.integers(0, space.nvec, (rows, space.nvec.size), dtype=np.int32)
    assert isinstance(space, spaces.Box)
    return rng.uniform(space.low, space.high, (rows, *space.shape)).astype(np.float32)


def play(env: NativeEnv, policy: Policy | None, steps: int, seed: int = 0) -> dict[str, float]:
    """The log (means, and `n`) of all row-episodes that end within `steps` steps from a reset. policy None: random actions."""
    rng = np.random.default_rng(seed)
    observations = env.reset(seed)[0]
    env.drain_log()
    for _ in range(steps):
        actions = random_actions(env, rng) if policy is None else policy(observations, rng)
        observations = env.step(actions)[0]
    return env.drain_log()
