"""highway-env: `highway-<name>`, such as highway-merge and highway-highway-fast."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium

from pufferlib.emulation.short_names import ShortNames
from pufferlib_gym_extra.needed import needed_for


def make(name: str) -> Callable[..., gymnasium.Env[Any, Any]]:
    """The factory of a name. Raises EnvNotFoundError with near names, EnvError with what to install."""
    return functools.partial(gymnasium.make, _ids().find(name), disable_env_checker=True)


def names() -> list[str]:
    """What may follow `highway-`."""
    return _ids().names()


def _ids() -> ShortNames:
    with needed_for("highway"):
        import highway_env

        gymnasium.register_envs(highway_env)
    own = [env_id for env_id, spec in gymnasium.registry.items() if str(spec.entry_point).startswith("highway_env")]
    return ShortNames("highway", {env_id: env_id for env_id in own})
