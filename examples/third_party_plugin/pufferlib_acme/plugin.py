"""What this package offers. Only declarations: a target is imported when its name is used."""

from __future__ import annotations

from pufferlib.plugins import EnvSpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> list[EnvSpec]:
    """One game in C, one Gymnasium environment."""
    return [
        EnvSpec(
            "acme-rocket", target="pufferlib_acme.rocket:Rocket", summary="hold a rocket at a height", preset="rocket/preset.toml"
        ),
        EnvSpec("acme-corridor", target="pufferlib_acme.corridor:Corridor", summary="walk to the end of a corridor"),
    ]
