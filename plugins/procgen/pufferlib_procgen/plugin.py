"""What this package offers. Only declarations: Procgen is imported when a game is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvSpec, hookimpl
from pufferlib_procgen.games import GAMES

PUFFERLIB_API = 1
TARGET = "pufferlib_procgen.env:Procgen"
PRESET = "presets/procgen.toml"
PRESETS = {"coinrun": "presets/coinrun.toml"}
"""Of games that have one of their own."""


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """All 16 games."""
    return [
        EnvSpec(f"procgen-{game}", TARGET, summary, {"game": game}, PRESETS.get(game, PRESET), license="MIT")
        for game, summary in GAMES.items()
    ]
