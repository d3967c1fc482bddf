"""What this package offers. Only declarations: NLE, MiniHack and torch are imported when a name is used."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvFamily, EnvSpec, PolicySpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec | EnvFamily]:
    """The whole game, NLE's tasks, and every registered id of MiniHack."""
    return [
        EnvSpec(
            "nethack",
            target="pufferlib_nethack.names:make_game",
            summary="All of NetHack, for its score",
            preset="presets/nethack.toml",
            license="NGPL",
        ),
        EnvFamily(
            "nethack",
            target="pufferlib_nethack.names:make_nethack",
            names="pufferlib_nethack.names:list_nethack",
            summary="NLE's tasks in NetHack, as in nethack-staircase",
        ),
        EnvFamily(
            "minihack",
            target="pufferlib_nethack.names:make_minihack",
            names="pufferlib_nethack.names:list_minihack",
            summary="MiniHack's levels, as in minihack-room-5x5",
            presets="presets/minihack",
        ),
    ]


@hookimpl
def pufferlib_policies() -> Iterable[PolicySpec]:
    """Networks for glyphs."""
    return [
        PolicySpec("nethack", target="pufferlib_nethack.policy:NetHack", summary="Reads glyphs, surroundings, stats, message"),
        PolicySpec("nethack-lstm", target="pufferlib_nethack.policy:NetHackLSTM", summary="The same with a memory"),
    ]
