"""Step native games with a pool of threads, without the GIL.

All worlds stand in one block of memory and are split into one contiguous share per worker; a batch is some neighbouring
workers' shares, of which a worker that is done early takes some from those that are late. The worlds write straight into the
storage. The pool itself is `native/pool.h`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pufferlib.buffers import Buffers
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError
from pufferlib.native.env import NativeEnv
from pufferlib.vector.arguments import check_fits, with_arguments
from pufferlib.vector.serial import env_facts
from pufferlib.vector.shape import VecShape
from pufferlib.vector.vec_env import Info, VecEnv


class ThreadVec(VecEnv):
    """One NativeEnv that holds every world, stepped by `num_workers` threads."""

    def __init__(self, maker: Callable[..., PufferEnv], shape: VecShape, *, seed: Any = None, in_order: bool = False) -> None:
        env = maker(num_envs=shape.num_envs)
        if not isinstance(env, NativeEnv):
            env.close()
            raise ConfigError(f"backend='threads' steps native envs only, got a {type(env).__name__}; use auto or serial")
        self._env, self._maker = env, maker
        self._seeds = np.zeros(shape.num_envs, np.uint64)
        try:
            env.native.start_pool(shape.num_workers, shape.num_batches)
            super().__init__(env_facts(env), shape, seed=seed, in_order=in_order)
        except BaseException:
            env.close()
            raise

    def allocate(self, slots: int) -> Buffers:
        storage = super().allocate(slots)
        self._env.bind_slots(storage, slots)
        return storage

    def _start_reset(self, group: int, slot: int, seeds: list[int] | None, options: Info | None) -> None:
        if seeds is not None:
            first = group * len(seeds)
            self._seeds[first : first + len(seeds)] = self._env.seed_array(seeds)
        self._env.native.post_reset(group, None if seeds is None else self._seeds, slot)

    def _start_step(self, group: int, source: int, target: int) -> None:
        self._env.native.post_step(group, target, source)

    def _wait(self, groups: Sequence[int]) -> int:
        try:
            return self._env.native.wait(groups[0] if len(groups) == 1 else -1)
        except BaseException:
            self._env.native.abandon()
            raise

    def _rebuild(self, arguments: Info) -> None:
        env = with_arguments(self._maker, arguments)(num_envs=self.num_envs)
        try:
            check_fits(env_facts(self._env), env_facts(env), arguments)
            env.native.start_pool(self.num_workers, self.num_batches)
            env.bind_slots(self.storage, len(self._slot_views))
        except BaseException:
            env.close()
            raise
        self._env.close()
        self._env = env

    def drain_log(self) -> dict[str, float]:
        self._check_open()
        return self._env.drain_log()

    def _render(self) -> Any:
        return self._env.render()

    def _close(self) -> None:
        self._env.close()
