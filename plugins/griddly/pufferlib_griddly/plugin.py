"""What this package offers. Only declarations: Griddly is imported when a game is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EmulatorSpec, EnvFamily, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvFamily]:
    """Every game that the package ships."""
    return [
        EnvFamily(
            "griddly",
            target="pufferlib_griddly.names:make_family",
            names="pufferlib_griddly.names:list_games",
            summary="Griddly's grid games, as in griddly-sokoban",
            presets="presets/griddly",
        )
    ]


@hookimpl
def pufferlib_emulators() -> Iterable[EmulatorSpec]:
    """Games made by name, and `griddly.GymWrapper` itself."""
    return [
        EmulatorSpec(
            "griddly",
            target="pufferlib_griddly.env:griddly_batch",
            summary="griddly.GymWrapper",
            classes=(
                "griddly.GymWrapper:GymWrapper",
                "pufferlib_griddly.env:OnePlayer",
                "pufferlib_griddly.env:Players",
            ),
        )
    ]
