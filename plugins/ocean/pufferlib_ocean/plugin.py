"""What Ocean registers. Light: the games' stubs are read as text, and nothing of theirs is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from pufferlib.plugins import EnvSpec, hookimpl

PUFFERLIB_API = 1

FOLDER = Path(__file__).parent


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """One record for each folder that holds a stub of its own name."""
    return [spec(stub) for stub in sorted(FOLDER.glob("*/*.py")) if stub.stem == stub.parent.name]


def spec(stub: Path) -> EnvSpec:
    """tower_climb/tower_climb.py gives ocean-tower_climb, made by pufferlib_ocean.tower_climb:TowerClimb.

    A line `ALIASES = ("ocean-other_name",)` of the stub gives it further names.
    """
    game = stub.stem
    class_name = "".join(word.capitalize() for word in game.split("_"))
    preset = stub.with_name("preset.toml")
    text = stub.read_text(encoding="utf-8")  # importing every stub would make `puffer list` slow
    aliases = re.search(r"^ALIASES = (\(.*\))$", text, re.MULTILINE)
    return EnvSpec(
        f"ocean-{game}",
        target=f"pufferlib_ocean.{game}:{class_name}",
        summary=text.split("\n", 1)[0].strip().strip('"'),
        preset=f"{game}/preset.toml" if preset.is_file() else None,
        aliases=ast.literal_eval(aliases[1]) if aliases else (),
    )
