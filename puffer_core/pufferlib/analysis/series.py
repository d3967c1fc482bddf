"""Metrics over steps or time as arrays: smoothed, and brought to one grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pufferlib.analysis.rows import Row
from pufferlib.config.values import near
from pufferlib.errors import ConfigError, ShapeError
from pufferlib.train.best import PREFIX

Floats = NDArray[np.float64]
Axis = Literal["steps", "time"]
AXIS_KEYS: dict[Axis, str] = {"steps": "global_step", "time": "uptime"}
SECTIONS = (PREFIX, "losses/", "time/", "schedule/")
MOST_POINTS = 1000
"""Of a grid that several runs share."""


class Curve(NamedTuple):
    """One metric of one run, float64[rows] each. x: steps, or seconds of training; weights: episodes behind each y, else 1."""

    x: Floats
    y: Floats
    weights: Floats


def find_metric(name: str, keys: Iterable[str]) -> str:
    """The key in metrics.jsonl that `perf`, `environment/perf`, `entropy` or `sps` means. Raises ConfigError with a hint."""
    known = dict.fromkeys(keys)
    lower = {key.lower(): key for key in reversed(known)}
    for wanted in (name, *(section + name for section in SECTIONS)):
        if found := wanted if wanted in known else lower.get(wanted.lower()):
            return found
    shown = [key.removeprefix(PREFIX) for key in known]
    hint = near(name, shown) or f" (logged: {', '.join(shown) or 'nothing'})"
    raise ConfigError(f"--metric {name}: no run has logged it{hint}")


def curve(rows: Sequence[Row], key: str, axis: Axis = "steps") -> Curve:
    """The rows that hold the metric. Episode statistics weigh as many as there were episodes."""
    x_key = AXIS_KEYS[axis]
    kept = [row for row in rows if key in row and x_key in row]
    is_episodes = key.startswith(PREFIX) and key != PREFIX + "n"
    weights = [max(row.get(PREFIX + "n", 1.0), 0.0) if is_episodes else 1.0 for row in kept]
    x, y = [row[x_key] for row in kept], [row[key] for row in kept]
    return Curve(np.array(x, np.float64), np.array(y, np.float64), np.array(weights, np.float64))


def smooth(y: Floats, weights: Floats, beta: float) -> Floats:
    """An exponential moving average without bias towards its start, in which each value counts by its weight.

    s[t] = sum_i beta^(t - i) w[i] y[i] / sum_i beta^(t - i) w[i], over i <= t. With equal weights this is the mean of Adam with
    its correction of bias (Kingma and Ba 2015, section 3). y, weights: float64[n]; beta: at least 0 (y itself), below 1
    Raises ConfigError for another beta, ShapeError if the arrays disagree.
    """
    if not 0 <= beta < 1:
        raise ConfigError(f"--smooth must be at least 0 (not at all) and below 1, got {beta:g}")
    if y.shape != weights.shape:
        raise ShapeError(f"y and weights must have one shape, got {y.shape} and {weights.shape}")
    smoothed = np.empty_like(y)
    total = weight = 0.0
    for i in range(len(y)):
        total, weight = beta * total + weights[i] * y[i], beta * weight + weights[i]
        smoothed[i] = total / weight if weight > 0 else y[i]
    return smoothed


def on_one_grid(curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Curves, whose points lie at different x, at common ones: (float64[points], float64[curves, points]).

    Only where all of them have values, so that no average jumps where a shorter run ends; the points are those of the curves,
    at most MOST_POINTS. Empty arrays where they have no x in common.
    """
    curves = [one for one in curves if len(one.x)]
    if not curves:
        return np.empty(0), np.empty((0, 0))
    first, last = max(one.x[0] for one in curves), min(one.x[-1] for one in curves)
    points = np.unique(np.concatenate([one.x for one in curves] + [np.array([first, last])]))
    points = points[(points >= first) & (points <= last)]
    if len(points) > MOST_POINTS:
        points = points[np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int))]
    return points, np.stack([np.interp(points, one.x, one.y) for one in curves])
