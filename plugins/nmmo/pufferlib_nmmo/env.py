"""Neural MMO 2.1 (Suarez et al. 2023, "Neural MMO 2.0: A Massively Multi-task Addition to Massively Multi-agent Learning").

It has PettingZoo's parallel API already; this turns its action targets into action masks and its infos into figures of a game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import spaces
from pettingzoo.utils.env import ParallelEnv

from pufferlib.errors import ConfigError, EnvError
from pufferlib_nmmo.maps import cache_folder, use_kept_maps

Size = Literal["small", "medium", "large"]
TARGETS = "ActionTargets"
INSTALL = (
    "pip install 'pufferlib[nmmo]' and then\n"
    "pip install --no-deps --no-build-isolation --no-cache-dir --no-binary nmmo --ignore-requires-python nmmo==2.1.2\n"
    "in an environment of its own: it brings top-level packages `tests` and `scripted` along"
)


def make_env(
    *,
    size: Size = "medium",
    players: int | None = None,
    horizon: int | None = None,
    num_maps: int | None = None,
    map_folder: str | Path | None = None,
    config: Callable[[], Any] | None = None,
) -> NeuralMMO:
    """One world.

    size: Neural MMO's own, with all game systems: small (64 agents on 64 x 64 tiles, 128 steps), medium (128, 160 x 160, 1024),
        large (1024, 1056 x 1056, 8192)
    players, horizon, num_maps: its PLAYER_N, HORIZON, MAP_N
    map_folder: where maps are kept once they are made, by default `~/.cache/pufferlib/nmmo`. The seed of a reset chooses one of
        them and scatters its resources
    config: a class derived from `nmmo.config.Config`, or a function that makes one, in place of size
    Raises ConfigError for an argument that it cannot have, EnvError with what to install.
    """
    nmmo = _nmmo()
    if size not in get_args(Size):
        raise ConfigError(f"size must be one of {', '.join(get_args(Size))}, got {size!r}")
    numbers = {"players": ("PLAYER_N", players), "horizon": ("HORIZON", horizon), "num_maps": ("MAP_N", num_maps)}
    for name, (_, number) in numbers.items():
        if number is not None and (not isinstance(number, int) or number < 1):
            raise ConfigError(f"{name} must be a whole number of at least 1, got {number!r}")
    made = (config or _sized(nmmo.config, size))()
    for setting, number in numbers.values():
        if number is not None:
            made.set(setting, number)
    use_kept_maps(made, cache_folder() if map_folder is None else Path(map_folder), nmmo.__version__)
    return NeuralMMO(nmmo.Env(made))


class NeuralMMO(ParallelEnv):  # type: ignore[misc]
    """Around a `nmmo.Env`, with PettingZoo's parallel API: agents are 1, 2, ... PLAYER_N.

    An observation is `{"observation": {AgentId, Tile, Entity, ...}, "action_mask": uint8[number of all choices]}`, where the env
    gives action targets; its infos are figures of the whole game, in its last step: `task_progress`, the mean over all agents of
    how far each came with its task, `tasks_completed`, the share that completed it, and `survivors`, the share that lived.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.metadata = dict(env.metadata)
        self.render_mode = None
        self.possible_agents = list(env.possible_agents)
        self._action_space: spaces.Dict = env.action_space(self.possible_agents[0])
        own = env.observation_space(self.possible_agents[0])
        self._has_targets = TARGETS in own.spaces
        self._paths = _leaf_paths(self._action_space)
        self._observation_space: spaces.Dict = own
        if self._has_targets:
            rest = spaces.Dict({name: part for name, part in own.spaces.items() if name != TARGETS})
            self._width = sum(int(_at(self._action_space, path).n) for path in self._paths)
            self._observation_space = spaces.Dict({"observation": rest, "action_mask": spaces.MultiBinary(self._width)})
        self._last_infos: dict[Any, Any] = {}
        """Neural MMO's own, which it makes anew in each step, of each agent's last step."""

    @property
    def agents(self) -> list[Any]:
        """Those who live."""
        return list(self.env.agents)

    def observation_space(self, agent: Any) -> spaces.Space[Any]:
        return self._observation_space

    def action_space(self, agent: Any) -> spaces.Space[Any]:
        return self._action_space

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """options: Neural MMO's `map_id`, `make_task_fn` and `game`."""
        observations, _ = self.env.reset(seed=seed, options=options)
        self._last_infos = {}
        return {agent: self._translated(seen) for agent, seen in observations.items()}, {}

    def step(self, actions: Mapping[Any, Any]) -> tuple[Any, Any, Any, Any, Any]:
        observations, rewards, terminals, truncations, infos = self.env.step(dict(actions))
        self._last_infos.update(infos)
        seen = {agent: self._translated(observation) for agent, observation in observations.items()}
        over = not self.env.agents
        return seen, rewards, terminals, truncations, self._figures(truncations) if over else {}

    def render(self) -> None:
        """Neural MMO draws itself in a client of its own."""

    def close(self) -> None:
        self.env.close()

    def _translated(self, observation: Mapping[str, Any]) -> Any:
        if not self._has_targets:
            return observation
        rest = dict(observation)
        targets = rest.pop(TARGETS)
        parts = [targets[action][argument] for action, argument in self._paths]
        joined = b"".join(parts)  # a third of what np.concatenate takes, where each choice is a byte
        mask = np.frombuffer(joined, np.int8) if len(joined) == self._width else np.concatenate(parts)
        return {"observation": rest, "action_mask": mask}

    def _figures(self, truncations: Mapping[Any, bool]) -> dict[str, float]:
        agents = len(self.possible_agents)
        tasks = [list(info["task"].values())[-1] for info in self._last_infos.values() if info.get("task")]
        # One for an agent, unless the config allows several: then the last.
        return {
            "task_progress": sum(float(task["progress"]) for task in tasks) / agents,
            "tasks_completed": sum(bool(task["completed"]) for task in tasks) / agents,
            "survivors": sum(map(bool, truncations.values())) / agents,
        }


def _leaf_paths(space: spaces.Dict) -> list[tuple[str, str]]:
    """(action, argument) of every choice, in the order of an agent's row of actions."""
    return [(action, argument) for action, part in space.spaces.items() for argument in part.spaces]  # type: ignore[attr-defined]


def _at(space: Any, path: tuple[str, str]) -> Any:
    return space[path[0]][path[1]]


def _sized(config: Any, size: Size) -> Callable[[], Any]:
    return type(size.capitalize(), (getattr(config, size.capitalize()), config.AllGameSystems), {})


def _nmmo() -> Any:
    try:
        import nmmo
    except (ImportError, ValueError) as error:  # ValueError: built against another numpy
        raise EnvError(f"Neural MMO cannot be imported ({error}):\n{INSTALL}") from error
    return nmmo
