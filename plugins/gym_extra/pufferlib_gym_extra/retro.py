"""stable-retro: `retro-<game>`, such as retro-airstriker-genesis, the one whose ROM comes along.

`python -m stable_retro.import FOLDER` brings in your own ROMs. An emulator fills a process: give as many workers as envs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium

from pufferlib.emulation.short_names import ShortNames
from pufferlib.errors import EnvError
from pufferlib_gym_extra.needed import needed_for


def make(name: str) -> Callable[..., gymnasium.Env[Any, Any]]:
    """The factory of a game. Raises EnvNotFoundError with near names, EnvError with what to install."""
    with needed_for("retro"):
        import stable_retro
    return functools.partial(make_env, _short(stable_retro.data.list_games()).find(name))


def names() -> list[str]:
    """What may follow `retro-`: the games whose ROM is there."""
    with needed_for("retro"):
        import stable_retro
    return _short([game for game in stable_retro.data.list_games() if _has_rom(game)]).names()


def make_env(game: str, /, *, render_mode: str | None = "rgb_array", **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """stable-retro's env of a game; kwargs are its own, such as `state` and `use_restricted_actions`.

    Raises EnvError where the ROM is missing, or this process has a game already.
    """
    with needed_for("retro"):
        import stable_retro
    try:
        env: gymnasium.Env[Any, Any] = stable_retro.make(game, render_mode=render_mode, **kwargs)
    except FileNotFoundError as error:
        raise EnvError(f"{game}: its ROM is not there; import yours: python -m stable_retro.import FOLDER") from error
    except RuntimeError as error:
        if "per process" not in str(error):
            raise
        raise EnvError(
            f"{game}: stable-retro runs one game in a process; use backend='processes' with num_workers equal to num_envs"
        ) from error
    return env


def _short(games: list[str]) -> ShortNames:
    return ShortNames("retro", {game: game for game in games})


def _has_rom(game: str) -> bool:
    import stable_retro

    try:
        return bool(stable_retro.data.get_romfile_path(game))
    except FileNotFoundError:
        return False
