"""Procgen's gym3 API as one PufferEnv batch: the games are vectorised in C++ already, so there are no processes for each.

What the API allows: where an episode ends, it shows the next one's first picture and never the ended one's last. So
`final_observations` hold the last picture that was shown: the one on which the last action was chosen, one step before the end.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from pufferlib.buffers import Array, Buffers
from pufferlib.emulation.actions import ActionCodec
from pufferlib.emulation.episodes import EpisodeLog
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, EnvError
from pufferlib.vector.shape import available_cpus
from pufferlib_procgen.games import INSTALL, TIME_LIMITS, check_game

NUM_ACTIONS = 15
LARGEST = np.maximum.reduce
"""`max` without the detour."""
RESET = -1
"""The action that ends an episode at once."""


class Procgen(PufferEnv):
    """`num_envs` worlds of one game in one call of Procgen.

    game: one of the 16, such as coinrun
    distribution_mode: easy, hard, extreme, memory or exploration; not every game has the last three
    num_levels: how many levels there are; 0: all
    start_level: the first one's number
    num_threads: Procgen's own; None: one for each core, or none for a single world
    render_mode: None or "rgb_array", the first world's picture of 512 x 512
    options: what else Procgen takes: use_backgrounds, center_agent, restrict_themes, use_monochrome_assets, use_generated_assets,
        paint_vel_info, use_sequential_levels

    Observations are uint8[64, 64, 3]. A world's seed, not its place, decides its levels and all else that is random. An episode
    that lasts as long as the game lets it is truncated, any other end is terminal. `drain_log` has `episode_return`,
    `episode_length` and `level_complete`. Raises ConfigError for what Procgen would abort the process on.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        buf: Buffers | None = None,
        render_mode: str | None = None,
        *,
        distribution_mode: str = "hard",
        num_levels: int = 0,
        start_level: int = 0,
        num_threads: int | None = None,
        **options: bool,
    ) -> None:
        check_game(game, distribution_mode, num_levels, start_level, options)
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"render_mode must be None or 'rgb_array', got {render_mode!r}")
        if num_threads is None:
            num_threads = min(available_cpus(), num_envs) if num_envs > 1 else 0
        if not isinstance(num_threads, int) or not 0 <= num_threads <= 4096:
            raise ConfigError(f"num_threads must be an integer in [0, 4096], got {num_threads!r}")
        self.game, self.num_envs, self.num_agents, self.render_mode = game, num_envs, num_envs, render_mode
        self._settings: dict[str, Any] = {
            "env_name": game,
            "distribution_mode": distribution_mode,
            "render_mode": render_mode,
            **options,
        }
        if distribution_mode != "exploration":  # which is one level, chosen by Procgen
            self._settings |= {"num_levels": num_levels, "start_level": start_level}
        self._worlds = self._build(num_envs, int(np.random.SeedSequence().generate_state(1)[0] >> 1), num_threads)
        # Procgen's own arrays, which it reads and writes. Its act() and observe() take and give copies of these, or dicts.
        self._choices = self._worlds._ac["action"]
        self._codes = self._choices.view(np.uint32)
        self._earned, self._pictures, self._first = self._worlds._rew, self._worlds._ob["rgb"], self._worlds._first
        self._complete = self._worlds._info["prev_level_complete"]
        self.single_observation_space = Box(0, 255, (64, 64, 3), np.uint8)
        self.single_action_space = Discrete(NUM_ACTIONS)
        self._time_limit = TIME_LIMITS[game]
        self._log = EpisodeLog()
        self._levels_complete = 0
        self._returns = np.zeros(num_envs)
        self._time = 0
        self._begun = [0] * num_envs
        """The value of `_time` when each world's episode began."""
        super().__init__(buf)

    def reset(self, seed: Sequence[int] | int | None = None) -> tuple[Array, list[dict[str, Any]]]:
        """Begin a new level in every world. seed: one per world, one for all that is spread, or None to go on drawing."""
        if seed is None:
            self._worlds.act(np.full(self.num_envs, RESET, np.int32))
        else:
            seeds = list(seed) if isinstance(seed, Sequence) else [seed + i for i in range(self.num_envs)]
            # Procgen seeds a whole batch by one number. A world of its own for each seed (1 ms) lends its state.
            states = [self._build(1, own & 2**31 - 1, 0).callmethod("get_state")[0] for own in seeds]
            self._worlds.callmethod("set_state", states)
        self._worlds.observe()
        self.observations[:] = self._pictures
        self._shown = self.observations
        self.rewards[:] = self._returns[:] = 0
        self._begun[:] = [self._time] * self.num_envs
        self.terminals[:] = self.truncations[:] = False
        self.masks[:] = True
        return self.observations, []

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, list[dict[str, Any]]]:
        """One step of every world. Raises ActionError for an action outside of 0 .. 14."""
        worlds = self._worlds
        self._choices[:] = actions
        if LARGEST(self._codes) >= NUM_ACTIONS:  # -1, a large number there, would end the episode
            ActionCodec(self.single_action_space).decode(actions, self.first_env)
        worlds._c_lib.libenv_act(worlds._c_env)  # which begins the step on Procgen's threads
        self.masks.fill(True)
        self.terminals.fill(False)
        self.truncations.fill(False)
        self._time += 1
        worlds._c_lib.libenv_observe(worlds._c_env)  # which waits for it
        self.rewards[:] = self._earned
        self._returns += self._earned
        if np.count_nonzero(self._first):
            self._end_episodes()
        self.observations[:] = self._pictures
        self._shown = self.observations
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def render(self) -> Array | None:
        """The first world, uint8[512, 512, 3]."""
        return None if self.render_mode is None else self._worlds.get_info()[0]["rgb"]

    def drain_log(self) -> dict[str, float]:
        levels, log = self._levels_complete, self._log.drain()
        if log:
            log["level_complete"], self._levels_complete = levels / log["n"], 0
        return log

    def close(self) -> None:
        if worlds := self.__dict__.pop("_worlds", None):
            worlds.close()

    def _end_episodes(self) -> None:
        """Before the new pictures are copied: the last ones may stand in the same array."""
        for row in self._first.nonzero()[0].tolist():
            is_complete, length = bool(self._complete[row]), self._time - self._begun[row]
            if length >= self._time_limit and not is_complete:
                self.truncations[row] = True
            else:
                self.terminals[row] = True
            self.final_observations[row] = self._shown[row]
            self._log.add_episode(float(self._returns[row]), length)
            self._levels_complete += is_complete
            self._returns[row], self._begun[row] = 0, self._time

    def _build(self, num: int, seed: int, num_threads: int) -> Any:
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # the old gym, which procgen imports, says there that it is old
                from procgen import ProcgenGym3Env
        except ImportError as error:
            raise EnvError(f"Procgen cannot be imported ({type(error).__name__}: {error}); {INSTALL}") from error
        worlds = ProcgenGym3Env(num=num, rand_seed=seed, num_threads=num_threads, **self._settings)
        worlds._reuse_arrays = True  # an argument of gym3's CEnv that Procgen does not hand on: its copies are not needed
        # Looked up here: under cffi's lock, which the making of another env holds, an env that is collected would hang.
        _ = worlds._c_lib.libenv_close
        return worlds
