"""Trials of sweeps among the runs: a sweep is one line of a list, that of its best trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from pufferlib.analysis.index import Summary

SWEEP_FILE = "sweep.toml"
TRIALS = "trials"
"""What a sweep's folder holds: that file, and in this folder its trials' runs, 0007, or with several seeds 0007/seed-1."""


def sweep_of(run: Path, root: Path) -> Path | None:
    """The folder of the sweep that the run is a trial of; None for other runs, and where the root lies within the sweep."""
    for trials in run.parents[:2]:
        if trials.name == TRIALS and (trials.parent / SWEEP_FILE).is_file():
            return trials.parent if root in trials.parent.parents else None
    return None


def best_trials(summaries: Sequence[Summary], root: Path) -> tuple[list[Summary], dict[Path, tuple[str, int]]]:
    """The summaries without those trials that are not the best of their sweep, in their order.

    Best is the trial whose `last` is, of equals the first. Beside it, by the path of each best trial: its name, from the sweep's
    on, and how many trials the sweep has among the summaries.
    """
    sweeps: dict[Path, list[Summary]] = {}
    for summary in summaries:
        sweep = sweep_of(summary.run.path, root)
        if sweep is not None:
            sweeps.setdefault(sweep, []).append(summary)
    best: dict[Path, tuple[str, int]] = {}
    left_out: set[Path] = set()
    for sweep, trials in sweeps.items():
        path = max(trials, key=merit).run.path
        best[path] = (path.relative_to(sweep.parent).as_posix(), number_of(sweep, trials))
        left_out |= {trial.run.path for trial in trials} - {path}
    return [summary for summary in summaries if summary.run.path not in left_out], best


def merit(summary: Summary) -> float:
    """Its `last`, the larger the better; one without is worst."""
    if summary.last is None:
        return -math.inf
    return -summary.last if summary.wanted.startswith("-") else summary.last


def number_of(sweep: Path, runs: Iterable[Summary]) -> int:
    """How many trials these runs are of."""
    return len({summary.run.path.relative_to(sweep / TRIALS).parts[0] for summary in runs})
