"""Help for unknown names: near matches, and which plugin has them."""

from __future__ import annotations

import difflib

# The first word of an env's (or the whole of another) name -> the extra of pufferlib that installs it.
PROVIDERS = {
    "ocean": "ocean",
    "atari": "atari",
    "procgen": "procgen",
    "pettingzoo": "pettingzoo",
    "minigrid": "minigrid",
    "babyai": "minigrid",
    "nethack": "nethack",
    "minihack": "nethack",
    "nle": "nethack",
    "crafter": "crafter",
    "nmmo": "nmmo",
    "neuralmmo": "nmmo",
    "griddly": "griddly",
    "microrts": "microrts",
    "gpudrive": "gpudrive",
    "highway": "highway",
    "vizdoom": "vizdoom",
    "dm": "dm-control",
    "bsuite": "bsuite",
    "openspiel": "openspiel",
    "retro": "retro",
    "pokemon": "pokemon",
    "wandb": "wandb",
    "neptune": "neptune",
    "tensorboard": "tensorboard",
    "trackio": "trackio",
    "mlflow": "mlflow",
    "ray": "ray",
    "sweep": "sweep",
    "protein": "sweep",
    "proteinsampler": "sweep",
    "web": "web",
}
COMMANDS = frozenset({"sweep"})
"""Commands that plugins of PROVIDERS bring."""


def near(name: str, known: list[str]) -> list[str]:
    """Up to five of the known names that look like this one, best first."""
    lowered = {known_name.lower(): known_name for known_name in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=5, cutoff=0.6)
    return [lowered[found] for found in close]


def provider(name: str, installed: set[str]) -> str | None:
    """The pip line of the plugin that has this name, unless that plugin is installed."""
    extra = PROVIDERS.get(name.lower().removesuffix("logger").partition("-")[0])  # WandbLogger is of wandb
    return f"pip install 'pufferlib[{extra}]'" if extra and extra not in installed else None
