"""What this package offers. Only declarations: ale-py is imported when a game is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import BackendSpec, EnvSpec, hookimpl
from pufferlib_atari.names import V5_STICKY_ACTIONS, env_name, gymnasium_id, roms

PUFFERLIB_API = 1
TARGET = "pufferlib_atari.env:Atari"
ON_A_CPU = ("breakout", "pong")
"""Games whose preset is made for a CPU."""


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """Every ROM that ale-py ships, and its ids of Gymnasium."""
    games = roms()
    return [
        *(EnvSpec(env_name(rom), TARGET, f"Atari 2600: {rom}", {"game": rom}, preset(rom)) for rom in games),
        *(
            EnvSpec(
                gymnasium_id(rom),
                TARGET,
                f"{env_name(rom)} with sticky actions",
                {"game": rom, "sticky_actions": V5_STICKY_ACTIONS},
                preset(rom),
            )
            for rom in games
        ),
    ]


@hookimpl
def pufferlib_backends() -> Iterable[BackendSpec]:
    """ALE's own vector env."""
    return [BackendSpec("native", target="pufferlib_atari.native:native_vec", summary="Atari: ALE's own vector env, in C++")]


def preset(rom: str) -> str:
    return "presets/cpu.toml" if rom in ON_A_CPU else "presets/atari.toml"
