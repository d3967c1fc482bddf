"""Importing the packages behind the names, and saying what to install where one is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pufferlib.errors import EnvError

INSTALL = {
    "highway": "pip install highway-env",
    "vizdoom": "pip install vizdoom",
    "dm-control": "pip install 'shimmy>=2' dm-control 'mujoco<4'",
    "bsuite": "pip install 'shimmy[bsuite]>=2'",
    "openspiel": "pip install 'shimmy[openspiel]>=2' pufferlib-pettingzoo",
    "retro": "pip install stable-retro",
    "pokemon-red": "pip install pyboy",
}


@contextlib.contextmanager
def needed_for(prefix: str) -> Iterator[None]:
    """Turns an ImportError within it into an EnvError with the line that installs what is missing."""
    try:
        yield
    except ImportError as error:
        raise EnvError(f"{prefix}: a package cannot be imported ({error}). Install it with: {INSTALL[prefix]}") from error
