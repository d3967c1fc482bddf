"""Missions, such as "go to the red ball", as rows of tokens. All envs share one list of words, so that a policy may move on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.errors import ConfigError, EnvValueError

UNKNOWN = 1
WORDS = (
    "a", "after", "and", "at", "avoid", "ball", "behind", "blue", "box", "door", "end", "fetch", "find", "from", "front", "get",
    "go", "goal", "green", "grey", "hallway", "in", "key", "lava", "left", "matching", "must", "near", "next", "object", "of",
    "on", "open", "opening", "pick", "purple", "put", "reach", "red", "right", "room", "rooms", "square", "the", "then", "to",
    "traverse", "unlock", "up", "use", "yellow", "you", "your",
)  # fmt: skip
"""Every word of every mission of Minigrid 3.2, BabyAI's among them. Token i + 2 is the i-th."""
BABYAI_LENGTH = 72
"""Words of the longest that BabyAI's grammar makes: "A and B after you C and D", each "put a red ball in front of you next
to a blue box behind you"."""
KEPT = 10_000
"""Missions whose tokens are remembered."""


class Missions:
    """`tokens(text)` for one env: uint8 [mission_length], 0 behind the end, 1 for a word that is in no list.

    mission_length: by default what the longest mission takes. A longer one is an EnvValueError.
    words: further ones that missions may have, behind WORDS. Case and punctuation do not count.
    """

    def __init__(self, env: Any, mission_length: int | None = None, words: Sequence[str] = ()) -> None:
        space = env.unwrapped.observation_space["mission"]
        if mission_length is not None and (not isinstance(mission_length, int) or mission_length < 1):
            raise ConfigError(f"mission_length must be a whole number of at least 1, got {mission_length!r}")
        if isinstance(words, str):
            raise ConfigError(f"words must be a list of words, got {words!r}")
        known = list(dict.fromkeys([*WORDS, *(word.lower() for word in words)]))
        if len(known) > 254:
            raise ConfigError(f"words: a token is one byte, so there may be {254 - len(WORDS)} of your own, got {len(words)}")
        self._code = {word: code for code, word in enumerate(known, UNKNOWN + 1)}
        self.length = mission_length or max(longest(space), 1)  # Playground's says nothing
        self.space = spaces.MultiDiscrete(np.full(self.length, len(known) + 2), dtype=np.uint8)
        self._kept: dict[str, np.ndarray[Any, Any]] = {}

    def tokens(self, text: str) -> np.ndarray[Any, Any]:
        """uint8 [mission_length]. Raises EnvValueError for a mission with more words than that."""
        found = self._kept.get(text)
        if found is None:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            found = self._kept[text] = self._encode(text)
        return found

    def _encode(self, text: str) -> np.ndarray[Any, Any]:
        said = split(text)
        if len(said) > self.length:
            raise EnvValueError(f"has a mission of {len(said)} words; make it with mission_length={len(said)} or more: {text!r}")
        tokens = np.zeros(self.length, np.uint8)
        tokens[: len(said)] = [self._code.get(word, UNKNOWN) for word in said]
        return tokens


def longest(space: Any) -> int:
    """Words of the longest mission of a MissionSpace."""
    from minigrid.envs.babyai.core.roomgrid_level import BabyAIMissionSpace

    if isinstance(space, BabyAIMissionSpace):
        return BABYAI_LENGTH
    choices = [sorted(options, key=lambda option: -len(split(option)))[:1] for options in space.ordered_placeholders or []]
    return max(len(split(space.mission_func(*chosen))) for chosen in itertools.product(*choices))


def split(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())
