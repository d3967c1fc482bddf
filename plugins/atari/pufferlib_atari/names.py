"""Env names, read off the ROMs that ale-py's wheel ships. ale-py itself is imported only when a game is made."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PREFIX = "atari"
V5_STICKY_ACTIONS = 0.25
"""What `ALE/<Game>-v5` sets (Machado et al. 2018)."""
SEVERAL_PLAYERS = ("combat", "joust", "maze_craze", "warlords")
"""ROMs that ale-py ships and cannot play, as they have no mode for one player: loading one ends the process."""


def roms() -> list[str]:
    """Ids of the ROMs that can be played, such as `space_invaders`."""
    found = importlib.util.find_spec("ale_py")
    if found is None or not found.submodule_search_locations:
        return []
    shipped = {path.stem for path in Path(found.submodule_search_locations[0], "roms").glob("*.bin")}
    return sorted(shipped.difference(SEVERAL_PLAYERS))


def env_name(rom: str) -> str:
    """`space_invaders` is `atari-space-invaders`."""
    return f"{PREFIX}-{rom.replace('_', '-')}"


def gymnasium_id(rom: str) -> str:
    """`space_invaders` is `ALE/SpaceInvaders-v5`."""
    return f"ALE/{''.join(word.title() for word in rom.split('_'))}-v5"
