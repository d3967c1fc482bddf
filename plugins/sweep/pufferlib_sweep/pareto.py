"""The Pareto front of score and cost: the trials that no other beats in both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pareto_front(scores: Floats, costs: Floats) -> NDArray[np.intp]:
    """Indices of the points on the front of high score and low cost, by rising cost (and so by rising score).

    scores, costs: float64[points]. A point is on the front where no other has at least its score at no more cost, and more of one
    of both. Of equal points the first stands for all. Points with NaN in either are never on it.
    """
    known = np.flatnonzero(~(np.isnan(scores) | np.isnan(costs)))
    order = known[np.lexsort((known, -scores[known], costs[known]))]  # by cost, then the best score, then the first
    best_before = np.maximum.accumulate(np.concatenate([[-np.inf], scores[order]]))[:-1]
    first = np.arange(len(order)) == 0  # also where the only scores are -inf
    front: NDArray[np.intp] = order[(scores[order] > best_before) | first]
    return front


def best_score_within(scores: Floats, costs: Floats, cost: float) -> float:
    """The best score among points that cost at most `cost`, or -inf where there is none."""
    return float(np.max(scores[costs <= cost], initial=-np.inf))
