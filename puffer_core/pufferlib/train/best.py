"""Which checkpoint of a run is best, told from its metrics alone.

A checkpoint is worth the mean of an episode statistic over the last 100 episodes that ended before it, or a few more, as rows
of metrics are not divided. One lucky episode makes no checkpoint best: one with fewer episodes before it only counts while
there is no other. Of equals the newer is better.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping
from typing import Any

EPISODES = 100
PREFIX = "environment/"
AUTO = ("score", "episode_return")
"""What `best_metric="auto"` stands for: the first of these that the episodes log."""


class Ranking:
    """Ranks global steps by the rows of metrics.jsonl up to them.

    metric: `auto`, or the name of an episode statistic, such as perf; with a minus in front the least is best
    """

    def __init__(self, metric: str = "auto", rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self._sign = -1.0 if metric.startswith("-") else 1.0
        self._names = AUTO if metric == "auto" else (metric.removeprefix("-"),)
        self._series: dict[str, list[tuple[int, float, float]]] = {name: [] for name in self._names}
        """By statistic: (global step, episodes, their mean) of each row in which episodes ended."""
        for row in rows:
            self.add(row)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row over: `global_step`, `environment/n` and the statistic, if episodes ended in it."""
        for name in self._names:
            mean, episodes = row.get(PREFIX + name), row.get(PREFIX + "n")
            if mean is not None and math.isfinite(mean) and episodes:
                self._series[name].append((int(row["global_step"]), float(episodes), float(mean)))

    @property
    def name(self) -> str | None:
        """The statistic that ranks; None while no episode logged it."""
        return next((name for name in self._names if self._series[name]), None)

    def value(self, step: int) -> float | None:
        """What the checkpoint of that step is worth; None where no episode ended before it."""
        found = self._window(step)
        return None if found is None else found[1]

    def best(self, steps: Iterable[int]) -> list[int]:
        """Those of the steps that are worth anything, best first."""
        worth = {step: found for step in steps if (found := self._window(step)) is not None}
        return sorted(worth, key=lambda step: (worth[step][0], self._sign * worth[step][1], step), reverse=True)

    def _window(self, step: int) -> tuple[bool, float] | None:
        """(whether there were enough episodes, their mean) of the last rows up to `step`."""
        name = self.name
        if name is None:
            return None
        series = self._series[name]
        total = episodes = 0.0
        for _, number, mean in reversed(series[: bisect.bisect(series, step, key=lambda entry: entry[0])]):
            total, episodes = total + number * mean, episodes + number
            if episodes >= EPISODES:
                break
        return (episodes >= EPISODES, total / episodes) if episodes else None
