"""Synthetic training runs for benchmarks/sweep.py: a score and a cost for any settings, in microseconds, with a known optimum.

All share one shape. A run of `steps` agent-steps scores ceiling * (1 - exp(-(steps / tau)^0.8)) where `ceiling`, what the
settings can reach, and `tau`, how fast, fall and grow with the distance of each setting from its best value, as learning curves
do. A run's cost is steps * (work per step) / (what the number of envs makes of the machine), in seconds. Half-way through a run
the learning rate is not yet annealed, so a curve's point scores less than a run that ends there: 10 % less at the start,
nothing at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pufferlib_sweep.space import SearchSpace

STEPS = "train.total_timesteps"
NOISE = 0.02
"""Standard deviation of a score between seeds."""
COMMON = {
    "train.learning_rate": {"distribution": "log_normal", "min": 1e-5, "max": 1e-1},
    "train.gamma": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999},
    "train.ent_coef": {"distribution": "log_normal", "min": 1e-5, "max": 0.2},
    "train.gae_lambda": {"distribution": "logit_normal", "min": 0.6, "max": 0.995},
    "vec.num_envs": {"distribution": "uniform_pow2", "min": 64, "max": 4096},
    STEPS: {"distribution": "int_log_normal", "min": 1_000_000, "max": 100_000_000},
}


class Diverged(RuntimeError):
    """A run whose losses became NaN. `cost` is what it had cost by then."""

    def __init__(self, cost: float):
        super().__init__("losses became NaN")
        self.cost = cost


@dataclass(frozen=True)
class Landscape:
    name: str
    space: SearchSpace
    shape: Callable[[dict[str, Any]], tuple[float, float, float, bool]]
    """Settings -> (ceiling, tau in steps, seconds a million steps, whether the run diverges)."""
    best: dict[str, Any]
    """The settings with the highest noise-free score."""

    def score(self, values: dict[str, Any], steps: float | None = None) -> float:
        """The noise-free score of a run, or at `steps` of it."""
        ceiling, tau, _, diverges = self.shape(values)
        return 0.0 if diverges else ceiling * learnt((values[STEPS] if steps is None else steps) / tau)

    def cost(self, values: dict[str, Any]) -> float:
        return values[STEPS] / 1e6 * self.shape(values)[2]

    def run(self, values: dict[str, Any], rng: np.random.Generator) -> tuple[float, float, list[list[float]], list[int]]:
        """Score, cost, curve and the curve's steps. Raises Diverged."""
        cost = self.cost(values)
        if self.shape(values)[3]:
            raise Diverged(cost * rng.uniform(0.05, 0.5))
        luck = rng.normal(0, NOISE)
        parts = np.linspace(0.1, 1, 10)
        steps = [round(part * values[STEPS]) for part in parts]
        true = np.array([self.score(values, at) for at in steps]) * (0.9 + 0.1 * parts)
        scores = true + luck * parts + rng.normal(0, NOISE / 2, 10)
        return float(scores[-1]), cost, [[cost * part, score] for part, score in zip(parts, scores, strict=True)], steps


def learnt(progress: float) -> float:
    return 1 - math.exp(-(progress**0.8))


def off(value: float, best: float, width: float) -> float:
    """Squared distance in widths of e-folds (for positive values)."""
    return (math.log(value / best) / width) ** 2


def seconds_per_million(num_envs: int, hidden: float = 128, epochs: int = 1) -> float:
    """A step's work grows with the network's size and the epochs; few envs leave the machine idle."""
    return (1 + 2 * epochs * (hidden / 128) ** 1.5) * (1 + 512 / num_envs)


def cliff(v: dict[str, Any]) -> tuple[float, float, float, bool]:
    """The best learning rate lies just below the one at which training diverges; more envs (larger batches) move both up."""
    scale = math.sqrt(v["vec.num_envs"] / 512)
    lr = v["train.learning_rate"]
    diverges = lr * (1 + 20 * v["train.ent_coef"]) > 0.02 * scale
    apart = off(1 - v["train.gamma"], 0.01, 1.5)
    tau = 25e6 * math.exp(min(off(lr, 0.008 * scale, 2.0), 5) / 2 + min(apart, 4) / 4) * scale**0.5
    ceiling = math.exp(-apart / 8 - off(v["train.ent_coef"], 0.003, 3.0) / 6 - off(1 - v["train.gae_lambda"], 0.08, 1.5) / 10)
    return ceiling, tau, seconds_per_million(v["vec.num_envs"]), diverges


def two_basins(v: dict[str, Any]) -> tuple[float, float, float, bool]:
    """A wide basin (far-sighted, careful) whose ceiling is 0.75, and a narrow one (short-sighted, bold) that reaches 1."""
    lr, ent, gamma = v["train.learning_rate"], v["train.ent_coef"], 1 - v["train.gamma"]
    wide = 0.75 * math.exp(-off(lr, 3e-4, 2.5) / 2 - off(gamma, 0.003, 1.5) / 4 - off(ent, 3e-3, 3.0) / 4)
    narrow = math.exp(-off(lr, 1e-2, 1.0) / 2 - off(gamma, 0.03, 0.8) / 2 - off(ent, 3e-4, 2.0) / 4)
    more = off(1 - v["train.gae_lambda"], 0.05, 1.5) / 10 + off(v["train.clip_coef"], 0.2, 0.8) / 8
    tau = 20e6 * math.exp(min(off(v["vec.num_envs"], 1024, 2.0), 4) / 4) / v["train.update_epochs"] ** 0.5
    return (
        max(wide, narrow) * math.exp(-more),
        tau,
        seconds_per_million(v["vec.num_envs"], epochs=v["train.update_epochs"]),
        False,
    )


def costly_best(v: dict[str, Any]) -> tuple[float, float, float, bool]:
    """Large networks reach more, learn slowly, want a lower learning rate, and cost much: the best run is one of the dearest."""
    hidden = v["policy.hidden_size"]
    size = hidden / 128
    apart = off(v["train.learning_rate"], 3e-3 / size, 1.2) / 2 + off(1 - v["train.gamma"], 0.01, 1.2) / 4
    fine = off(v["train.ent_coef"], 1e-3, 2.5) / 6 + off(1 - v["train.gae_lambda"], 0.05, 1.5) / 8
    ceiling = (0.4 + 0.1 * math.log2(hidden / 16)) * math.exp(-min(apart, 3) / 2 - fine)
    tau = 6e6 * size**0.5 * math.exp(min(apart, 3))
    return ceiling, tau, seconds_per_million(v["vec.num_envs"], hidden), False


MORE_BASINS = {
    "train.clip_coef": {"distribution": "log_normal", "min": 0.02, "max": 1.0},
    "train.update_epochs": {"distribution": "int_uniform", "min": 1, "max": 4},
}
MORE_COSTLY = {"policy.hidden_size": {"distribution": "uniform_pow2", "min": 16, "max": 1024}}


def best_of(shape: Callable[[dict[str, Any]], tuple[float, float, float, bool]], space: SearchSpace) -> dict[str, Any]:
    """The optimum, by a random search that narrows from many starts: slow for a sweep, quick for a formula."""

    def score(values: dict[str, Any]) -> float:
        ceiling, tau, _, diverges = shape(values)
        return 0.0 if diverges else ceiling * learnt(values[STEPS] / tau)

    rng = np.random.default_rng(0)
    pool = list(rng.random((4000, len(space))))
    for width in np.geomspace(0.2, 0.001, 25):
        pool.sort(key=lambda point: -score(space.from_unit(point)))
        pool = pool[:20] + [np.clip(point + rng.normal(0, width, len(space)), 0, 1) for point in pool[:20] for _ in range(30)]
    return space.from_unit(max(pool, key=lambda point: score(space.from_unit(point))))


@cache
def landscapes() -> list[Landscape]:
    made = []
    for name, shape, more in (
        ("cliff", cliff, {}),
        ("two basins", two_basins, MORE_BASINS),
        ("costly best", costly_best, MORE_COSTLY),
    ):
        space = SearchSpace.from_tables({**COMMON, **more})
        made.append(Landscape(name, space, shape, best_of(shape, space)))
    return made
