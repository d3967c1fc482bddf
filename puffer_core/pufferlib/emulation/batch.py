"""EmulatedBatch: many single-agent envs with Gymnasium's API as one PufferEnv batch, stepped one after the other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.checks import (
    blame,
    blame_result,
    check_rewards,
    flag_value,
    info_value,
    reset_values,
    reward_value,
)
from pufferlib.emulation.codec import ObservationCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.emulation.observation_check import ObservationCheck
from pufferlib.env import PufferEnv
from pufferlib.errors import EnvError, SpaceError
from pufferlib.native._emulation import Stepper
from pufferlib.numbering import first_env

Info = dict[str, Any]
NO_RESULT: Any = object()
"""Stands for the result of a step that has not returned."""


def build_envs(factory: Callable[[], Any], num_envs: int) -> list[Any]:
    """`num_envs` envs; those already made are closed if one cannot be."""
    envs: list[Any] = []
    for index in range(num_envs):
        try:
            envs.append(factory())
        except BaseException as error:
            for env in envs:
                env.close()
            if isinstance(error, Exception) and not isinstance(error, (TypeError, ValueError)):
                blame(error, first_env.get() + index, "__init__")
            raise  # a wrong keyword argument: the env's own words are the best
    return envs


class EmulatedBatch(PufferEnv):
    """Row i is env i. Observations are copied on arrival, so envs may reuse their arrays.

    Where an episode ends, `final_observations` gets its last observation, the env is reset, and its info is
    `{"final_info": <the last step's>, **<the reset's>}`; an env that says nothing in either has none, as in any other step.
    """

    def __init__(self, factory: Callable[[], Any], num_envs: int = 1, buf: Buffers | None = None) -> None:
        self.envs = build_envs(factory, num_envs)
        self.num_envs = self.num_agents = num_envs
        first = self.envs[0]
        try:
            self._observation_codec = ObservationCodec(first.observation_space)
            self._action_codec = ActionCodec(first.action_space)
            self._check_same_spaces()
        except BaseException:
            self.close()
            raise
        self.single_observation_space = self._observation_codec.box
        self.single_action_space = self._action_codec.space
        self.render_mode = getattr(first, "render_mode", None)
        self.metadata = dict(getattr(first, "metadata", None) or {})
        self._steps = [env.step for env in self.envs]
        codec = self._observation_codec
        shape = codec.shape if codec.identity else None
        self._stepper = Stepper(codec.dtype, shape, codec.pack, reward_value, flag_value, info_value, NO_RESULT)
        self.check = ObservationCheck(self._observation_codec.structure)
        self._log = EpisodeLog()
        self._returns = np.zeros(num_envs)
        self._begun = [0] * num_envs
        """The value of `_time` when each env's episode began."""
        self._time = 0
        super().__init__(buf)

    def unflatten(self, row: Array) -> Any:
        """The env's own observation, from a row."""
        return self._observation_codec.decode(row)

    def reset(self, seed: Sequence[int] | None = None, options: Info | None = None) -> tuple[Array, list[Info]]:
        """Reset every env, env i with seed[i] where seeds are given; its action space is seeded as well."""
        infos: list[Info] = []
        self.rewards[:] = 0
        self.terminals[:] = self.truncations[:] = False
        self.masks[:] = True
        for index in range(self.num_envs):
            info = self._reset_env(index, None if seed is None else seed[index], options)
            if info:
                infos.append({**info, "env_index": self.first_env + index})
        self._returns[:] = 0
        self.check(self.observations, 1, self.first_env)
        return self.observations, infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[Info]]:
        """Step every env with its row of `actions`."""
        choices = self._action_codec.decode(actions, self.first_env)
        observations, terminals, truncations = self.observations, self.terminals, self.truncations
        try:
            ended, said = self._stepper.step(
                self._steps,
                choices if type(choices) is list else list(choices),
                observations,
                self.rewards,
                terminals,
                truncations,
                self.masks,
                self._returns,
            )
        except Exception as error:
            self._blame_step(error, self._stepper.index, self._stepper.result)
        if not self._stepper.all_finite:
            check_rewards(self.rewards, 1, self.first_env)
        self.check(observations, 1, self.first_env)
        self._time += 1
        for info in said.values():
            self._log.add_info(info)
        if ended:
            for index in ended:
                info = self._end_episode(index, said.pop(index, None))
                if info:
                    said[index] = info
            self.check(observations, 1, self.first_env)
        infos = [{**info, "env_index": self.first_env + index} for index, info in said.items()] if said else []
        return observations, self.rewards, terminals, truncations, infos

    def drain_log(self) -> dict[str, float]:
        """Means over the episodes ended since the last call: `episode_return`, `episode_length`, the numbers in infos."""
        return self._log.drain()

    def render(self) -> Any:
        """The first env's frame."""
        return self.envs[0].render()

    def close(self) -> None:
        """Close every env; one that raises does not keep the others open. What was raised is raised again at the end."""
        envs, self.envs = self.envs, []
        self._steps = []
        failed: tuple[Exception, int] | None = None
        for index, env in enumerate(envs):
            try:
                env.close()
            except Exception as error:
                failed = failed or (error, index)
        if failed:
            blame(failed[0], self.first_env + failed[1], "close")

    def _reset_env(self, index: int, seed: int | None, options: Info | None) -> Info:
        env = self.envs[index]
        try:
            if seed is not None:
                env.action_space.seed(seed)
            result = env.reset(seed=seed) if options is None else env.reset(seed=seed, options=options)
            observation, info = reset_values(result)
            self.observations[index] = self._observation_codec.encode(observation)
        except Exception as error:
            blame(error, self.first_env + index, "reset")
        self._begun[index] = self._time
        return info

    def _end_episode(self, index: int, info: Info | None) -> Info:
        """Keep the last observation and info, which the env may reuse, then begin the next episode."""
        self.final_observations[index] = self.observations[index]
        final = deep_copy(info) if info else None
        self._log.add_episode(float(self._returns[index]), self._time - self._begun[index])
        self._returns[index] = 0
        begun = self._reset_env(index, None, None)
        return {**begun, "final_info": final} if final else begun

    def _blame_step(self, error: Exception, index: int, result: Any) -> NoReturn:
        if result is not NO_RESULT and not (isinstance(result, (tuple, list)) and len(result) == 5):
            try:  # raised by unpacking the result, not by the env
                blame_result(result)
            except EnvError as better:
                error = better
        blame(error, self.first_env + index, "step")

    def _check_same_spaces(self) -> None:
        first = self.envs[0]
        for index, env in enumerate(self.envs[1:], 1):
            for name in ("observation_space", "action_space"):
                if getattr(env, name) != getattr(first, name):
                    raise SpaceError(f"env {index} has {name} {getattr(env, name)}, unlike env 0 with {getattr(first, name)}")


def deep_copy(info: Info) -> Info:
    """A copy that the env cannot change any more; shallow where a value refuses to be copied."""
    try:
        return copy.deepcopy(info)
    except Exception:
        return dict(info)
