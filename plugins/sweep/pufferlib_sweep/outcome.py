"""What a trial is worth, told from the rows of its metrics.jsonl.

The score is the mean over the episodes that ended in the last tenth of the trial's steps, so that neither a lucky row nor a
trial that forgets what it had learnt wins. The curve divides the trial into 20 equal parts, each with the mean over the
episodes that ended in it. It leaves the first episodes out, as many as there are envs: those that end first are the short ones,
and would make every trial begin too high or too low.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pufferlib.config.values import near
from pufferlib.errors import ConfigError, PufferError

EPISODES = "environment/"
AUTO = ("perf", "score", "episode_return")
"""What the metric `auto` stands for: the first of these that the episodes log."""
LAST_SHARE = 0.1
"""Of the trial's steps: the episodes that end in it make the score."""
POINTS = 20
"""Of a curve."""


class TrialError(PufferError):
    """A trial has no score; the message says why, in one line."""


@dataclass
class Outcome:
    """How a trial ended.

    curve: [cost, score] of each part of the trial; curve_steps: the agent-steps at the end of each. failure: in one line, empty
    where there is a score. stopped: whether it was ended early
    """

    score: float = math.nan
    cost: float = 0.0
    steps: int = 0
    metric: str = ""
    curve: list[list[float]] = field(default_factory=list)
    curve_steps: list[int] = field(default_factory=list)
    failure: str = ""
    stopped: bool = False


@dataclass(frozen=True)
class Point:
    """One row: at `step`, which `cost` was spent until, `weight` episodes with the mean `value`."""

    step: int
    cost: float
    weight: float
    value: float


class Progress:
    """The rows of one run, as they come.

    metric: auto, an episode statistic, or another name of metrics.jsonl. cost: seconds or steps. total: the run's agent-steps
    left_out: episodes before the curve begins
    """

    def __init__(self, metric: str, cost: str, total: int, left_out: int = 0) -> None:
        self.metric, self.cost_kind, self.total, self.left_out = metric, cost, total, left_out
        self.points: list[Point] = []
        self.episodes = 0.0
        self.begins_at = 0
        """The index of the curve's first point."""
        self.step = 0
        self.cost = 0.0
        self.seen: set[str] = set()

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows over. Raises TrialError for a metric that is not finite, ConfigError for one that there is not."""
        for row in rows:
            self.step = int(row["global_step"])
            self.cost = float(row["uptime"] if self.cost_kind == "seconds" else self.step)
            self.seen.update(row)
            if self.metric == "auto":
                self.metric = next((name for name in AUTO if EPISODES + name in row), "auto")
            key = self.key(row)
            if key is None:
                continue
            value = row[key]
            if value is None or not math.isfinite(value):  # JSON has no NaN: the trainer writes null
                raise TrialError(f"{self.metric} is not finite at step {self.step:,}")
            weight = 1.0
            if key.startswith(EPISODES):
                weight = float(row.get(f"{EPISODES}n", 1.0))
                self.episodes += weight
                if self.episodes - weight < self.left_out:
                    self.begins_at = len(self.points) + 1
            self.points.append(Point(self.step, self.cost, weight, float(value)))

    def key(self, row: Mapping[str, Any]) -> str | None:
        """The metric's name in that row; None where no episode ended. Raises ConfigError if no row can ever hold it."""
        found = [key for key in (EPISODES + self.metric, self.metric) if key in row]
        if found:
            return found[0]
        if self.metric == "auto" or f"{EPISODES}n" not in row:
            return None
        if not self.points:
            names = [key.removeprefix(EPISODES) for key in row if key.startswith(EPISODES)]
            hint = f"{near(self.metric, names)} (they log {', '.join(names)})"
            raise ConfigError(f"--sweep.metric {self.metric}: the trials log no such number{hint}")
        return None

    def score(self) -> float:
        """Raises TrialError where no episode has ended."""
        if not self.points:
            raise TrialError(f"no episode ended within {self.step:,} steps, so there is no score")
        last = [point for point in self.points if point.step > self.step * (1 - LAST_SHARE)]
        return mean(last or self.points[-1:])

    def parts(self) -> list[Point]:
        """The curve: one point for each part of the run in which episodes ended, the last one as far as it has come."""
        by_part: dict[int, list[Point]] = {}
        for point in self.points[self.begins_at :]:
            by_part.setdefault(min((point.step - 1) * POINTS // self.total, POINTS - 1), []).append(point)
        return [Point(p[-1].step, p[-1].cost, sum(q.weight for q in p), mean(p)) for p in by_part.values()]

    def outcome(self, *, stopped: bool = False) -> Outcome:
        """Raises TrialError where there is no score."""
        parts = self.parts()
        curve, steps = [[point.cost, point.value] for point in parts], [point.step for point in parts]
        return Outcome(self.score(), self.cost, self.step, self.metric, curve, steps, stopped=stopped)


def mean(points: Sequence[Point]) -> float:
    """Of the values, by their weights."""
    total = sum(point.weight for point in points)
    if not total:
        return sum(point.value for point in points) / len(points)
    return sum(point.weight * point.value for point in points) / total


def average(outcomes: Sequence[Outcome]) -> Outcome:
    """Several runs of one trial as one: means of scores, costs and steps, and of the curves where all have come as far."""
    if len(outcomes) == 1:
        return outcomes[0]
    count, first = len(outcomes), outcomes[0]
    length = min(len(outcome.curve) for outcome in outcomes)
    curve = [[sum(o.curve[i][axis] for o in outcomes) / count for axis in (0, 1)] for i in range(length)]
    steps = [round(sum(o.curve_steps[i] for o in outcomes) / count) for i in range(length)]
    score, cost, trained = (sum(getattr(o, name) for o in outcomes) / count for name in ("score", "cost", "steps"))
    return Outcome(score, cost, round(trained), first.metric, curve, steps, stopped=any(o.stopped for o in outcomes))


def checked(value: Any, name: str) -> float:
    """`value` as a finite float. Raises TrialError that names what it is."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TrialError(f"{name}={value!r} is not a number") from None
    if not math.isfinite(number):
        raise TrialError(f"{name}={number} is not finite")
    return number
