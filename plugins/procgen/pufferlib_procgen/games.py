"""What is known of the games without importing them, and what is checked beforehand: Procgen's own checks end the process."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pufferlib.errors import ConfigError, EnvNotFoundError

INSTALL = (
    "install it with: pip install --no-deps procgen2==0.10.7 gym3==0.3.3 && pip install cffi filelock gym imageio "
    "(without --no-deps they would replace numpy by one below 2)"
)
GAMES = {
    "bigfish": "Procgen: eat smaller fish, flee larger ones",
    "bossfight": "Procgen: shoot down a boss and its shields",
    "caveflyer": "Procgen: fly through caves to a ship",
    "chaser": "Procgen: collect orbs in a maze, chased",
    "climber": "Procgen: climb platforms for stars",
    "coinrun": "Procgen: run and jump to the coin at the far right",
    "dodgeball": "Procgen: throw balls at enemies, dodge theirs",
    "fruitbot": "Procgen: collect fruit between walls",
    "heist": "Procgen: keys, locks and a gem in a maze",
    "jumper": "Procgen: jump through caves to a carrot",
    "leaper": "Procgen: cross roads and rivers",
    "maze": "Procgen: find the cheese",
    "miner": "Procgen: dig for diamonds under boulders",
    "ninja": "Procgen: leap over ledges to a mushroom",
    "plunder": "Procgen: shoot enemy ships, spare your own",
    "starpilot": "Procgen: a scrolling shooter",
}
TIME_LIMITS = {
    **dict.fromkeys(GAMES, 1000),
    "bigfish": 6000,
    "bossfight": 4000,
    "leaper": 500,
    "maze": 500,
    "plunder": 4000,
}
"""Steps after which the game ends an episode: read off the games' states, and seen where random play lives long enough."""
HARDEST = ("chaser", "dodgeball", "leaper", "starpilot")
WITH_MEMORY = ("caveflyer", "dodgeball", "heist", "jumper", "maze", "miner")
TO_EXPLORE = ("caveflyer", "climber", "coinrun", "heist", "jumper", "leaper", "maze", "ninja")
MODES: dict[str, tuple[str, ...]] = {
    "easy": tuple(GAMES),
    "hard": tuple(GAMES),
    "extreme": HARDEST,
    "memory": WITH_MEMORY,
    "exploration": TO_EXPLORE,
}
"""Distribution mode -> the games that have it."""
OPTIONS = (
    "center_agent",
    "paint_vel_info",
    "restrict_themes",
    "use_backgrounds",
    "use_generated_assets",
    "use_monochrome_assets",
    "use_sequential_levels",
)
MOST = 2**31 - 1


def check_game(game: str, mode: str, num_levels: Any, start_level: Any, options: Mapping[str, Any]) -> None:
    """Raises EnvNotFoundError, ConfigError or, for an unknown option, TypeError."""
    if game not in GAMES:
        near = difflib.get_close_matches(str(game), GAMES, n=3)
        raise EnvNotFoundError(
            f"Procgen has no game {game!r}; near matches: {', '.join(near) or 'none'}; all: {', '.join(GAMES)}"
        )
    if mode not in MODES:
        raise ConfigError(f"distribution_mode must be one of {', '.join(MODES)}, got {mode!r}")
    if game not in MODES[mode]:
        raise ConfigError(f"distribution_mode={mode!r}: {game} does not have it; {', '.join(MODES[mode])} do")
    for name, value in (("num_levels", num_levels), ("start_level", start_level)):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
            raise ConfigError(f"{name} must be an integer in [0, {MOST}], got {value!r}")
    if mode == "exploration" and (num_levels or start_level):
        raise ConfigError("distribution_mode='exploration' is one level, Procgen's choice: leave out num_levels and start_level")
    if start_level + num_levels > MOST:
        raise ConfigError(f"start_level={start_level} + num_levels={num_levels} must be at most {MOST}")
    for name, value in options.items():
        if name not in OPTIONS:
            raise TypeError(f"procgen-{game} has no argument {name!r}; it has {', '.join(OPTIONS)}")
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be True or False, got {value!r}")
