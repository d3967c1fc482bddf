"""Scores over seeds and tasks, with honest intervals (Agarwal et al. 2021, "Deep RL at the Edge of the Statistical Precipice").

Scores are given by task: {"ocean-pong": float64[runs], ...}, one number for each run. A missing score (NaN) is left out and shows
in `n`. No interval is made up: where a task has a single run there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pufferlib.errors import ConfigError

Floats = NDArray[np.float64]
Scores = Mapping[str, Floats]
Interval = tuple[float, float]
RESAMPLES = 10_000
CONFIDENCE = 0.95
TRIM = 0.25
"""Cut off at each end for the interquartile mean."""
MOST_NUMBERS = 4_000_000
"""Resampled at once: 32 MB."""
TARGET = 1.0
"""The score that the optimality gap is measured from: `perf` of a solved game."""


@dataclass(frozen=True)
class Estimate:
    """A statistic, and its 95 % interval where one can be had."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Aggregate:
    """The statistics of one group of runs. n: runs with a score; missing: runs without one; tasks: envs."""

    n: int
    missing: int
    tasks: int
    iqm: Estimate
    median: Estimate
    mean: Estimate
    optimality_gap: Estimate


def iqm(scores: Floats, axis: int = -1) -> Floats:
    """The interquartile mean: of what is left when a quarter (rounded down) of the scores is cut off at each end.

    Equals scipy.stats.trim_mean(scores, 0.25, axis). Fewer than four scores are all kept: it is their mean.
    """
    ordered = np.sort(scores, axis=axis)
    count = ordered.shape[axis]
    cut = int(TRIM * count)
    return np.asarray(np.take(ordered, range(cut, count - cut), axis=axis).mean(axis=axis), np.float64)


def aggregate(scores: Scores, *, target: float = TARGET, resamples: int = RESAMPLES, seed: int = 0) -> Aggregate:
    """All statistics of a group.

    iqm: over all runs of all tasks. mean: of the tasks' means. median: of the tasks' means, and with one task of its runs.
    optimality_gap: how far below `target` runs stay on average; what is above does not count. Intervals: percentiles of a
    bootstrap that draws runs within each task (stratified). Raises ConfigError if there is no score at all.
    """
    known = {task: finite(values) for task, values in scores.items()}
    missing = sum(len(values) for values in scores.values()) - sum(len(values) for values in known.values())
    strata = [values for values in known.values() if len(values)]
    if not strata:
        raise ConfigError("no run of the group has a score")

    def estimate(statistic: Callable[[Sequence[Floats]], Floats]) -> Estimate:
        value = float(statistic([values[None] for values in strata])[0])
        return Estimate(value, bootstrap(strata, statistic, resamples=resamples, seed=seed))

    return Aggregate(
        n=sum(len(values) for values in strata),
        missing=missing,
        tasks=len(strata),
        iqm=estimate(lambda parts: iqm(np.concatenate(parts, axis=1))),
        median=estimate(median_of_tasks),
        mean=estimate(lambda parts: mean_of_tasks([part.mean(axis=1) for part in parts])),
        optimality_gap=estimate(lambda parts: mean_of_tasks([np.maximum(target - part, 0.0).mean(axis=1) for part in parts])),
    )


def mean_of_tasks(means: Sequence[Floats]) -> Floats:
    """float64[resamples] of one float64[resamples] for each task."""
    return np.asarray(np.stack(means).mean(axis=0), np.float64)


def median_of_tasks(parts: Sequence[Floats]) -> Floats:
    """float64[resamples]: the median of the tasks' means, with one task of its runs."""
    if len(parts) == 1:
        return np.asarray(np.median(parts[0], axis=1), np.float64)
    return np.asarray(np.median([part.mean(axis=1) for part in parts], axis=0), np.float64)


def bootstrap(
    strata: Sequence[Floats], statistic: Callable[[Sequence[Floats]], Floats], *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """The percentile interval of a statistic when each stratum is drawn anew from itself; None if one holds a single score.

    statistic: takes one float64[resamples, runs] for each stratum, gives float64[resamples]
    """
    if any(len(values) < 2 for values in strata):
        return None
    if resamples < 1:
        raise ConfigError(f"--resamples must be at least 1, got {resamples}")
    generator = np.random.default_rng(seed)
    at_once = max(1, MOST_NUMBERS // sum(len(values) for values in strata))
    drawn = []
    for start in range(0, resamples, at_once):
        count = min(at_once, resamples - start)
        drawn.append(statistic([values[generator.integers(len(values), size=(count, len(values)))] for values in strata]))
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(np.concatenate(drawn), [tail, 100 - tail])
    return float(low), float(high)


def probability_of_improvement(ours: Scores, theirs: Scores, *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate | None:
    """How likely a run of the first group beats one of the second on a task that both have; a draw counts a half.

    The mean over tasks of U / (n m), the Mann-Whitney statistic (Agarwal et al. 2021). None: no task in common.
    """
    shared = [task for task in ours if len(finite(ours[task])) and len(finite(theirs.get(task, np.empty(0))))]
    if not shared:
        return None
    strata = [finite(group[task]) for task in shared for group in (ours, theirs)]

    def statistic(parts: Sequence[Floats]) -> Floats:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return mean_of_tasks([wins(a, b) for a, b in pairs])

    value = float(statistic([values[None] for values in strata])[0])
    return Estimate(value, bootstrap(strata, statistic, resamples=resamples, seed=seed))


def wins(a: Floats, b: Floats) -> Floats:
    """float64[resamples]: the share of pairs in which a is more, and half of those in which it is equal."""
    total = np.zeros(len(a))
    for i in range(a.shape[1]):  # a loop over runs rather than an array of all pairs
        ahead = a[:, i : i + 1]
        total += (ahead > b).mean(axis=1) + 0.5 * (ahead == b).mean(axis=1)
    return np.asarray(total / a.shape[1], np.float64)


def finite(values: Floats) -> Floats:
    """Without NaN and infinities."""
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]
