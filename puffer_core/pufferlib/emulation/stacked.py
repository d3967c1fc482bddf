"""Stacked: several native-style PufferEnvs written in Python as one batch, each with its own block of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.batch import build_envs
from pufferlib.emulation.checks import blame, check_rewards
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.emulation.observation_check import ObservationCheck
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.structure import structure_of

Info = dict[str, Any]


class Stacked(PufferEnv):
    """The envs write straight into this batch's arrays. Before each step their rewards and flags are zeroed, their masks set."""

    def __init__(self, factory: Callable[[], PufferEnv], num_envs: int = 1, buf: Buffers | None = None) -> None:
        self.envs = build_envs(factory, num_envs)
        first: PufferEnv = self.envs[0]
        self.num_envs, self.rows_per_env = num_envs, first.num_agents
        self.num_agents = num_envs * first.num_agents
        self.single_observation_space, self.single_action_space = first.single_observation_space, first.single_action_space
        self.action_mask_size, self.render_mode = first.action_mask_size, first.render_mode
        for index, env in enumerate(self.envs):
            for name in ("single_observation_space", "single_action_space", "num_agents"):
                if getattr(env, name) != getattr(first, name):
                    self.close()
                    raise SpaceError(f"env {index} has {name} {getattr(env, name)}, unlike env 0 with {getattr(first, name)}")
        self.check = ObservationCheck(structure_of(self.single_observation_space))
        self._log = EpisodeLog()
        self._returns = np.zeros(self.num_agents)
        self._lengths = np.zeros(self.num_agents, np.int64)
        super().__init__(buf)

    def bind(self, buf: Buffers) -> None:
        """Share the arrays out: env i gets rows [i * n, (i + 1) * n)."""
        super().bind(buf)
        n = self.rows_per_env
        self._rows = [slice(index * n, (index + 1) * n) for index in range(self.num_envs)]
        for env, rows in zip(self.envs, self._rows, strict=True):
            env.bind(buf[rows])

    def reset(self, seed: Sequence[int] | None = None, options: Info | None = None) -> tuple[Array, list[Info]]:
        if options is not None:
            raise ConfigError(f"options={options!r}: PufferEnvs take their settings as keyword arguments when they are made")
        self._clear()
        infos: list[Info] = []
        for index, env in enumerate(self.envs):
            try:
                result = env.reset(None if seed is None else seed[index])
                self._add_infos(infos, index, result[1])
            except Exception as error:
                blame(error, self.first_env + index, "reset")
        self._returns[:] = self._lengths[:] = 0
        self.check(self.observations, self.rows_per_env, self.first_env, self.masks)
        return self.observations, infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[Info]]:
        self._clear()
        infos: list[Info] = []
        for index, env in enumerate(self.envs):
            try:
                self._add_infos(infos, index, env.step(actions[self._rows[index]])[4])
            except Exception as error:
                blame(error, self.first_env + index, "step")
        self.check(self.observations, self.rows_per_env, self.first_env, self.masks)
        check_rewards(self.rewards, self.rows_per_env, self.first_env)
        self._count_episodes()
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def drain_log(self) -> dict[str, float]:
        """Return and length of the episodes and the numbers in the infos."""
        return self._log.drain()

    def render(self) -> Any:
        return self.envs[0].render()

    def close(self) -> None:
        envs, self.envs = self.envs, []
        for env in envs:
            env.close()

    def _clear(self) -> None:
        self.rewards[:] = 0
        self.terminals[:] = self.truncations[:] = False
        self.masks[:] = True

    def _add_infos(self, infos: list[Info], index: int, said: list[Info]) -> None:
        for info in said:
            self._log.add_info(info)
            infos.append({**info, "env_index": self.first_env + index})

    def _count_episodes(self) -> None:
        self._returns += self.rewards
        self._lengths += self.masks
        ended = self.terminals | self.truncations
        if ended.any():
            for row in np.flatnonzero(ended):
                self._log.add_episode(float(self._returns[row]), int(self._lengths[row]))
            self._returns[ended] = self._lengths[ended] = 0
