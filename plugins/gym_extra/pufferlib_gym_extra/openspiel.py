"""OpenSpiel by Shimmy: `openspiel-<game>`, such as openspiel-connect-four. The game's parameters are arguments: board_size=5.

The games are PettingZoo's AEC envs: a row for each player, action masks, an illegal move loses. The plugin pufferlib-pettingzoo
batches them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pufferlib.emulation.short_names import ShortNames
from pufferlib.errors import EnvError
from pufferlib_gym_extra.needed import needed_for


def make(name: str) -> Callable[..., Any]:
    """The factory of a game. Raises EnvNotFoundError with near names, EnvError with what to install."""
    return functools.partial(make_env, _games().find(name))


def names() -> list[str]:
    """What may follow `openspiel-`."""
    return _games().names()


def make_env(game: str, /, *, render_mode: str | None = None, **parameters: Any) -> Any:
    """PettingZoo's AECEnv of an OpenSpiel game. Raises EnvError where the game is none of turns, or a parameter does not fit."""
    with needed_for("openspiel"):
        import pyspiel
        from shimmy.openspiel_compatibility import OpenSpielCompatibilityV0

        from pufferlib_gym_extra.turns import Turns
    try:
        env = OpenSpielCompatibilityV0(game_name=game, render_mode=render_mode, config=parameters or None)
    except pyspiel.SpielError as error:
        raise EnvError(f"openspiel-{game.replace('_', '-')}: {error}") from error
    return Turns(env)


def _games() -> ShortNames:
    """The games of turns whose players' observations are tensors."""
    with needed_for("openspiel"):
        import pyspiel
    turns = pyspiel.GameType.Dynamics.SEQUENTIAL
    own = [game.short_name for game in pyspiel.registered_games() if game.dynamics == turns and game.default_loadable]
    return ShortNames("openspiel", {game: game for game in own})
