"""The trials of a study as a user wants to read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib_sweep.study import counts

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial


@dataclass(frozen=True)
class TrialResult:
    """One trial.

    state: complete, stopped (early), failed or running. settings: its values by dotted name. cost: in the sweep's unit
    steps: agent-steps. curve: [cost, score] pairs. failure: the reason in one line. run_dir: relative to the sweep's directory
    """

    number: int
    state: str
    settings: dict[str, Any]
    score: float | None = None
    cost: float | None = None
    steps: int | None = None
    seconds: float | None = None
    curve: list[list[float]] = field(default_factory=list)
    failure: str = ""
    run_dir: str = ""

    def row(self) -> dict[str, Any]:
        """The trial as one flat row, for a table: `pandas.DataFrame(result.table())`."""
        plain = {name: value for name, value in vars(self).items() if name not in ("settings", "curve")}
        return {**plain, **self.settings}


STATES = {"COMPLETE": "complete", "PRUNED": "stopped", "FAIL": "failed", "RUNNING": "running"}


def trial_result(trial: FrozenTrial) -> TrialResult:
    """What a trial of Optuna's says."""
    attrs = trial.user_attrs
    return TrialResult(
        trial.number, STATES[trial.state.name], dict(attrs.get("settings", {})), attrs.get("score"), attrs.get("cost"),
        attrs.get("steps"), attrs.get("seconds"), list(attrs.get("curve", [])), attrs.get("failure", ""),
        attrs.get("run_dir", ""),
    )  # fmt: skip


def results_of(study: Study) -> list[TrialResult]:
    """The trials that count, by number."""
    return [trial_result(trial) for trial in study.get_trials(deepcopy=False) if counts(trial)]


def best_first(trials: Iterable[TrialResult], goal: str) -> list[TrialResult]:
    """The trials that came to their end, best first; of equal ones the cheaper is better."""
    sign = -1.0 if goal == "maximize" else 1.0
    complete = [trial for trial in trials if trial.state == "complete" and trial.score is not None]
    return sorted(complete, key=lambda trial: (sign * (trial.score or 0.0), trial.cost or 0.0))


@dataclass(frozen=True)
class SweepResult:
    """What a sweep has found.

    best: the settings of the best trial by dotted name, {} where no trial has a score. study: Optuna's, for its own plots
    reason: why the sweep ended: finished, cost, time, interrupted or failing
    """

    best: dict[str, Any]
    best_score: float | None
    best_trial: TrialResult | None
    trials: list[TrialResult]
    study: Study
    reason: str
    directory: Path | None = None

    @classmethod
    def of(cls, study: Study, reason: str, directory: Path | None = None) -> SweepResult:
        """The result so far."""
        trials = results_of(study)
        ranked = best_first(trials, study.direction.name.lower())
        best = ranked[0] if ranked else None
        return cls(best.settings if best else {}, best.score if best else None, best, trials, study, reason, directory)

    def table(self) -> list[dict[str, Any]]:
        """One flat row for each trial."""
        return [trial.row() for trial in self.trials]
