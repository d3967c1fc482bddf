"""From a maker to one PufferEnv batch, also where the maker gives a whole VecEnv (which a worker may then step)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from pufferlib.buffers import Array, Buffers
from pufferlib.env import PufferEnv
from pufferlib.errors import EnvError
from pufferlib.numbering import first_env
from pufferlib.vector.vec_env import Info, VecEnv


def build_batch(maker: Callable[..., Any], num_envs: int, first: int) -> PufferEnv:
    """One batch of `num_envs` envs, which know their numbers: the first one's is `first`."""
    token = first_env.set(first)
    try:
        env = as_batch(maker(num_envs=num_envs))
    finally:
        first_env.reset(token)
    env.first_env = first
    return env


def as_batch(env: Any) -> PufferEnv:
    """A maker's result as a PufferEnv batch: itself, or a VecEnv with a batch around it. Raises EnvError for anything else."""
    if isinstance(env, PufferEnv):
        return env
    if isinstance(env, VecEnv):
        return VecBatch(env)
    kind = f"{type(env).__module__}.{type(env).__qualname__}"
    advice = "; wrap it: pufferlib.from_vector(env)" if isinstance(env, VectorEnv) else ""
    raise EnvError(f"an env maker must return a PufferEnv batch or a VecEnv, got a {kind}{advice}")


class VecBatch(PufferEnv):
    """A VecEnv whose rows are copied into this batch's arrays."""

    def __init__(self, vec: VecEnv, buf: Buffers | None = None) -> None:
        self.vec = vec
        self.num_envs, self.num_agents = vec.num_envs, vec.num_agents
        self.single_observation_space, self.single_action_space = vec.single_observation_space, vec.single_action_space
        self.action_mask_size, self.render_mode = vec.action_mask_size, vec.render_mode
        self.metadata = vec.metadata
        super().__init__(buf)

    def reset(self, seed: Sequence[int] | None = None, options: Info | None = None) -> tuple[Array, list[Info]]:
        self.vec.async_reset(seed, options)
        infos = self._gather()
        return self.observations, infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[Info]]:
        for rows in self._received:
            self.vec.send(actions[rows])
        infos = self._gather()
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def _gather(self) -> list[Info]:
        self._received = []
        infos: list[Info] = []
        for _ in range(self.vec.num_batches):
            batch = self.vec.recv()
            self._received.append(batch.rows)
            infos += [{**info, "env_index": self.first_env + info["env_index"]} for info in batch.infos]
        copy_row_arrays(self.vec.storage[0], self.buffers)
        return sorted(infos, key=lambda info: int(info["env_index"]))

    def drain_log(self) -> dict[str, float]:
        return self.vec.drain_log()

    def render(self) -> Any:
        return self.vec.render()

    def close(self) -> None:
        self.vec.close()


def copy_row_arrays(source: Buffers, target: Buffers) -> None:
    """Every result, but no actions."""
    for name in ("observations", "rewards", "terminals", "truncations", "masks", "action_masks"):
        array = getattr(target, name)
        if array is not None:
            array[...] = getattr(source, name)
    ended = np.flatnonzero(source.terminals | source.truncations)
    target.final_observations[ended] = source.final_observations[ended]
