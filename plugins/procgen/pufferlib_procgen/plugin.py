"""What this package offers. Only declarations: Procgen is imported when a game is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvSpec, hookimpl
from pufferlib_procgen.games import GAMES

PUFFERLIB_API = 1
PRESET = "presets/procgen.toml"


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """All 16 games."""
    return [
        EnvSpec(
            f"procgen-{game}", "pufferlib_procgen.env:Procgen", summary, {"game": game}, "presets/procgen.toml", license="MIT"
        )
        for game, summary in GAMES.items()
    ]
