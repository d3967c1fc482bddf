"""The back end without workers: a batch steps in the caller's thread, at once, when its actions are sent."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pufferlib.env import PufferEnv
from pufferlib.vector.arguments import check_fits, with_arguments
from pufferlib.vector.batches import build_batch
from pufferlib.vector.logs import merge_logs
from pufferlib.vector.shape import VecShape
from pufferlib.vector.vec_env import EnvFacts, Info, VecEnv


class SerialVec(VecEnv):
    """One PufferEnv batch per group. The number of workers only sets which batch sizes are allowed."""

    def __init__(self, maker: Callable[..., PufferEnv], shape: VecShape, *, seed: Any = None, in_order: bool = False) -> None:
        self._envs: list[PufferEnv] = []
        self._maker = maker
        try:
            for group in range(shape.num_batches):
                self._envs.append(build_batch(maker, shape.batch_size, group * shape.batch_size))
            super().__init__(env_facts(self._envs[0]), shape, seed=seed, in_order=in_order)
        except BaseException:
            self._close()
            raise

    def allocate(self, slots: int) -> Any:
        storage = super().allocate(slots)
        self._bound = [-1] * self.num_batches
        self._infos: list[list[Info]] = [[] for _ in self._envs]
        return storage

    def _bind(self, group: int, slot: int) -> PufferEnv:
        env = self._envs[group]
        if self._bound[group] != slot:
            env.bind(self._views[slot][group])
            self._bound[group] = slot
        return env

    def _start_reset(self, group: int, slot: int, seeds: list[int] | None, options: Info | None) -> None:
        env = self._bind(group, slot)
        self._infos[group] = (env.reset(seeds) if options is None else env.reset(seeds, options=options))[1]  # type: ignore[call-arg]

    def _start_step(self, group: int, source: int, target: int) -> None:
        self._infos[group] = self._bind(group, target).step(self._views[source][group].actions)[4]

    def _wait(self, groups: Sequence[int]) -> int:
        return groups[0]

    def _rebuild(self, arguments: Info) -> None:
        maker, size = with_arguments(self._maker, arguments), self._shape.batch_size
        old, made = self._envs, []
        try:
            for group in range(self.num_batches):
                made.append(build_batch(maker, size, group * size))
                check_fits(env_facts(old[group]), env_facts(made[group]), arguments)
        except BaseException:
            close_all(made)
            raise
        self._envs = made
        self._bound = [-1] * self.num_batches
        self._infos = [[] for _ in made]
        close_all(old)

    def _take_infos(self, group: int) -> list[Info]:
        infos, self._infos[group] = self._infos[group], []
        return infos

    def drain_log(self) -> dict[str, float]:
        return merge_logs([env.drain_log() for env in self._envs])

    def _render(self) -> Any:
        return self._envs[0].render()

    def _close(self) -> None:
        close_all(self._envs)


def close_all(envs: Sequence[PufferEnv]) -> None:
    """Close every env; an error in one of them is a warning."""
    for env in envs:
        try:
            env.close()
        except Exception as error:  # the others must be closed all the same
            warnings.warn(str(error), RuntimeWarning, stacklevel=4)


def env_facts(env: PufferEnv) -> EnvFacts:
    """What a VecEnv needs to know, read off one batch of `env.num_envs` envs."""
    return EnvFacts(
        env.single_observation_space,
        env.single_action_space,
        env.num_agents // env.num_envs,
        env.action_mask_size,
        env.is_native,
        env.render_mode,
        dict(getattr(env, "metadata", None) or {}),
        getattr(env, "require_valid_actions", None) if getattr(env, "check_actions", False) else None,
    )
