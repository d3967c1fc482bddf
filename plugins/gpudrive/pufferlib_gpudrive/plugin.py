"""What this package offers. Only declarations: GPUDrive is imported when an env is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvSpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """GPUDrive's torch env. `ocean-drive` is a game of the same kind that runs everywhere."""
    return [
        EnvSpec(
            "gpudrive",
            target="pufferlib_gpudrive.env:GPUDrive",
            summary="GPUDrive: the cars of recorded traffic scenes; written from its documentation, never run",
        )
    ]
