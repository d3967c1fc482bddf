"""What a study has taught so far, as arrays: the sampler and the early stop read Optuna's trials only through here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from pufferlib.errors import ConfigError

from .space import Floats, SearchSpace

STEPS = "train.total_timesteps"
"""The parameter that a trial's partial curve counts as less of, and that start-up trials keep low."""


LARGEST = 1e100
"""Scores beyond count as it, so that their squares are finite."""
NOT_COUNTED = "not_counted"
"""The user attribute of a trial that was given up for no fault of its settings, such as by Ctrl-C, and is tried again."""
NOT_COUNTED = "not_counted"
"""The user attribute of trials that were broken off from outside: they say nothing about their settings."""


@dataclass(frozen=True)
class History:
    """Trials as points of the unit cube. More score is better here, whatever the study's direction."""

    points: Floats
    """float64[n, parameters]: one row for each finite observation, in the order of the trials' numbers."""
    scores: Floats
    """float64[n]"""
    costs: Floats
    """float64[n], above 0; NaN where a trial did not say."""
    partial: NDArray[np.bool_]
    """bool[n]: a point in the middle of a trial, counted as a trial with fewer steps."""
    trials: NDArray[np.intp]
    """int[n]: the numbers of the trials that the observations come from."""
    failed: Floats
    """float64[m, parameters]: trials that crashed, or whose score was not finite."""
    failed_trials: NDArray[np.intp]
    """int[m]: their numbers."""
    pending: Floats
    """float64[p, parameters]: trials that other processes run at the moment."""
    taken: frozenset[tuple[Any, ...]]
    """The values of all trials, failed and running ones included, in the space's order."""
    failed_values: frozenset[tuple[Any, ...]]
    """The values of the failed ones."""


def read_history(study: Study, space: SearchSpace, *, skip: int | None = None, curve_points: int = 3) -> History:
    """All that the study's trials say. `skip` is the number of the trial that asks.

    A finished trial counts with its value and its user attribute "cost". Where the space varies train.total_timesteps, up to
    `curve_points` points of its "curve" ([[cost, score], ...], at "curve_steps") count too. A pruned trial counts with the last
    point of its curve. A score that is missing, NaN or infinite makes a failed trial. FAIL with a user attribute
    "not_counted" (interrupted from outside) counts for nothing.
    """
    sign = sign_of(study)
    rows: list[tuple[Floats, float, float, bool, int]] = []
    failed, failed_trials, pending = [], [], []
    taken, failed_values = set(), set()
    for trial in sorted(study.get_trials(deepcopy=False), key=lambda trial: trial.number):
        values = values_of(trial, space)
        if trial.number == skip or values is None or trial.state == TrialState.WAITING or NOT_COUNTED in trial.user_attrs:
            continue
        point = space.to_unit(values)
        key = tuple(values.values())
        taken.add(key)
        if trial.state == TrialState.RUNNING:
            pending.append(point)
            continue
        found = observations(trial, point, space, curve_points) if trial.state != TrialState.FAIL else []
        if not found and not (trial.state == TrialState.PRUNED and curve_of(trial)):
            failed.append(point)
            failed_trials.append(trial.number)
            failed_values.add(key)
        rows += [(where, sign * score, cost, partial, trial.number) for where, score, cost, partial in found]
    size = len(space)
    return History(
        points=np.array([row[0] for row in rows]).reshape(-1, size),
        scores=np.clip(np.array([row[1] for row in rows], float), -LARGEST, LARGEST),
        costs=np.array([row[2] for row in rows], float),
        partial=np.array([row[3] for row in rows], bool),
        trials=np.array([row[4] for row in rows], np.intp),
        failed=np.array(failed).reshape(-1, size),
        failed_trials=np.array(failed_trials, np.intp),
        pending=np.array(pending).reshape(-1, size),
        taken=frozenset(taken),
        failed_values=frozenset(failed_values),
    )


def sign_of(study: Study) -> float:
    """What makes more of the study's value better. Raises ConfigError where it has several objectives."""
    if len(study.directions) != 1:
        raise ConfigError(f"Protein needs a study with one objective (the cost is a user attribute), got {len(study.directions)}")
    return -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0


def values_of(trial: FrozenTrial, space: SearchSpace) -> dict[str, Any] | None:
    """The trial's values, or None where it lacks one or had a choice that the space no longer has."""
    values = space.from_params(trial.params)
    if values is None:
        return None
    try:
        space.to_unit(values)
    except ConfigError:
        return None
    return values


def observations(
    trial: FrozenTrial, point: Floats, space: SearchSpace, curve_points: int
) -> list[tuple[Floats, float, float, bool]]:
    """(point, score, cost, partial) of a trial that ended, its final one last; none where it has no finite score."""
    curve = curve_of(trial)
    found = []
    pruned = trial.state == TrialState.PRUNED
    if STEPS in space and curve and len(curve[0]) == 3:
        total = space.from_unit(point)[STEPS]
        column = list(space).index(STEPS)
        for cost, score, steps in thinned([row for row in curve if pruned or row[2] < 0.95 * total], curve_points, pruned):
            at = point.copy()
            at[column] = space[STEPS].to_unit(steps)
            if steps >= space[STEPS].from_unit(0.0):
                found.append((at, score, cost, True))
        if pruned:
            return found
    elif pruned and curve:
        return [(point, curve[-1][1], math.nan, False)]  # its final cost is not known
    final = finite(trial.value)
    if final is None:
        return []
    spent = finite(trial.user_attrs.get("cost"))
    return [*found, (point, final, spent if spent is not None and spent > 0 else math.nan, False)]


def curve_of(trial: Trial | FrozenTrial) -> list[tuple[float, ...]]:
    """The finite points of a trial's curve, (cost, score) or, where the steps are known, (cost, score, steps)."""
    return curve_rows(trial.user_attrs.get("curve"), trial.user_attrs.get("curve_steps"))


def curve_rows(curve: Any, steps: Any) -> list[tuple[float, ...]]:
    """Rows of finite numbers with a cost above 0; steps are joined where there is one for each point."""
    rows = [tuple(row) for row in curve or [] if isinstance(row, Sequence) and len(row) == 2]
    if rows and steps is not None and len(steps) == len(curve) == len(rows):
        rows = [(*row, at) for row, at in zip(rows, steps, strict=True)]
    return [row for row in rows if all(finite(number) is not None for number in row) and row[0] > 0]


def thinned(rows: list[tuple[float, ...]], count: int, keep_last: bool) -> list[tuple[float, ...]]:
    """At most `count` rows, spread evenly over the logarithm of the steps; the last one among them where asked."""
    if not rows or count < 1:
        return rows[-1:] if keep_last else []
    at = np.log([max(row[2], 1.0) for row in rows])
    targets = np.linspace(at[0], at[-1], min(count, len(rows)) + (0 if keep_last else 1))
    chosen = {int(np.argmin(np.abs(at - target))) for target in (targets if keep_last else targets[1:])}
    return [rows[index] for index in sorted(chosen)]


def finite(value: Any) -> float | None:
    """The value as a float, or None where it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        return None
    return float(value)
