"""Ends a trial early whose curve can no longer reach the Pareto front of score and cost.

A trial that is ahead of the front at what it has cost goes on. Of another, what it may still gain is judged two ways, and the
more hopeful counts: the largest gain that any finished trial made from the same part of its way to its end, and the trial's own
steepest rise so far, drawn on as a straight line. It goes on unless even that stays below what trials of its cost have reached.
A curve that rises ever slower never climbs above its own straight line, so the best of such trials is never ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from pufferlib.errors import ConfigError

from .history import STEPS, curve_of, curve_rows, finite, sign_of
from .pareto import best_score_within
from .space import Floats, SearchSpace


def should_stop(
    study: Study,
    trial: Trial | FrozenTrial,
    space: SearchSpace,
    *,
    curve: Sequence[Sequence[float]] | None = None,
    curve_steps: Sequence[float] | None = None,
    min_trials: int = 5,
    min_part: float = 0.2,
    slack: float = 0.1,
) -> bool:
    """Whether a running trial cannot reach the front any more.

    curve: [[cost, score], ...] so far; None: the trial's user attribute of that name, with "curve_steps"
    curve_steps: the timesteps at each point. With the space's train.total_timesteps they say how far the trial is; without, its
        cost beside the finished trials' median does
    min_trials: finished trials with a curve that there must be
    min_part: part of its way that a trial is always left
    slack: added to what the trial may still gain, in units of the best less the median score of the finished trials
    """
    if not 0 <= min_part <= 1 or slack < 0 or min_trials < 1:
        raise ConfigError(f"min_part={min_part} must be in [0, 1], slack={slack} at least 0, min_trials={min_trials} at least 1")
    sign = sign_of(study)
    attributes = trial.user_attrs
    rows = (
        curve_rows(curve, curve_steps)
        if curve is not None
        else curve_rows(attributes.get("curve"), attributes.get("curve_steps"))
    )
    ended = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    others = [found for other in ended if (found := whole_curve(other, sign)) is not None]
    if len(rows) < 2 or len(others) < min_trials:
        return False
    costs, scores = np.array([row[0] for row in rows]), sign * np.array([row[1] for row in rows])
    part = part_done(trial, space, rows, float(np.median([other_costs[-1] for other_costs, _ in others])))
    if part < min_part or part >= 1:
        return False

    every_cost = np.concatenate([other_costs for other_costs, _ in others])
    every_score = np.concatenate([other_scores for _, other_scores in others])
    if scores[-1] >= best_score_within(every_score, every_cost, costs[-1]):
        return False
    final_cost = costs[-1] / part
    best = best_score_within(every_score, every_cost, final_cost)
    finals = np.array([other_scores[-1] for _, other_scores in others])
    others_gain = max(final_gain(other_costs, other_scores, part) for other_costs, other_scores in others)
    hope = scores[-1] + max(others_gain, steepest(costs / final_cost, scores) * (1 - part), 0.0)
    return bool(hope + slack * (finals.max() - np.median(finals)) < best)


class ProteinPruner(BasePruner):
    """`should_stop` as an Optuna pruner, for an objective that keeps the user attribute "curve" up to date and asks
    `trial.should_prune()`. The keyword arguments are those of `should_stop`.
    """

    def __init__(self, space: SearchSpace, **settings: Any):
        self.space, self.settings = space, settings

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        return should_stop(study, trial, self.space, **self.settings)


def whole_curve(trial: FrozenTrial, sign: float) -> tuple[Floats, Floats] | None:
    """Costs and scores of a finished trial, its final ones last, or None where it has no curve."""
    rows = curve_of(trial)
    score, cost = finite(trial.value), finite(trial.user_attrs.get("cost"))
    if score is None or cost is None or cost <= 0:
        return None
    rows = [row for row in rows if row[0] < cost]
    if not rows:
        return None
    return np.array([*(row[0] for row in rows), cost]), sign * np.array([*(row[1] for row in rows), score])


def part_done(trial: Trial | FrozenTrial, space: SearchSpace, rows: list[tuple[float, ...]], usual_cost: float) -> float:
    """How much of its way a trial has come, in (0, 1]."""
    values = space.from_params(trial.params)
    if STEPS in space and values is not None and len(rows[-1]) == 3:
        return float(min(rows[-1][2] / values[STEPS], 1.0))
    return float(min(rows[-1][0] / usual_cost, 1.0))


def final_gain(costs: Floats, scores: Floats, part: float) -> float:
    """What a finished trial gained from `part` of its cost to its end."""
    return float(scores[-1] - np.interp(part * costs[-1], costs, scores))


def steepest(parts: Floats, scores: Floats) -> float:
    """The steepest straight line from an earlier point of the curve to its last, in score for the whole way."""
    return float(np.max((scores[-1] - scores[:-1]) / np.maximum(parts[-1] - parts[:-1], 1e-9)))
