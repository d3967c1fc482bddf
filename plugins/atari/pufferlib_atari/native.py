"""`backend="native"`: ALE's own vector env, which steps its games on threads in C++.

Its rules are those of `Atari` where it has them at all. Without random draws (noop_max=0, sticky_actions=0) its numbers are the
same, too, but for the last picture of a game that ends in the midst of a step. It draws no-op starts, up to noop_max - 1 of them,
and sticky actions from generators of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError
from pufferlib.vector import VecEnv, VecShape
from pufferlib.vector.serial import SerialVec
from pufferlib.vector.shape import available_cpus
from pufferlib_atari.env import FRAMES_PER_SECOND, Atari
from pufferlib_atari.game import rom_path, spread
from pufferlib_atari.settings import Settings

INSTEAD = "use another backend: auto, serial or processes"


def native_vec(
    maker: Callable[..., PufferEnv], shape: VecShape, *, seed: Any = None, in_order: bool = False, num_threads: int = 0
) -> VecEnv:
    """A VecEnv of Atari games on ALE's own threads; 0: one for each core. Raises ConfigError for any other env."""
    if not isinstance(maker, functools.partial) or maker.func is not Atari:
        raise ConfigError(f"backend='native' is ALE's own and steps the atari plugin's games only; {INSTEAD}")
    if not isinstance(num_threads, int) or not 0 <= num_threads <= 4096:
        raise ConfigError(f"backend_options['num_threads'] must be an integer in [0, 4096], got {num_threads!r}")
    threads = num_threads or available_cpus()
    return SerialVec(functools.partial(NativeAtari, num_threads=threads, **maker.keywords), shape, seed=seed, in_order=in_order)


class NativeAtari(PufferEnv):
    """`ale_py.vector_env.AtariVectorEnv` as a PufferEnv batch. Raises ConfigError for what it does not have or does otherwise."""

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        buf: Buffers | None = None,
        render_mode: str | None = None,
        num_threads: int = 1,
        **settings: Any,
    ) -> None:
        from ale_py import ALEInterface, LoggerMode
        from ale_py.vector_env import AtariVectorEnv

        self.settings = own = Settings(**settings)
        if render_mode is not None:
            raise ConfigError(f"render_mode={render_mode!r}: ALE's vector env draws nothing; {INSTEAD}")
        for name, wanted, why in (
            ("episodic_life", False, "ALE's vector env begins a new game where a life is lost"),
            ("grayscale", True, "planes of colours would have to be sorted anew"),
            ("mode", None, "ALE's vector env has no such setting"),
            ("difficulty", None, "ALE's vector env has no such setting"),
        ):
            if getattr(own, name) != wanted:
                raise ConfigError(f"{name}={getattr(own, name)!r} with backend='native': {why}; {INSTEAD}")
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.num_envs = self.num_agents = num_envs
        rom = rom_path(game).rpartition("/")[2].removesuffix(".bin")
        self._vec = AtariVectorEnv(
            rom,
            num_envs,
            num_threads=min(num_threads, num_envs),
            max_num_frames_per_episode=own.max_frames,
            repeat_action_probability=float(own.sticky_actions),
            full_action_space=own.full_action_space,
            autoreset_mode="SameStep",
            img_height=own.size[0],
            img_width=own.size[1],
            stack_num=own.frame_stack,
            frameskip=own.frame_skip,
            maxpool=own.max_pool,
            noop_max=own.noop_max,
            reward_clipping=False,
            use_fire_reset=own.fire_reset,
        )
        self.single_observation_space = Box(0, 255, (own.frame_stack, *own.size), np.uint8)
        self.single_action_space = self._vec.single_action_space
        self.metadata = {"render_modes": [], "render_fps": FRAMES_PER_SECOND / own.frame_skip}
        self._actions = ActionCodec(self.single_action_space)
        self._log = EpisodeLog()
        self._returns, self._scores, self._lengths = (np.zeros(num_envs) for _ in range(3))
        super().__init__(buf)

    def reset(self, seed: Sequence[int] | None = None) -> tuple[Array, list[dict[str, Any]]]:
        seeds = (
            None if seed is None else np.array([spread(one)[1] & 2**31 - 1 for one in seed], np.int32)
        )  # to ALE, below 0 is none
        observations, _ = self._vec.reset(seed=seeds)
        self.rewards[:] = self._returns[:] = self._scores[:] = self._lengths[:] = 0
        self.terminals[:] = self.truncations[:] = False
        self.masks[:] = True
        self.observations[:] = observations
        self._fill_young(self.observations)
        return self.observations, []

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[dict[str, Any]]]:
        self._actions.decode(actions, self.first_env)  # refuses what is no action
        observations, points, terminals, truncations, said = self._vec.step(actions)
        self.observations[:] = observations
        self.rewards[:] = np.sign(points) if self.settings.clip_rewards else points
        self.terminals[:] = terminals
        self.truncations[:] = truncations & ~terminals
        self.masks[:] = True
        self._returns += self.rewards
        self._scores += points
        self._lengths += 1
        ended = np.flatnonzero(self.terminals | self.truncations)
        infos = self._end_episodes(ended, said["final_obs"]) if len(ended) else []
        self._fill_young(self.observations)
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def drain_log(self) -> dict[str, float]:
        return self._log.drain()

    def close(self) -> None:
        if vec := self.__dict__.pop("_vec", None):
            vec.close()

    def _end_episodes(self, ended: Array, finals: Array) -> list[dict[str, Any]]:
        finals = np.array(finals)
        self._fill_young(finals)
        self.final_observations[ended] = finals[ended]
        infos: list[dict[str, Any]] = []
        for row in ended.tolist():
            info = {"score": int(self._scores[row]), "lives_played": 1}
            self._log.add_episode(float(self._returns[row]), int(self._lengths[row]))
            self._log.add_info(info)
            infos.append({**info, "env_index": self.first_env + row})
        self._returns[ended] = self._scores[ended] = self._lengths[ended] = 0
        return infos

    def _fill_young(self, stacks: Array) -> None:
        """Where an episode is younger than the stack, ALE has zeros before its first picture, and here there are copies of it."""
        last = self.settings.frame_stack - 1
        for row in np.flatnonzero(self._lengths < last).tolist():
            first = last - int(self._lengths[row])
            stacks[row, :first] = stacks[row, first]
