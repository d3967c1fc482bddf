"""A Griddly game of one player as a Gymnasium env, one of several as agents of a MultiAgentBatch.

Griddly says in one `done` that a game is over, and in `PlayerResults` who won. Its own step limit would be a loss for everybody;
the limit here is a truncation.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gymnasium import spaces

from pufferlib import LegacyGym
from pufferlib.buffers import Buffers
from pufferlib.emulation.gymnasium import GymnasiumBatch
from pufferlib.emulation.legacy import gymnasium_space
from pufferlib.emulation.multi import MultiAgentBatch
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, EnvError
from pufferlib_griddly.names import INSTALL

Info = dict[str, Any]
MAX_STEPS = 1000
OBSERVERS = ("vector", "ascii", "sprite_2d", "block_2d", "isometric")
NEED_VULKAN = OBSERVERS[2:]
DRIVER_FOLDERS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")


def make_env(
    game: str | Path,
    *,
    level: int = 0,
    observer: str = "vector",
    global_observer: str = "vector",
    max_steps: int | None = MAX_STEPS,
    render_mode: str | None = None,
) -> OnePlayer | Players:
    """One game, from the path of its rules (a GDY file), your own or one of Griddly's.

    level: of those that the rules hold; they may differ in size, so a batch has one
    observer: what players see. vector: uint8[objects and variables, width, height], a 1 where an object is; ascii;
        sprite_2d, block_2d, isometric: pixels [3, width, height], drawn by a GPU (Vulkan), where the game has them
    global_observer: what `render` draws, of the same kinds
    max_steps: after so many an episode is truncated; None never does
    Raises ConfigError for a level, an observer or a limit that there is not, EnvError without Griddly or without Vulkan.
    """
    if render_mode not in (None, "rgb_array"):
        raise ConfigError(f"render_mode must be 'rgb_array', got {render_mode!r}")
    griddly = _griddly()
    kinds = griddly.gd.ObserverType
    try:
        env = griddly.GymWrapper(
            str(game),
            level=0,
            player_observer_type=kinds.__members__[_observer(observer, "observer").upper()],
            global_observer_type=kinds.__members__[_observer(global_observer, "global_observer").upper()],
        )
    except ValueError as error:
        raise ConfigError(f"{Path(game).stem}: {error} (observer={observer!r}, global_observer={global_observer!r})") from error
    if not isinstance(level, int) or not 0 <= level < env.level_count:  # Griddly itself ends the process over that
        raise ConfigError(f"level must be a whole number from 0 to {env.level_count - 1}, got {level!r}")
    if level:
        env.reset(level_id=level)
    return adapted(env, max_steps)


def adapted(env: Any, max_steps: int | None = MAX_STEPS) -> OnePlayer | Players:
    """The adapter for a `griddly.GymWrapper`, by its number of players."""
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
        raise ConfigError(f"max_steps must be a whole number of at least 1, or None, got {max_steps!r}")
    env.reset()  # before that, the spaces have no shape
    return OnePlayer(env, max_steps) if env.player_count == 1 else Players(env, max_steps)


def griddly_batch(factory: Callable[[], Any], num_envs: int = 1, buf: Buffers | None = None) -> PufferEnv:
    """A batch of games, made by `make_env` or `griddly.GymWrapper`: a row for each player."""

    def made() -> OnePlayer | Players:
        env = factory()
        return env if isinstance(env, (OnePlayer, Players)) else adapted(env)

    waiting = [made()]
    batch = GymnasiumBatch if isinstance(waiting[0], OnePlayer) else MultiAgentBatch
    return batch(lambda: waiting.pop() if waiting else made(), num_envs, buf)


class OnePlayer(LegacyGym):
    """A game of one player. The last step's info has `win`, 1.0 or 0.0."""

    def __init__(self, env: Any, max_steps: int | None) -> None:
        super().__init__(env, render_mode="rgb_array")
        self._max_steps, self._left = max_steps, -1

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        self._left = -1 if self._max_steps is None else self._max_steps
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        observation, reward, done, info = self.env.step(action)
        self._left -= 1
        if done or self._left == 0:
            return observation, reward, done, not done, {"win": _win(info, 1)}
        return observation, reward, False, False, {}

    def render(self) -> Any:
        """uint8[height, width, 3] of the whole level."""
        return self.env.render(mode="rgb_array", observer="global")


class Players:
    """A game of several players, with PettingZoo's parallel API. The last step's info has each one's `win`, 1.0 or 0.0."""

    render_mode = "rgb_array"

    def __init__(self, env: Any, max_steps: int | None) -> None:
        self.env = env
        self.metadata = dict(env.metadata)
        self.possible_agents = [f"player_{number}" for number in range(1, env.player_count + 1)]
        self.agents: list[str] = []
        self._max_steps, self._left = max_steps, -1
        names = dict(enumerate(self.possible_agents))
        self._observation_spaces = {name: gymnasium_space(env.observation_space[k], name) for k, name in names.items()}
        self._action_spaces = {name: gymnasium_space(env.action_space[k], name) for k, name in names.items()}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self._action_spaces[agent]

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[dict[str, Any], Info]:
        if options is not None:
            raise ConfigError(f"reset(options={options!r}): Griddly's games take none")
        if seed is not None:
            self.env.seed(seed)
        self.agents = list(self.possible_agents)
        self._left = -1 if self._max_steps is None else self._max_steps
        return dict(zip(self.agents, self.env.reset(), strict=True)), {}

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        agents = self.agents
        observations, rewards, done, info = self.env.step([actions[agent] for agent in agents])
        self._left -= 1
        over = done or self._left == 0
        infos = {}
        if over:
            self.agents = []
            infos = {agent: {"win": _win(info, number)} for number, agent in enumerate(agents, 1)}
        if not isinstance(rewards, list):
            rewards = [rewards] * len(agents)
        return (
            dict(zip(agents, observations, strict=True)),
            dict(zip(agents, rewards, strict=True)),
            dict.fromkeys(agents, done),
            dict.fromkeys(agents, over and not done),
            infos,
        )

    def render(self) -> Any:
        """uint8[height, width, 3] of the whole level."""
        return self.env.render(mode="rgb_array", observer="global")

    def close(self) -> None:
        self.env.close()


def _win(info: Mapping[str, Any], player: int) -> float:
    return float(info.get("PlayerResults", {}).get(str(player)) == "Win")


def _observer(name: str, argument: str) -> str:
    if name not in OBSERVERS:
        raise ConfigError(f"{argument} must be one of {', '.join(OBSERVERS)}, got {name!r}")
    if name in NEED_VULKAN and not _has_vulkan():
        raise EnvError(f"{argument}={name!r} needs a Vulkan driver, of which this machine has none; 'vector' needs nothing")
    return name


def _has_vulkan() -> bool:
    """Whether a driver is registered with the system: without one, Griddly ends the process."""
    if not sys.platform.startswith("linux") or os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES"):
        return True
    return any(next(Path(folder).glob("*.json"), None) for folder in DRIVER_FOLDERS)


def _griddly() -> Any:
    try:
        return importlib.import_module("griddly")
    except ImportError as error:
        raise EnvError(f"Griddly cannot be imported ({error}): {INSTALL}") from error
