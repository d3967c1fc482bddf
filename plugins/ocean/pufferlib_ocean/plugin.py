"""What Ocean registers. Light: the games' stubs are read as text, and nothing of theirs is imported."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import EnvSpec, find_games, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvSpec]:
    """One record for each folder that holds a stub of its own name."""
    return find_games(__file__)
