"""Statistics of finished episodes and of the numbers in infos."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

RESERVED = ("episode_return", "episode_length", "n")
NUMBERS = (int, float, np.integer, np.floating, np.bool_)


class EpisodeLog:
    """Sums and counts since the last drain."""

    def __init__(self) -> None:
        self._episodes = 0
        self._return = 0.0
        self._length = 0
        self._infos: dict[str, list[float]] = {}
        """Name -> [sum, count]."""

    def add_episode(self, episode_return: float, length: int) -> None:
        self._episodes += 1
        self._return += episode_return
        self._length += length

    def add_info(self, info: Mapping[Any, Any], prefix: str = "") -> None:
        """Every finite number (True counts as 1), nested as `a/b`. None, text, arrays and lists are passed over."""
        for key, value in info.items():
            if isinstance(value, NUMBERS):
                if math.isfinite(value):
                    name = f"{prefix}{key}"
                    entry = self._infos.setdefault(f"info/{name}" if name in RESERVED else name, [0.0, 0.0])
                    entry[0] += float(value)
                    entry[1] += 1.0
            elif isinstance(value, Mapping):
                self.add_info(value, f"{prefix}{key}/")

    def drain(self) -> dict[str, float]:
        """Means, and the number of episodes as `"n"`; {} while no episode has ended: then the sums go on."""
        if not self._episodes:
            return {}
        means = {name: total / count for name, (total, count) in self._infos.items()}
        means["episode_return"] = self._return / self._episodes
        means["episode_length"] = self._length / self._episodes
        means["n"] = float(self._episodes)
        self.__init__()  # type: ignore[misc]
        return means
