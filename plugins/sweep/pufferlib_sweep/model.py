"""What Protein believes about a study: score, cost and failure at every point of the unit cube."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .history import History
from .pareto import pareto_front
from .space import Categorical, Floats, SearchSpace
from .surrogate import FailureModel, Surrogate, fit_theta

FIT_POINTS = 96
"""Observations that hyperparameters are fitted to; a fit's time grows with their cube."""
COST_POINTS = 128
"""Observations in the model of the cost, which is smooth and nearly without noise."""
REFIT_GROWTH = 1.15
"""Hyperparameters are fitted anew when there are so many times the observations of the last fit."""


def theta_for(
    points: Floats,
    values: Floats,
    *,
    prepare: Callable[[Floats], Floats] = np.asarray,
    linear: bool = False,
    noise: float = 0.01,
) -> Floats:
    """Hyperparameters for the longest of some prefixes of the data, so that most new trials cost no new fit."""
    head = refit_size(len(points))
    points, values = points[:head], prepare(values[:head])
    if head > FIT_POINTS:
        chosen = np.sort(np.random.default_rng(head).permutation(head)[:FIT_POINTS])
        points, values = points[chosen], values[chosen]
    return known_theta(points.tobytes(), values.tobytes(), points.shape[1], linear, noise)


@lru_cache(maxsize=64)
def known_theta(points: bytes, values: bytes, dimensions: int, linear: bool, noise: float) -> Floats:
    """`fit_theta`, remembered. It follows from the data alone, so this only saves time."""
    return fit_theta(np.frombuffer(points).reshape(-1, dimensions), np.frombuffer(values), linear=linear, noise=noise)


def refit_size(count: int) -> int:
    """The largest size of a fit that is at most `count`: 1, 2, 3, ..., then ever larger steps."""
    size = 1
    while (larger := max(size + 1, int(size * REFIT_GROWTH))) <= count:
        size = larger
    return min(size, count)


class Model:
    """Surrogates of score, log-cost and failure, fitted to a history with at least one observation.

    With `pending` trials in it the posterior believes its own mean there (the "kriging believer" of Ginsbourger et al. 2010), so
    that parallel trials spread.
    """

    def __init__(self, history: History, space: SearchSpace, *, max_points: int, rng: np.random.Generator):
        self.space = space
        self.partials = bool(history.partial.any())
        keep = capped(history, max_points, rng)
        points, partial = history.points[keep], history.partial[keep]
        inputs = self.score_inputs(points, partial)
        scores = winsorized(history.scores)
        theta = theta_for(self.score_inputs(history.points, history.partial), history.scores, prepare=winsorized)
        self.score = Surrogate(inputs, scores[keep], theta)
        if len(history.pending):
            believed = self.score_inputs(history.pending, np.zeros(len(history.pending), bool))
            self.score = Surrogate(
                np.concatenate([inputs, believed]), np.concatenate([scores[keep], self.score.mean(believed)]), theta
            )

        known = keep[~np.isnan(history.costs[keep])]
        if len(known) > COST_POINTS:
            known = np.sort(rng.permutation(known)[:COST_POINTS])
        self.cost: Surrogate | None = None
        if len(known):
            inputs, log_costs = self.inputs(history.points[known]), np.log(history.costs[known])
            every = ~np.isnan(history.costs)
            theta = theta_for(self.inputs(history.points[every]), np.log(history.costs[every]), linear=True, noise=0.001)
            self.cost = Surrogate(inputs, log_costs, theta, linear=True)

        self.failure: FailureModel | None = None
        if len(history.failed):
            whole = ~history.partial
            order = np.argsort(np.concatenate([history.failed_trials, history.trials[whole]]), kind="stable")
            inputs = self.inputs(np.concatenate([history.failed, history.points[whole]])[order])
            failed = order < len(history.failed)
            theta = theta_for(inputs, np.where(failed, 1.0, -1.0), noise=0.1)
            self.failure = FailureModel(inputs[-max_points:], failed[-max_points:], theta)

        self.front_points, self.front_scores, self.front_costs = self.smoothed_front(history, keep)

    def inputs(self, points: Floats) -> Floats:
        """What the surrogates see of points: a categorical parameter with more than two choices as one column for each."""
        columns = []
        for index, parameter in enumerate(self.space.parameters):
            column = points[:, index : index + 1]
            if isinstance(parameter, Categorical) and len(parameter.choices) > 2:
                choice = np.round(column * (len(parameter.choices) - 1))
                column = (choice == np.arange(len(parameter.choices))) / np.sqrt(2)
            columns.append(column)
        return np.concatenate(columns, axis=1)

    def score_inputs(self, points: Floats, partial: NDArray[np.bool_]) -> Floats:
        """Inputs with, where there are points from the middle of trials, a column that marks them: with an annealed learning rate
        half a long trial is not worth a short one, and the column's length scale learns by how much.
        """
        inputs = self.inputs(points)
        return np.concatenate([inputs, partial[:, None].astype(float)], axis=1) if self.partials else inputs

    def predict_score(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the final score, float64[m] each."""
        return self.score.predict(self.score_inputs(points, np.zeros(len(points), bool)))

    def predict_log_cost(self, points: Floats) -> Floats | None:
        """Mean of the logarithm of the cost, float64[m], or None where no trial said what it cost."""
        return None if self.cost is None else self.cost.mean(self.inputs(points))

    def success(self, points: Floats) -> Floats:
        """Probability that a trial does not fail, float64[m]."""
        return np.ones(len(points)) if self.failure is None else self.failure.success(self.inputs(points))

    def smoothed_front(self, history: History, keep: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Points, scores and costs of the Pareto front, with the surrogate's mean for the scores: one lucky trial among
        noisy ones does not become the mark to beat. Costs are NaN where none is known, and the best point alone is the front.
        """
        points, costs = history.points[keep], history.costs[keep]
        means = self.score.mean(self.score_inputs(points, history.partial[keep]))
        front = pareto_front(means, costs)
        if not len(front):
            front = np.array([np.argmax(means)])
        return points[front], means[front], costs[front]


def winsorized(scores: Floats) -> Floats:
    """Scores with the far lower tail cut off, so that one collapsed trial does not flatten the differences among good ones."""
    middle, top = np.median(scores), np.max(scores)
    reach = 3 * (top - middle)
    return np.maximum(scores, middle - reach) if reach > 0 else scores


def capped(history: History, limit: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices of at most `limit` observations: first whole trials, the best and the latest before others, then partial points."""
    count = len(history.scores)
    if count <= limit:
        return np.arange(count)
    whole, partial = np.flatnonzero(~history.partial), np.flatnonzero(history.partial)
    if len(whole) > limit:
        best = whole[np.argsort(-history.scores[whole], kind="stable")[: limit // 2]]
        rest = np.setdiff1d(whole, best)
        latest = rest[-limit // 4 :]
        rest = np.setdiff1d(rest, latest)
        whole = np.concatenate([best, latest, rng.permutation(rest)])[:limit]
    chosen = np.concatenate([whole, rng.permutation(partial)[: limit - len(whole)]])
    return np.sort(chosen)
