"""A VecEnv as Stable-Baselines3's; imported by `pufferlib.to_sb3` only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv as StableBaselinesVecEnv

from pufferlib.buffers import Array
from pufferlib.errors import SpaceError
from pufferlib.structure import Structure, StructuredBox
from pufferlib.vector import VecEnv
from pufferlib.vector.serial import SerialVec
from pufferlib.wrappers import VecWrapper


class StableBaselinesVec(StableBaselinesVecEnv):
    """One SB3 env for each agent row. See `pufferlib.to_sb3`.

    `get_attr`, `set_attr` and `env_method` reach the envs themselves where these are Python objects of this process (back end
    serial); elsewhere `get_attr` gives what the VecEnv itself has. Rows that hold no living agent (mask 0) have reward 0 and
    `"mask": False` in their info: SB3 cannot leave them out.
    """

    def __init__(self, vec: VecEnv) -> None:
        self.vec = vec
        self._structure = _structure(vec)
        self.render_mode = vec.render_mode
        super().__init__(vec.num_agents, _shown_space(vec, self._structure), vec.single_action_space)
        self.metadata = vec.metadata
        self._returns, self._lengths = np.zeros(vec.num_agents), np.zeros(vec.num_agents, np.int64)
        self._begun = np.full(vec.num_agents, time.perf_counter())
        self._seed: int | None = None
        self._pending: Any = None

    # ------------------------------------------------------------ steps

    def reset(self) -> Any:
        """Observations [num_envs, ...], a copy."""
        options = self._options[0] or None
        seed, self._seed = self._seed, None
        observations, _ = self.vec.reset(seed=seed, options=options)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._returns[:], self._lengths[:], self._begun[:] = 0, 0, time.perf_counter()
        return self._show(observations.copy())

    def step_async(self, actions: Array) -> None:
        self._pending = actions

    def step_wait(self) -> Any:
        """(observations, rewards, dones, infos): copies, and one dict per row."""
        actions, self._pending = np.asarray(self._pending), None
        if actions.dtype.kind == "i":
            actions = actions.astype(np.int32)
        observations, rewards, terminals, truncations, said = self.vec.step(actions)
        masks = self.vec.storage.masks[0]
        self._returns += rewards
        self._lengths += masks
        dones = terminals | truncations
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": cut} for cut in (truncations & ~terminals).tolist()]
        if said:
            self._add_infos(infos, said)
        if not masks.all():
            for row in np.flatnonzero(~masks):
                infos[row]["mask"] = False
        if dones.any():
            self._add_ends(infos, dones)
        return self._show(observations.copy()), np.where(masks, rewards, 0).astype(np.float32), dones, infos

    def _add_ends(self, infos: list[dict[str, Any]], dones: Array) -> None:
        finals, now = self.vec.storage.final_observations[0], time.perf_counter()
        for row in np.flatnonzero(dones).tolist():
            final = self._show(finals[row : row + 1].copy())
            infos[row]["terminal_observation"] = (
                {key: part[0] for key, part in final.items()} if type(final) is dict else final[0]
            )
            infos[row].setdefault(
                "episode",
                {"r": float(self._returns[row]), "l": int(self._lengths[row]), "t": round(now - float(self._begun[row]), 6)},
            )
        self._returns[dones], self._lengths[dones], self._begun[dones] = 0, 0, now

    def _add_infos(self, infos: list[dict[str, Any]], said: dict[str, Any]) -> None:
        """What an env said; in an episode's last step, what it said then rather than what its reset said."""
        per_env = self.num_envs // self.vec.num_envs
        final = said.get("final_info")
        for column, wins in ((said, False), (final, True)):
            if not isinstance(column, dict):
                continue
            for key, values in column.items():
                mask = column.get(f"_{key}")
                if mask is None or key in ("final_obs", "final_info"):
                    continue
                for env in np.flatnonzero(mask).tolist():
                    value = _of_env(values, env)
                    for info in infos[env * per_env : (env + 1) * per_env] if len(mask) == self.vec.num_envs else []:
                        if wins or key not in info:
                            info[key] = value

    def _show(self, observations: Array) -> Any:
        if self._structure is None:
            return observations
        shown = self._structure.unflatten(observations)
        return {key: np.array(part) for key, part in shown.items()} if isinstance(shown, dict) else np.array(shown)

    # ------------------------------------------------------------ the rest of SB3's API

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Used by the next reset. Returns SB3's list; the envs' own seeds are spread from `seed` by a SeedSequence."""
        self._seed = seed
        seeds: Sequence[int | None] = super().seed(seed)
        return seeds

    def close(self) -> None:
        self.vec.close()

    def get_images(self) -> Sequence[Any]:
        return [self.vec.render()]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """One value per row; raises AttributeError, saying where it looked."""
        return [_get(owner, attr_name) for owner in self._owners(indices, attr_name)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        for owner in self._owners(indices, attr_name, must_be_envs=True):
            setattr(owner, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        owners = self._owners(indices, method_name, must_be_envs=True)
        return [_get(owner, method_name)(*method_args, **method_kwargs) for owner in owners]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Whether each env, or for a class of VecEnv wrappers the VecEnv, is wrapped by it."""
        found = []
        for owner in self._owners(indices, "") if _envs_of(self.vec) else [self.vec for _ in self._get_indices(indices)]:
            while owner is not None and not isinstance(owner, wrapper_class):
                owner = vars(owner).get("env") if hasattr(owner, "__dict__") else None
            found.append(owner is not None)
        return found

    def _owners(self, indices: Any, name: str, must_be_envs: bool = False) -> list[Any]:
        rows = list(self._get_indices(indices))
        envs = _envs_of(self.vec)
        if envs:
            per_env = self.num_envs // self.vec.num_envs
            return [envs[row // per_env] for row in rows]
        if must_be_envs or not hasattr(self.vec, name):
            raise AttributeError(
                f"{name!r}: the envs of a {type(self.vec).__name__} are no Python objects of this process, so their attributes "
                "and methods cannot be reached; use backend='serial'"
            )
        return [self.vec] * len(rows)


def _structure(vec: VecEnv) -> Structure | None:
    """The structure to unflatten for SB3, or None where rows are what it reads."""
    space = vec.single_observation_space
    if not isinstance(space, StructuredBox):
        return None
    own = space.structure.space
    nested = isinstance(own, spaces.Tuple) or (
        isinstance(own, spaces.Dict) and any(isinstance(part, (spaces.Dict, spaces.Tuple)) for part in own.spaces.values())
    )
    if nested:
        raise SpaceError(f"Stable-Baselines3 knows no nested observations, this env has {own}; wrap each env so that it is flat")
    return space.structure


def _shown_space(vec: VecEnv, structure: Structure | None) -> spaces.Space[Any]:
    return vec.single_observation_space if structure is None else structure.space


def _envs_of(vec: Any) -> list[Any]:
    """The envs themselves, where they are objects of this process."""
    while isinstance(vec, VecWrapper):
        vec = vec.env
    if not isinstance(vec, SerialVec):
        return []
    return [getattr(env, "env", env) if _is_adapter(env) else env for batch in vec._envs for env in getattr(batch, "envs", [])]


def _is_adapter(env: Any) -> bool:
    return type(env).__module__.startswith("pufferlib.emulation")


def _get(owner: Any, name: str) -> Any:
    """An attribute of an env or of one that it wraps."""
    finder = getattr(owner, "get_wrapper_attr", None)
    return finder(name) if finder else getattr(owner, name)


def _of_env(values: Any, env: int) -> Any:
    if isinstance(values, dict):
        return {key: _of_env(part, env) for key, part in values.items() if f"_{key}" in values and values[f"_{key}"][env]}
    return values[env]
