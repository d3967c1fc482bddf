"""Returns and lengths of episodes in infos, as many trainers read them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pufferlib.vector import VecEnv
from pufferlib.vector.vec_env import Info
from pufferlib.wrappers.base import Step, VecWrapper


class RecordEpisodeStatistics(VecWrapper):
    """Where an episode ends, the info of its env holds `episode`: `r` the return, `l` the length in steps, `t` in seconds.

    Over a VecEnv. Of an env with one agent these are numbers, else arrays with one entry per agent, 0 where its episode
    goes on. Rewards are those of the env inside, with whatever wrappers are there. Steps whose mask is 0 do not count.
    `drain_log` has the same without this wrapper.
    """

    def __init__(self, env: VecEnv, stats_key: str = "episode") -> None:
        self.stats_key = stats_key
        self._returns, self._lengths = np.zeros(env.num_agents), np.zeros(env.num_agents, np.int64)
        self._begun = np.full(env.num_agents, time.perf_counter())
        self._said: list[dict[int, Info]] = [{} for _ in range(env.num_batches)]
        super().__init__(env)

    def receive(self, step: Step) -> None:
        rows, inner = step.rows, step.inner
        returns, lengths, begun = self._returns[rows], self._lengths[rows], self._begun[rows]
        said = self._said[step.group] = {}
        if step.is_reset:
            returns[:], lengths[:], begun[:] = 0, 0, time.perf_counter()
            return
        returns += np.where(inner.masks, inner.rewards, 0)
        lengths += inner.masks
        ended = inner.terminals | inner.truncations
        if not ended.any():
            return
        now, per_env = time.perf_counter(), self.agents_per_env
        columns = {"r": returns, "l": lengths, "t": np.round(now - begun, 6)}
        for env in np.unique(np.flatnonzero(ended) // per_env).tolist():
            own = slice(env * per_env, (env + 1) * per_env)
            values: dict[str, Any] = {key: np.where(ended[own], column[own], 0) for key, column in columns.items()}
            if per_env == 1:
                values = {key: column[0] for key, column in values.items()}
            said[rows.start // per_env + env] = values
        returns[ended], lengths[ended], begun[ended] = 0, 0, now

    def _take_infos(self, group: int) -> list[Info]:
        infos = self.env._take_infos(group)
        said, self._said[group] = self._said[group], {}
        if not said:
            return infos
        merged = {info["env_index"]: info for info in infos}
        for env, values in said.items():
            merged[env] = {**merged.get(env, {}), self.stats_key: values, "env_index": env}
        return [merged[env] for env in sorted(merged)]
