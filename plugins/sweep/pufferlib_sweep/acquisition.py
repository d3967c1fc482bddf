"""Which point to try next: a cost is drawn first, then the point of about that cost that promises most over the Pareto front."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import qmc

from .model import Model
from .pareto import best_score_within
from .space import Categorical, Floats, SearchSpace

SCALES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Standard deviations of the perturbations around the front, as parts of the whole range."""
GLOBAL_SHARE = 0.3
"""Share of the candidates that come from the whole space, not from around the front; rounded down to a power of two."""
COST_TOLERANCE = 0.25
"""How far a candidate's predicted log-cost may lie above the drawn one, as a standard deviation."""
EXPANSION = 2.0
"""How far beyond the dearest trial of the front another may go: where money buys score, the front grows step by step."""
COST_RANGE = 100.0
"""How many times cheaper than the dearest a trial is made to be at most: still cheaper ones teach little."""


def draw_log_cost(front_costs: Floats, limit: float, rng: np.random.Generator) -> float:
    """The logarithm of the cost to aim at, between the front's cheapest (within COST_RANGE) and EXPANSION times its dearest, with
    a density that rises evenly from nothing: all of the front is refined, and the dear end, where scores are best, more often.

    limit: what a trial may cost at most, or infinity
    """
    high = np.log(min(EXPANSION * front_costs.max(), limit))
    low = min(max(np.log(front_costs.min()), high - np.log(COST_RANGE)), high)
    return float(low + (high - low) * np.sqrt(rng.random()))


def candidates(model: Model, space: SearchSpace, count: int, rng: np.random.Generator) -> Floats:
    """Points around the Pareto front at several scales and, for a share, from the whole space: float64[count, parameters]."""
    power = max(int(np.log2(count * GLOBAL_SHARE)), 0)
    everywhere = 2**power
    sobol = qmc.Sobol(len(space), seed=rng).random_base2(power)
    from_prior = rng.random(everywhere) < 0.5
    sobol[from_prior] = prior_points(sobol[from_prior], space)
    centres = model.front_points[rng.integers(len(model.front_points), size=count - everywhere)]
    return np.concatenate([perturbed(centres, space, rng), sobol])


def perturbed(centres: Floats, space: SearchSpace, rng: np.random.Generator, scales: tuple[float, ...] = SCALES) -> Floats:
    """Each centre moved by a normal step of one of the scales, in a random subset of its coordinates; choices are drawn anew."""
    count, size = centres.shape
    moved = rng.random((count, size)) < rng.uniform(1 / size, 1, (count, 1))
    moved[np.arange(count), rng.integers(size, size=count)] = True
    steps = rng.normal(size=(count, size)) * rng.choice(scales, (count, 1))
    points: Floats = centres + np.where(moved, steps, 0)
    points = np.clip(1 - np.abs(1 - np.abs(points)), 0, 1)  # reflected at the ends, so that they are not overcrowded
    for index, parameter in enumerate(space.parameters):
        if isinstance(parameter, Categorical):
            drawn = rng.integers(len(parameter.choices), size=count) / (len(parameter.choices) - 1)
            points[:, index] = np.where(moved[:, index] & (rng.random(count) < 0.5), drawn, centres[:, index])
    return points


def prior_points(points: Floats, space: SearchSpace) -> Floats:
    """Even points of the unit cube mapped to the parameters' search priors: normal, cut off at the ends."""
    from scipy.special import ndtri

    points = points.copy()
    for index, parameter in enumerate(space.parameters):
        if parameter.prior is not None:
            centre, scale = parameter.prior
            low, high = ndtr((0 - centre) / scale), ndtr((1 - centre) / scale)
            points[:, index] = np.clip(centre + scale * ndtri(low + points[:, index] * (high - low)), 0, 1)
    return points


def at_cost(points: Floats, model: Model, log_cost: float, column: int | None) -> Floats:
    """The points with the cost-carrying coordinate moved so that their predicted log-cost is about `log_cost`.

    One step of the secant method: log-cost is close to linear in the logarithm of the steps.
    """
    if column is None:
        return points
    points = points.copy()
    now = model.predict_log_cost(points)
    probe = points.copy()
    probe[:, column] = np.where(points[:, column] > 0.5, points[:, column] - 0.25, points[:, column] + 0.25)
    there = model.predict_log_cost(probe)
    if now is None or there is None:
        return points
    slope = (there - now) / (probe[:, column] - points[:, column])
    usable = slope > 1e-3
    step = np.where(usable, (log_cost - now) / np.where(usable, slope, 1), 0)
    points[:, column] = np.clip(points[:, column] + step, 0, 1)
    return points


def log_expected_improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """Logarithm of E[max(f - best, 0)] for f normal (Jones et al. 1998, eq. 15), finite also where the improvement underflows.

    Far below the mark the series of Mills' ratio serves: phi(z) + z Phi(z) ~ phi(z) / z^2 (as in Ament et al. 2023, "LogEI").
    """
    z = (mean - best) / std
    log_density = -(z**2) / 2 - np.log(2 * np.pi) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.log(np.maximum(np.exp(log_density) + z * ndtr(z), 0))
        far = log_density - 2 * np.log(np.abs(z)) + np.log1p(-3 / np.maximum(z**2, 9.1))
    return np.asarray(np.where(z < -6, far, direct) + np.log(std))


def value(points: Floats, model: Model, log_cost: float | None) -> Floats:
    """What is maximised: log expected improvement over the front at the cost, plus the log-probability of success, less a penalty
    for costing more. Costing less than was meant is no fault: whoever beats the front for less moves it further. float64[m]
    """
    mean, std = model.predict_score(points)
    best = mark(model, log_cost)
    result = log_expected_improvement(mean, std, best) + np.log(np.maximum(model.success(points), 1e-6))
    log_costs = model.predict_log_cost(points)
    if log_cost is not None and log_costs is not None:
        result -= (np.maximum(log_costs - log_cost, 0) / COST_TOLERANCE) ** 2 / 2
    return np.asarray(result)


def mark(model: Model, log_cost: float | None) -> float:
    """The score to beat: the front's at this cost, or the best of all where costs are unknown."""
    if log_cost is None:
        return float(model.front_scores.max())
    within = best_score_within(model.front_scores, model.front_costs, float(np.exp(log_cost)))
    return within if np.isfinite(within) else float(model.front_scores.min())


def best_points(
    model: Model, space: SearchSpace, *, count: int, column: int | None, log_cost: float | None, rng: np.random.Generator
) -> Floats:
    """Candidates by falling value, the first of which to try: float64[m, parameters].

    A second and third round perturb the best of the round before, at ever smaller scales.
    """
    pool = candidates(model, space, count, rng)
    ranked = pool[:0]
    worth: NDArray[np.float64] = np.zeros(0)
    for scales in ((0.05, 0.02), (0.02, 0.01), ()):
        if log_cost is not None:
            pool = at_cost(pool, model, log_cost, column)
        pool = space.snap(pool)
        ranked, worth = np.concatenate([ranked, pool]), np.concatenate([worth, value(pool, model, log_cost)])
        order = np.argsort(-worth, kind="stable")[:64]
        ranked, worth = ranked[order], worth[order]
        if not scales:
            break
        pool = perturbed(np.repeat(ranked[:16], 12, axis=0), space, rng, scales)
    return ranked
