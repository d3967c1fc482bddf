"""The keyword arguments of every game, checked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from pufferlib.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What lies between the emulator and the agent. Raises ConfigError for a value out of range, naming it.

    Defaults are those of `gymnasium.wrappers.AtariPreprocessing` with a stack of four, after Mnih et al. (2015), and the clipped
    rewards of the same paper.
    """

    frame_skip: int = 4
    """Emulator frames for which an action is held."""
    max_pool: bool = True
    """Each pixel is the brighter one of the last two frames, since many games draw an object in every other frame only."""
    grayscale: bool = True
    """False: three planes, red, green and blue, for each picture."""
    screen_size: int | tuple[int, int] = 84
    """Pictures are averaged over areas to this height and width."""
    frame_stack: int = 4
    """An observation is the last so many pictures, the newest one last; an episode begins with copies of its first one."""
    sticky_actions: float = 0.0
    """The chance in every emulator frame that the action before is played instead (Machado et al. 2018: 0.25)."""
    noop_max: int = 30
    """A game begins with 1 to noop_max frames without action, evenly drawn. 0: none."""
    fire_reset: bool = False
    """Press fire, one frame long, when a game begins, and after a lost life with episodic_life. For games that wait for it."""
    episodic_life: bool = False
    """A lost life is a terminal. The game goes on: it begins anew only once it is over."""
    clip_rewards: bool = True
    """Rewards are -1, 0 or 1, the sign of the points. `score` in the log is the game's own either way."""
    full_action_space: bool = False
    """All 18 actions, not only those that the game knows."""
    max_frames: int = 108_000
    """Emulator frames after which a game is truncated: half an hour. 0: never."""
    mode: int | None = None
    """A mode of the game (Machado et al. 2018); None: its default."""
    difficulty: int | None = None
    """A difficulty of the game; None: its default."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, str(field.type), getattr(self, field.name))

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of a picture."""
        size = self.screen_size
        return (size, size) if isinstance(size, Integral) else (int(size[0]), int(size[1]))  # type: ignore[index]


RANGES: dict[str, tuple[float, float]] = {
    "frame_skip": (1, 1000),
    "frame_stack": (1, 64),
    "sticky_actions": (0, 1),
    "noop_max": (0, 10_000),
    "max_frames": (0, 10**9),
    "mode": (0, 10**6),
    "difficulty": (0, 10**6),
}
"""Name -> (least, most)."""


def _check(name: str, kind: str, value: Any) -> None:
    if name in RANGES and (value is not None or "None" not in kind):
        low, high = RANGES[name]
        what, numbers = ("an integer", Integral) if kind.startswith("int") else ("a number", Real)
        if isinstance(value, (bool, str)) or not isinstance(value, numbers) or not low <= float(value) <= high:
            raise ConfigError(f"{name} must be {what} in [{low}, {high}], got {value!r}")
    elif kind == "bool" and not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, got {value!r}")
    elif name == "screen_size":
        sides = value if isinstance(value, (tuple, list)) else (value, value)
        if len(sides) != 2 or not all(isinstance(side, Integral) and int(side) >= 1 for side in sides):
            raise ConfigError(f"screen_size must be one integer or (height, width), at most the screen's own, got {value!r}")
