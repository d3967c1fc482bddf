"""What this package offers. Only declarations: Neural MMO is imported when an env is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvSpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """Neural MMO 2.1; `ocean-nmmo3` is another game, in C."""
    return [
        EnvSpec(
            "neuralmmo",
            target="pufferlib_nmmo.env:make_env",
            summary="Neural MMO 2: 128 agents forage, trade and fight in one world",
            preset="presets/neuralmmo.toml",
            aliases=("nmmo",),
        )
    ]
