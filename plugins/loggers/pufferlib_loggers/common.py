"""What the adapters share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from pufferlib import Logger
from pufferlib.errors import ConfigError

PROJECT = "pufferlib"
"""Of runs for which nobody names another."""
Checkpoints = Literal["none", "last", "all"]


class ServiceLogger(Logger):
    """A logger that may be given checkpoints."""

    def __init__(self, checkpoints: Checkpoints = "last") -> None:
        if checkpoints not in get_args(Checkpoints):
            raise ConfigError(f"checkpoints must be one of {', '.join(get_args(Checkpoints))}, got {checkpoints!r}")
        self.checkpoints = checkpoints


def setting(given: str | None, variable: str, default: str) -> str:
    """What was given, else the service's own environment variable, else the default."""
    return given or os.environ.get(variable) or default


def shown(path: Path) -> str:
    """The path as somebody who sits in this folder would type it."""
    with contextlib.suppress(ValueError):  # another drive
        return min(os.path.relpath(path), str(path), key=len)
    return str(path)


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables for the length of the block, where they are not set already."""
    mine = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name in mine:
            os.environ.pop(name, None)
