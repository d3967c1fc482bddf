"""Which checkpoint of a run is best, told from its metrics alone.

A checkpoint is worth the mean of an episode statistic over the last 100 episodes that ended before it, or a few more, as rows
of metrics are not divided. One lucky episode makes no checkpoint best: one with fewer episodes before it only counts while
there is no other. Of equals the newer is better.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
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
        self.names = AUTO if metric == "auto" else (metric.removeprefix("-"),)
        """The statistics of which the first that was logged ranks."""
        self._series: dict[str, list[tuple[int, float, float]]] = {name: [] for name in self.names}
        """By statistic: (global step, episodes, their mean) of each row in which episodes ended."""
        for row in rows:
            self.add(row)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row over: `global_step`, `environment/n` and the statistic, if episodes ended in it."""
        for name in self.names:
            mean, episodes = row.get(PREFIX + name), row.get(PREFIX + "n")
            if mean is not None and math.isfinite(mean) and episodes:
                self._series[name].append((int(row["global_step"]), float(episodes), float(mean)))

    @property
    def name(self) -> str | None:
        """The statistic that ranks; None while no episode logged it."""
        return next((name for name in self.names if self._series[name]), None)

    def value(self, step: int) -> float | None:
        """What the checkpoint of that step is worth; None where no episode ended before it."""
        found = self._window(step)
        return None if found is None else found[1]

    def best(self, steps: Iterable[int]) -> list[int]:
        """Those of the steps that are worth anything, best first."""
        worth = {step: found for step in steps if (found := self._window(step)) is not None}
        return sorted(worth, key=lambda step: (worth[step][0], self._sign * worth[step][1], step), reverse=True)

    def best_value(self) -> float | None:
        """The most that a checkpoint of any row would be worth; None where no episode ended."""
        series = self._series[self.name] if self.name else []
        worth = [window(series, count) for count in range(1, len(series) + 1)]
        return max(worth, key=lambda found: (found[0], self._sign * found[1]))[1] if worth else None

    def _window(self, step: int) -> tuple[bool, float] | None:
        """(whether there were enough episodes, their mean) of the last rows up to `step`."""
        name = self.name
        if name is None:
            return None
        series = self._series[name]
        count = bisect.bisect(series, step, key=lambda entry: entry[0])
        return window(series, count) if count else None


def window(series: Sequence[tuple[int, float, float]], count: int) -> tuple[bool, float]:
    """(whether there were EPISODES episodes, their mean) of the last of the first `count` rows, (step, episodes, mean) each."""
    total = episodes = 0.0
    for at in range(count - 1, -1, -1):
        _, number, mean = series[at]
        total, episodes = total + number * mean, episodes + number
        if episodes >= EPISODES:
            break
    return episodes >= EPISODES, total / episodes
