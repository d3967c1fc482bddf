"""dm_control by Shimmy: `dm-control-<domain>-<task>`, such as dm-control-ball-in-cup-catch; manipulation and locomotion, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium

from pufferlib.emulation.short_names import ShortNames
from pufferlib_gym_extra.needed import needed_for

NAMESPACE = "dm_control/"
GENERIC = "dm_control/compatibility-env-v0"
"""Shimmy's wrapper for any env of that API, which is no task."""


def make(name: str) -> Callable[..., gymnasium.Env[Any, Any]]:
    """The factory of a name. Raises EnvNotFoundError with near names, EnvError with what to install."""
    return functools.partial(gymnasium.make, _ids().find(name), disable_env_checker=True)


def names() -> list[str]:
    """What may follow `dm-control-`."""
    return _ids().names()


def _ids() -> ShortNames:
    with needed_for("dm-control"):
        import dm_control.suite  # noqa: F401  (without it Shimmy registers none of the tasks, and says nothing)
        import shimmy

        gymnasium.register_envs(shimmy)
    own = [env_id for env_id in gymnasium.registry if env_id.startswith(NAMESPACE) and env_id != GENERIC]
    return ShortNames("dm-control", {env_id: env_id[len(NAMESPACE) :] for env_id in own})
