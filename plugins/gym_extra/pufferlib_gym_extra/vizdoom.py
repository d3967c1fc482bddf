"""ViZDoom: `vizdoom-<scenario>`, such as vizdoom-basic and vizdoom-healthgathering.

Its observation is a Dict of the screen and the game's variables, its action one of the scenario's buttons, or several at once in
the `-multibinary` ones. The Freedoom levels come along; `vizdoom-doom...` need the commercial game's file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium

from pufferlib.emulation.short_names import ShortNames
from pufferlib_gym_extra.needed import needed_for

START = "Vizdoom"


def make(name: str) -> Callable[..., gymnasium.Env[Any, Any]]:
    """The factory of a name. Raises EnvNotFoundError with near names, EnvError with what to install."""
    return functools.partial(gymnasium.make, _ids().find(name), disable_env_checker=True)


def names() -> list[str]:
    """What may follow `vizdoom-`."""
    return _ids().names()


def _ids() -> ShortNames:
    with needed_for("vizdoom"):
        from vizdoom import gymnasium_wrapper

        gymnasium.register_envs(gymnasium_wrapper)
    return ShortNames("vizdoom", {env_id: env_id[len(START) :] for env_id in gymnasium.registry if env_id.startswith(START)})
