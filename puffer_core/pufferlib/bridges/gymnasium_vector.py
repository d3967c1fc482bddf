"""Gymnasium's vector envs, and those that speak its API, as a VecEnv.

| autoreset of the vector env | what becomes of it |
|---|---|
| SAME_STEP | is a VecEnv's own way; the last observation is taken from `final_obs` |
| NEXT_STEP | the step that only resets is a row with mask 0: it weighs nothing, and its reward and flags are 0 |
| DISABLED | rows that ended are reset at once, by `reset(options={"reset_mask": ...})` |
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from pufferlib.buffers import Array
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.errors import ConfigError, EnvError
from pufferlib.structure import Structure
from pufferlib.vector import EnvFacts, VecEnv, VecShape
from pufferlib.vector.vec_env import Info


def from_vector(env: Any, *, autoreset_mode: AutoresetMode | str | None = None, seed: int | None = None) -> VecEnv:
    """A VecEnv over a vector env as it is, with one agent row for each of its envs.

    env: a `gymnasium.vector.VectorEnv` (SyncVectorEnv, CartPoleVectorEnv, ale_py's ...) or an EnvPool env of kind "gymnasium"
    autoreset_mode: None: what its metadata says, or NEXT_STEP for EnvPool
    seed: of the first reset that is given none

    Its envs are handed over all at once. Reset seeds go to it as a list where it is Sync- or AsyncVectorEnv, else the first of
    them alone; EnvPool takes its seed when it is made. Infos without a `_key` mask are kept in `last_infos` only.
    To run several in worker processes: `make_vec(lambda num_envs: from_vector(...), backend="processes", ...)`.
    Raises ConfigError if the autoreset mode is not known, EnvError if `env` is no vector env.
    """
    if isinstance(env, VecEnv):
        return env
    facts = _spaces_of(env)
    return GymnasiumVec(env, facts, _mode_of(env, autoreset_mode), seed=seed)


class GymnasiumVec(VecEnv):
    """See `from_vector`."""

    def __init__(self, env: Any, facts: tuple[int, Any, Any], mode: AutoresetMode, *, seed: int | None = None) -> None:
        num_envs, observation_space, action_space = facts
        self.env, self.autoreset_mode = env, mode
        self.structure, self._actions = Structure(observation_space), ActionCodec(action_space)
        self.last_infos: Info = {}
        """What the vector env said last, in its own form."""
        self._result: Any = None
        """What `_start_reset` or `_start_step` left for `_wait`: (observations, rewards, terminals, truncations, infos)."""
        self._stepping = False
        self._target = 0
        """The slot that the results go to."""
        self._over = np.zeros(num_envs, bool)
        """Rows whose next step only resets them (NEXT_STEP)."""
        self._returns, self._lengths = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._log = EpisodeLog()
        self._takes_seed = "seed" in _parameters(env.reset) and not _is_envpool(env)
        metadata = dict(getattr(env, "metadata", None) or {})
        rows, choices = self.structure.box, self._actions.space
        env_facts = EnvFacts(rows, choices, 1, render_mode=getattr(env, "render_mode", None), metadata=metadata)
        super().__init__(env_facts, VecShape(num_envs, 1, num_envs), seed=seed)
        if mode == AutoresetMode.NEXT_STEP:
            self.metadata["autoreset_mode"] = mode

    # ------------------------------------------------------------ what VecEnv asks of a back end

    def _start_reset(self, group: int, slot: int, seeds: list[int] | None, options: Info | None) -> None:
        arguments: dict[str, Any] = {}
        if self._takes_seed and seeds is not None:
            each = isinstance(getattr(self.env, "unwrapped", self.env), (SyncVectorEnv, AsyncVectorEnv))
            arguments["seed"] = seeds if each else seeds[0]
        if options is not None:
            arguments["options"] = options
        observations, infos = self.env.reset(**arguments)
        self._over[:] = False
        self._returns[:] = self._lengths[:] = 0
        self._stepping, self._target, self._result = False, slot, (observations, infos)

    def _start_step(self, group: int, source: int, target: int) -> None:
        actions = self._own_actions(self._slot_views[source].actions)
        self._stepping, self._target, self._result = True, target, None
        if hasattr(self.env, "step_async"):
            self.env.step_async(actions)
        else:
            self._result = self.env.step(actions)

    def _wait(self, groups: Sequence[int]) -> int:
        view = self._slot_views[self._target]
        if not self._stepping:
            observations, self.last_infos = self._result
            view.rewards[:], view.terminals[:], view.truncations[:], view.masks[:] = 0, False, False, True
            self._write(view.observations, observations)
            return 0
        observations, rewards, terminals, truncations, self.last_infos = self._result or self.env.step_wait()
        self._write(view.observations, observations)
        real = ~self._over
        view.masks[:] = real
        view.rewards[:] = np.where(real, rewards, 0)
        view.terminals[:] = np.asarray(terminals, bool) & real
        view.truncations[:] = np.asarray(truncations, bool) & real & ~view.terminals  # terminal wins
        ended = view.terminals | view.truncations
        self._returns += view.rewards
        self._lengths += real
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            self._over = ended.copy()
        rows = np.flatnonzero(ended)
        if len(rows):
            self._end_episodes(view, ended, rows)
        return 0

    def _end_episodes(self, view: Any, ended: Array, rows: Array) -> None:
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            self._write_final(view.final_observations, rows)
        else:
            view.final_observations[rows] = view.observations[rows]
        if self.autoreset_mode == AutoresetMode.DISABLED:
            observations, infos = self.env.reset(options={"reset_mask": ended})
            whole = np.empty_like(view.observations)
            self._write(whole, observations)
            view.observations[rows] = whole[rows]
            self.last_infos = {**self.last_infos, **infos}
        for row in rows.tolist():
            self._log.add_episode(float(self._returns[row]), int(self._lengths[row]))
        self._returns[rows] = self._lengths[rows] = 0

    def _take_infos(self, group: int) -> list[Info]:
        found: dict[int, Info] = {}
        _split(self.last_infos, self.num_envs, found)
        return [{**info, "env_index": row} for row, info in sorted(found.items())]

    def drain_log(self) -> dict[str, float]:
        """`episode_return` and `episode_length`."""
        return self._log.drain()

    def _render(self) -> Any:
        frames = self.env.render()
        return frames[0] if isinstance(frames, (tuple, list)) and len(frames) else frames

    def _close(self) -> None:
        self.env.close()

    # ------------------------------------------------------------ spaces

    def _write(self, rows: Array, observations: Any) -> None:
        """Observations, batched in the vector env's way, into rows."""
        if self.structure.is_plain:
            rows[...] = observations
            return
        for leaf in self.structure.leaves:
            part = observations
            for key in leaf.path:
                part = part[key]
            self.structure.stored(rows, leaf)[...] = np.asarray(part).reshape(-1, *leaf.shape) - (
                0 if leaf.start is None else leaf.start
            )

    def _write_final(self, finals: Array, rows: Array) -> None:
        """The true last observations: an array over all envs, or one observation for each that ended."""
        given = self.last_infos.get("final_obs", self.last_infos.get("final_observation"))
        if given is None:
            raise EnvError(f"episodes ended in envs {rows.tolist()}, but {type(self.env).__name__} gave no infos['final_obs']")
        if isinstance(given, np.ndarray) and given.dtype == object:
            for row in rows:
                finals[row] = self.structure.flatten(given[row]).reshape(self.structure.shape)
            return
        whole = np.zeros_like(finals)
        self._write(whole, given)
        finals[rows] = whole[rows]

    def _own_actions(self, actions: Array) -> Any:
        space = self._actions.env_space
        chosen = self._actions.decode(actions)
        if isinstance(space, (spaces.Dict, spaces.Tuple)):
            empty: Any = create_empty_array(space, self.num_envs)
            return concatenate(space, chosen, empty)
        return np.asarray(chosen, space.dtype)


def _spaces_of(env: Any) -> tuple[int, Any, Any]:
    """(number of envs, one env's observation space, its action space)."""
    if isinstance(env, gymnasium.vector.VectorEnv):
        return env.num_envs, env.single_observation_space, env.single_action_space
    if _is_envpool(env):
        return len(env), env.observation_space, env.action_space
    raise EnvError(
        f"from_vector takes a gymnasium.vector.VectorEnv or an EnvPool env of kind 'gymnasium', got a {type(env).__name__}; for "
        "one env there is pufferlib.emulate"
    )


def _is_envpool(env: Any) -> bool:
    return any(cls.__module__.startswith("envpool") for cls in type(env).__mro__)


def _mode_of(env: Any, given: AutoresetMode | str | None) -> AutoresetMode:
    known = [mode.name for mode in AutoresetMode]
    mode = given or (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if mode is None and _is_envpool(env):
        mode = AutoresetMode.NEXT_STEP
    if mode is None:
        raise ConfigError(
            f"{type(env).__name__} does not say in metadata['autoreset_mode'] when it resets: give autoreset_mode=, "
            f"one of {known}"
        )
    if isinstance(mode, AutoresetMode):
        return mode
    for candidate in AutoresetMode:
        if str(mode) in (candidate.name, candidate.value):
            return candidate
    raise ConfigError(f"autoreset_mode must be one of {known}, got {mode!r}")


def _parameters(function: Any) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C++
        return {}


def _split(infos: Info, num_envs: int, found: dict[int, Info]) -> None:
    """From a dict of columns with `_key` masks to one dict per env; `final_obs` is left to the storage."""
    for key, column in infos.items():
        mask = infos.get(f"_{key}")
        if key in ("final_obs", "final_observation") or not isinstance(mask, np.ndarray) or mask.shape != (num_envs,):
            continue
        parts: dict[int, Info] = {}
        if isinstance(column, dict):
            _split(column, num_envs, parts)
        for row in np.flatnonzero(mask).tolist():
            found.setdefault(row, {})[key] = parts.get(row, {}) if isinstance(column, dict) else column[row]
