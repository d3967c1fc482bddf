"""What this package offers. Only declarations: a package is imported when one of its envs is made or its names are listed."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvFamily, EnvSpec, hookimpl

PUFFERLIB_API = 1
SUMMARIES = {
    "highway": "highway-env, driving in traffic, as in highway-merge",
    "vizdoom": "ViZDoom, Doom from its pixels, as in vizdoom-basic",
    "dm-control": "The DeepMind Control Suite, as in dm-control-cartpole-swingup",
    "bsuite": "The Behaviour Suite, as in bsuite-catch",
    "openspiel": "OpenSpiel's turn-based games, as in openspiel-tic-tac-toe",
    "retro": "stable-retro, console games from their pixels, as in retro-airstriker-genesis",
}
PRESETS = {"highway": "presets/highway"}


@hookimpl
def pufferlib_envs() -> Iterable[EnvFamily | EnvSpec]:
    """A family for each package, and Pokemon Red."""
    families = [
        EnvFamily(
            prefix,
            f"pufferlib_gym_extra.{module}:make",
            f"pufferlib_gym_extra.{module}:names",
            summary,
            presets=PRESETS.get(prefix),
        )
        for prefix, summary in SUMMARIES.items()
        for module in [prefix.replace("-", "_")]
    ]
    pokemon = EnvSpec(
        "pokemon-red",
        target="pufferlib_gym_extra.pokemon_red:PokemonRed",
        summary="Pokemon Red in PyBoy, from your own cartridge's ROM",
        license="the ROM is Nintendo's and does not come along",
    )
    return [*families, pokemon]
