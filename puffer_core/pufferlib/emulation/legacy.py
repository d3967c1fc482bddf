"""Envs of the old `gym` package, and of any other that kept its API, as Gymnasium envs.

| old | here |
|---|---|
| `step` gives `(observation, reward, done, info)` | a terminal, or a truncation where `info["TimeLimit.truncated"]` |
| `step` gives five values (gym 0.26) | as they are |
| `reset()` gives the observation, or `(observation, info)` | both |
| `env.seed(seed)`, or `reset(seed=...)` (gym 0.22 to 0.26) | whichever it has |
| `render(mode="rgb_array")`, or the mode given to the constructor | whichever it has |
| spaces of `gym`, or anything with their attributes | Gymnasium's |

Nothing here imports `gym`: what an env has is told by its attributes and signatures.
"""

from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Buffers
from pufferlib.emulation.checks import five_values
from pufferlib.emulation.gymnasium import GymnasiumBatch
from pufferlib.errors import ConfigError, SpaceError

Info = dict[str, Any]


def legacy_batch(factory: Callable[[], Any], num_envs: int = 1, buf: Buffers | None = None) -> GymnasiumBatch:
    """A batch of envs of the old API."""
    return GymnasiumBatch(lambda: LegacyGym(factory()), num_envs, buf)


class LegacyGym(gymnasium.Env[Any, Any]):
    """Gymnasium's API over an env of the old one, which is `self.env`.

    Envs derived from `gym.Env` get it by themselves in `emulate`. One that derives from nothing is wrapped by hand:
    `emulate(lambda: LegacyGym(Maze()))`. `observation_space` and `action_space` take the place of the env's own ones, where those
    are wrong or missing. `render_mode` is what `render` asks for, by default "rgb_array" where the env can do that.

    Raises SpaceError for a space that is none of gym's.
    """

    def __init__(
        self, env: Any, *, observation_space: Any = None, action_space: Any = None, render_mode: str | None = None
    ) -> None:
        self.env = env
        self.observation_space = _space_of(env, "observation_space", observation_space)
        self.action_space = _space_of(env, "action_space", action_space)
        self.metadata = dict(getattr(env, "metadata", None) or {})
        self._render_takes_mode = "mode" in _parameters(env, "render")
        modes = self.metadata.get("render_modes") or self.metadata.get("render.modes") or ()
        default = "rgb_array" if self._render_takes_mode and "rgb_array" in modes else None
        self.render_mode = render_mode or getattr(env, "render_mode", None) or default
        self._reset_takes = {name for name in ("seed", "options") if _reaches_reset(env, name)}

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        arguments: Info = {}
        if seed is not None:
            if "seed" in self._reset_takes:
                arguments["seed"] = seed
            else:
                self.seed(seed)
        if options is not None:
            if "options" not in self._reset_takes:
                raise ConfigError(f"reset(options={options!r}): {type(self.env).__name__}.reset() takes no options")
            arguments["options"] = options
        result = self.env.reset(**arguments)
        return result if self._has_info(result) else (result, {})

    def seed(self, seed: int) -> None:
        """Seed an env whose `reset` takes no seed. Override it for one that is seeded in another way than by `env.seed(seed)`."""
        if callable(getattr(self.env, "seed", None)):
            self.env.seed(seed)
        else:
            warnings.warn(f"{type(self.env).__name__} has no seed(): its random numbers cannot be repeated", stacklevel=2)

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        return five_values(self.env.step(action))

    def render(self) -> Any:
        return self.env.render(mode=self.render_mode or "human") if self._render_takes_mode else self.env.render()

    def close(self) -> None:
        if callable(getattr(self.env, "close", None)):
            self.env.close()

    def _has_info(self, result: Any) -> bool:
        """Whether reset gave (observation, info) rather than an observation, which may itself be a tuple that ends in a dict."""
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            return False
        own = self.observation_space
        could_be_observation = isinstance(own, spaces.Tuple) and len(own.spaces) == 2 and isinstance(own.spaces[1], spaces.Dict)
        return not (could_be_observation and own.contains(result))


def gymnasium_space(space: Any, name: str = "space") -> spaces.Space[Any]:
    """Gymnasium's space for one of gym's, or for anything with the same attributes; Gymnasium's own ones are left as they are.

    | attributes | space |
    |---|---|
    | `spaces`, a mapping or a sequence | Dict (in the mapping's order) or Tuple |
    | `nvec` | MultiDiscrete |
    | `low`, `high` (numbers, or arrays of `shape`) | Box |
    | `n`, `shape` not () | MultiBinary |
    | `n` | Discrete, from `start` where there is one |

    Raises SpaceError, with `name`, for all else.
    """
    if isinstance(space, spaces.Space):
        return space
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        named = ((key, gymnasium_space(part, f"{name}[{key!r}]")) for key, part in parts.items())
        return spaces.Dict(OrderedDict(named))
    if isinstance(parts, (tuple, list)):
        return spaces.Tuple([gymnasium_space(part, f"{name}[{index}]") for index, part in enumerate(parts)])
    shape = getattr(space, "shape", None)
    if hasattr(space, "nvec"):
        return spaces.MultiDiscrete(np.asarray(space.nvec), dtype=getattr(space, "dtype", None) or np.int64)
    if hasattr(space, "low") and hasattr(space, "high"):
        low, dtype = space.low, getattr(space, "dtype", None)
        shape = np.shape(low) if shape is None else tuple(shape)
        return spaces.Box(low, space.high, shape, dtype=np.float32 if dtype is None else np.dtype(dtype).type)
    if hasattr(space, "n"):
        if shape:
            return spaces.MultiBinary(int(shape[0]) if len(shape) == 1 else tuple(shape))
        return spaces.Discrete(int(space.n), start=int(getattr(space, "start", 0)))
    raise SpaceError(f"{name} is a {type(space).__name__}, which has no equal among Gymnasium's spaces: {space!r}")


def _space_of(env: Any, name: str, given: Any) -> spaces.Space[Any]:
    space = getattr(env, name, None) if given is None else given
    if space is None:
        raise SpaceError(f"{type(env).__name__} has no {name}: give one, LegacyGym(env, {name}=...)")
    return gymnasium_space(space, name)


def _reaches_reset(env: Any, name: str) -> bool:
    """Whether the innermost env's reset takes `name`, and the wrappers around it hand it on."""
    outer, inner = _parameters(env, "reset"), _parameters(getattr(env, "unwrapped", env), "reset")
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in outer.values())
    return name in inner and (name in outer or open_ended)


def _parameters(env: Any, method: str) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(getattr(env, method)).parameters
    except (AttributeError, TypeError, ValueError):  # it has none, or one written in C
        return {}
