"""Names, read off the files of the installed package: `robot_tag_4.yaml` is griddly-robot-tag-4. Nothing of it is imported."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pufferlib.emulation.short_names import ShortNames
from pufferlib.errors import EnvError

PREFIX = "griddly"
INSTALL = "pip install 'pufferlib[griddly]' (there are wheels for Python 3.7 to 3.11)"
RENAMED = {"GriddlyRTS": "rts"}


def make_family(name: str) -> Callable[..., Any]:
    """The factory of `griddly-<name>`. Raises EnvNotFoundError with near names, EnvError without Griddly."""
    path = games().find(name)
    return functools.partial(_make, path)


def list_games() -> list[str]:
    """What may follow `griddly-`."""
    return games().names()


def games() -> ShortNames:
    """The games and the files that hold their rules."""
    found = importlib.util.find_spec("griddly")
    if found is None or not found.submodule_search_locations:
        raise EnvError(f"Griddly is not installed: {INSTALL}")
    files = Path(found.submodule_search_locations[0], "resources", "games").rglob("*.yaml")
    return ShortNames(PREFIX, {str(path): RENAMED.get(path.stem, path.stem) for path in files})


def _make(path: str, /, **kwargs: Any) -> Any:
    from pufferlib_griddly.env import make_env

    return make_env(path, **kwargs)
