"""What this package offers. Only declarations: PettingZoo is imported when one of its envs is made."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from pufferlib.plugins import EmulatorSpec, EnvFamily, EnvSpec, hookimpl
from pufferlib_pettingzoo.names import PREFIX, make_env, newest

PUFFERLIB_API = 1
WITH_PRESET = ("connect-four", "knights-archers-zombies", "pistonball", "simple-spread")


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec | EnvFamily]:
    """The newest version of every env whose package is installed, and the family of all versions, as in chess-v6."""
    specs: list[EnvSpec | EnvFamily] = [
        EnvSpec(
            f"{PREFIX}-{name}",
            target=functools.partial(make_env, module),
            summary=f"PettingZoo's {module}",
            preset=f"presets/{name}.toml" if name in WITH_PRESET else None,
        )
        for name, module in newest().items()
    ]
    family = EnvFamily(
        PREFIX,
        target="pufferlib_pettingzoo.names:make_family",
        names="pufferlib_pettingzoo.names:list_versions",
        summary="A version of a PettingZoo env, as in pettingzoo-chess-v6",
    )
    return [*specs, family]


@hookimpl
def pufferlib_emulators() -> Iterable[EmulatorSpec]:
    """Both of PettingZoo's APIs."""
    return [
        EmulatorSpec(
            "pettingzoo",
            target="pufferlib_pettingzoo.adapter:pettingzoo_batch",
            summary="PettingZoo's ParallelEnv and AECEnv",
            classes=("pettingzoo.utils.env:ParallelEnv", "pettingzoo.utils.env:AECEnv"),
            options=("pad", "action_masks", "max_agents", "joint_observation_space", "joint_action_space"),
        )
    ]
