"""What this package offers. Only declarations: Minigrid is imported when one of its envs is made or its ids are listed."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvFamily, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvFamily]:
    """Every registered id of Minigrid, and of the BabyAI levels in it."""
    return [
        EnvFamily(
            "minigrid",
            target="pufferlib_minigrid.envs:make_minigrid",
            names="pufferlib_minigrid.envs:list_minigrid",
            summary="Minigrid, as in minigrid-doorkey-8x8",
            presets="presets/minigrid",
        ),
        EnvFamily(
            "babyai",
            target="pufferlib_minigrid.envs:make_babyai",
            names="pufferlib_minigrid.envs:list_babyai",
            summary="BabyAI's levels, as in babyai-gotoredball",
        ),
    ]
