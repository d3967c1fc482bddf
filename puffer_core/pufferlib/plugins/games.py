"""Games as folders: a package registers each folder that holds a stub of its own name, so a new game edits no list."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pufferlib.plugins.specs import EnvSpec

PACKAGE_PREFIX = "pufferlib_"


def find_games(plugin_file: str) -> list[EnvSpec]:
    """One record for each `<game>/<game>.py` beside a plugin module; give it `__file__`.

    `tower_climb/tower_climb.py` of the package `pufferlib_ocean` gives ocean-tower_climb, made by
    `pufferlib_ocean.tower_climb:TowerClimb`, with the file's first line as its summary and `tower_climb/preset.toml`, where there
    is one, as its preset. A line `ALIASES = ("ocean-other_name",)` of the stub gives it further names. Stubs are read as text:
    importing each would make `puffer list` slow.
    """
    folder = Path(plugin_file).parent
    return [_record(stub) for stub in sorted(folder.glob("*/*.py")) if stub.stem == stub.parent.name]


def env_prefix(package: str) -> str:
    """What the names of a package's games begin with: `ocean` for `pufferlib_ocean`."""
    return package.removeprefix(PACKAGE_PREFIX).replace("_", "-")


def class_name(game: str) -> str:
    """The class of a game's stub: `TowerClimb` for `tower_climb`."""
    return "".join(word.capitalize() for word in game.split("_"))


def _record(stub: Path) -> EnvSpec:
    game, package = stub.stem, stub.parents[1].name
    text = stub.read_text(encoding="utf-8")
    aliases = re.search(r"^ALIASES = (\(.*\))$", text, re.MULTILINE)
    return EnvSpec(
        f"{env_prefix(package)}-{game}",
        target=f"{package}.{game}:{class_name(game)}",
        summary=text.split("\n", 1)[0].strip().strip('"'),
        preset=f"{game}/preset.toml" if stub.with_name("preset.toml").is_file() else None,
        aliases=ast.literal_eval(aliases[1]) if aliases else (),
    )
