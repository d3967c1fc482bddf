"""What this package offers. Only declarations: gym-microrts, and with it Java, starts when an env is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvSpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """The grid-wide interface of gym-microrts 0.6."""
    return [
        EnvSpec(
            "microrts",
            target="pufferlib_microrts.env:MicroRTS",
            summary="MicroRTS: real-time strategy on a grid, every unit moves in every step",
            preset="presets/microrts.toml",
        )
    ]
