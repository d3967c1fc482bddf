"""What this package offers. Only declarations: Crafter is imported when an env is made."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EmulatorSpec, EnvSpec, hookimpl

PUFFERLIB_API = 1
TARGET = "pufferlib_crafter.env:Crafter"
PRESET = "presets/crafter.toml"


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """Both of Crafter's settings: with its reward, and without any."""
    return [
        EnvSpec("crafter", TARGET, "Crafter: survive and unlock 22 achievements", preset=PRESET),
        EnvSpec("crafter-no-reward", TARGET, "Crafter without a reward, for exploration", {"reward": False}, PRESET),
    ]


@hookimpl
def pufferlib_emulators() -> Iterable[EmulatorSpec]:
    """`crafter.Env` itself, too, so that `pufferlib.emulate(crafter.Env)` does the same."""
    return [
        EmulatorSpec(
            "crafter",
            target="pufferlib_crafter.env:crafter_batch",
            summary="crafter.Env",
            classes=("crafter.env:Env", "pufferlib_crafter.env:Crafter"),
        )
    ]
