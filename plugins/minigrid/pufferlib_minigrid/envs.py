"""Names to ids to envs, and what an env shows: an image, where the agent looks, and the mission as tokens."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium import spaces

from pufferlib.emulation.short_names import ShortNames
from pufferlib.errors import ConfigError, EnvError
from pufferlib_minigrid.missions import Missions

View = Literal["partial", "full"]
Env = gymnasium.Env[Any, Any]
INSTALL = "pip install 'pufferlib[minigrid]'"
MAX_STATE = 3
"""The largest number in an image's third channel: the agent's direction. Doors have 0 to 2."""


def make_minigrid(name: str) -> Callable[..., Env]:
    """The factory of `minigrid-<name>`; `minigrid-babyai-<name>` is `babyai-<name>`. Raises EnvNotFoundError with near names."""
    if name.lower().startswith("babyai-"):
        return make_babyai(name[len("babyai-") :])
    return functools.partial(make_env, _names("minigrid").find(name))


def make_babyai(name: str) -> Callable[..., Env]:
    """The factory of `babyai-<name>`. Raises EnvNotFoundError with near names."""
    return functools.partial(make_env, _names("babyai").find(name))


def list_minigrid() -> list[str]:
    """What may follow `minigrid-`."""
    return _names("minigrid").names()


def list_babyai() -> list[str]:
    """What may follow `babyai-`."""
    return _names("babyai").names()


def make_env(
    env_id: str,
    /,
    *,
    view: View = "partial",
    rgb: bool = False,
    tile_size: int = 8,
    mission: bool = True,
    mission_length: int | None = None,
    words: Sequence[str] = (),
    **kwargs: Any,
) -> Env:
    """One env of a Gymnasium id of Minigrid's, whose observations are a Dict of numbers (see `Observations`).

    view: partial, the 7 x 7 cells before the agent (`agent_view_size` changes that), or full, the whole grid
    rgb: pixels instead of cells, `tile_size` of them to a cell's side
    mission: whether to show the mission; mission_length, words: see `Missions`
    kwargs: the env's own, such as `max_steps` and `render_mode`
    Raises ConfigError for a view or a size that it cannot have, EnvError where the package lacks something.
    """
    if view not in get_args(View):
        raise ConfigError(f"view must be one of {', '.join(get_args(View))}, got {view!r}")
    if not isinstance(tile_size, int) or tile_size < 1:
        raise ConfigError(f"tile_size must be a whole number of at least 1, got {tile_size!r}")
    minigrid = _minigrid()
    try:
        env: Env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    except ImportError as error:
        raise EnvError(f"{env_id} needs more than Minigrid itself ({error}): pip install 'minigrid[wfc]'") from error
    wrappers = minigrid.wrappers
    if rgb:
        env = (wrappers.RGBImgObsWrapper if view == "full" else wrappers.RGBImgPartialObsWrapper)(env, tile_size=tile_size)
    elif view == "full":
        env = wrappers.FullyObsWrapper(env)
    return Observations(env, rgb, Missions(env, mission_length, words) if mission else None)


class Observations(gymnasium.ObservationWrapper[Any, Any, Any]):
    """All numbers are uint8.

    | part | space | what |
    |---|---|---|
    | image | Box [width, height, 3] | cells: object, colour, state, each in its own bounds; with rgb pixels [height, width, 3] |
    | direction | Discrete(4) | right, down, left, up |
    | mission | MultiDiscrete [mission_length] | tokens, see `Missions`; left out where there is none |
    """

    def __init__(self, env: Env, rgb: bool, missions: Missions | None) -> None:
        super().__init__(env)
        image: Any = env.observation_space["image"]  # type: ignore[index]
        parts: dict[str, spaces.Space[Any]] = {
            "image": image if rgb else _cells(image.shape),
            "direction": spaces.Discrete(4, dtype=np.uint8),
        }
        self._missions = missions
        if missions:
            parts["mission"] = missions.space
        self.observation_space = spaces.Dict(parts)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As an int: Minigrid compares an action with one member of an enum after the other, which is slow for numpy's."""
        return super().step(int(action))

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The env's own observation, its mission as tokens."""
        seen = {"image": observation["image"], "direction": np.uint8(observation["direction"])}
        if self._missions:
            seen["mission"] = self._missions.tokens(observation["mission"])
        return seen


def _cells(shape: tuple[int, ...]) -> spaces.Box:
    """Minigrid's own space allows 255 everywhere, which would make networks' inputs tiny."""
    from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX

    high = np.array([max(OBJECT_TO_IDX.values()), max(COLOR_TO_IDX.values()), MAX_STATE], np.uint8)
    return spaces.Box(np.zeros(shape, np.uint8), np.broadcast_to(high, shape).copy(), dtype=np.uint8)


@functools.cache
def _names(family: str) -> ShortNames:
    _minigrid()
    start = {"minigrid": "MiniGrid-", "babyai": "BabyAI-"}[family]
    return ShortNames(family, {env_id: env_id[len(start) :] for env_id in gymnasium.registry if env_id.startswith(start)})


def _minigrid() -> Any:
    """The package, which registers its ids when it is imported."""
    try:
        import minigrid
        from minigrid.envs.babyai.core import roomgrid_level
    except ImportError as error:
        raise EnvError(f"Minigrid cannot be imported ({error}): {INSTALL}") from error
    vars(roomgrid_level)["print"] = _debug  # BabyAI prints each level that it throws away, in the middle of a dashboard
    return minigrid


def _debug(*words: Any) -> None:
    logging.getLogger(__name__).debug(" ".join(map(str, words)))
