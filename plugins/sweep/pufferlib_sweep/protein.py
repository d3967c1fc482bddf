"""Protein, an Optuna sampler for training runs: it seeks the best score for every cost, and spends over the whole range of costs.

    sampler = ProteinSampler(space, seed=1)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective)

What it reads of a study's trials: `trial.value`, the final score; the user attributes "cost" (seconds, or any number above 0),
"curve" ([[cost, score], ...] during the trial) and, where the space varies train.total_timesteps, "curve_steps" (the steps at
those points). A trial that was stopped early has state PRUNED. Failed trials (state FAIL, or a score that is not finite) teach
where not to go, unless their user attribute "not_counted" says that they were broken off from outside; running ones keep others
at a distance. Nothing is kept in memory but what the trials say anyway, so any number of processes may work on one study, and
stop and go on.

docs/sweeps.md says how it chooses. The method follows CARBS (Fetterman et al. 2023, "Tune As You Scale: Hyperparameter
Optimization For Compute Efficient Training"); the parts are in surrogate.py, model.py and acquisition.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

from pufferlib.errors import ConfigError

from .acquisition import best_points, draw_log_cost, prior_points
from .early_stop import ProteinPruner, should_stop
from .history import STEPS, History, read_history, sign_of
from .model import Model
from .space import Floats, SearchSpace

__all__ = ["ProteinPruner", "ProteinSampler", "should_stop"]

CHEAP_PART = 0.35
"""The part of the range of train.total_timesteps, from its lower end, that start-up trials use."""


class ProteinSampler(BaseSampler):
    """Gaussian processes of score, cost and failure choose a study's next trial.

    space: what is searched; the study's trials must suggest these parameters (`space.suggest(trial)`)
    seed: the same seed and the same history give the same suggestion. None: another one each time
    num_startup: trials before the model chooses, spread evenly and cheap; None: parameters + 2, at least 6
    max_cost: what a trial may be expected to cost at most, in the unit of "cost"; None: up to twice the dearest so far
    curve_points: how many points of each trial's curve count as observations; 0: only final scores
    candidates: points that a suggestion is chosen from
    max_points: observations in the model at most; more of them make a suggestion slower, not the sweep worse by much
    """

    def __init__(
        self,
        space: SearchSpace,
        *,
        seed: int | None = None,
        num_startup: int | None = None,
        max_cost: float | None = None,
        curve_points: int = 3,
        candidates: int = 512,
        max_points: int = 400,
    ):
        if num_startup is not None and num_startup < 1:
            raise ConfigError(f"num_startup={num_startup} must be at least 1")
        if max_cost is not None and not max_cost > 0:
            raise ConfigError(f"max_cost={max_cost} must be above 0")
        if curve_points < 0:
            raise ConfigError(f"curve_points={curve_points} must be at least 0")
        if candidates < 16 or max_points < 16:
            raise ConfigError(f"candidates={candidates} and max_points={max_points} must be at least 16")
        self.space = space
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self.num_startup = max(6, len(space) + 2) if num_startup is None else num_startup
        self.max_cost = math.inf if max_cost is None else float(max_cost)
        self.curve_points = curve_points
        self.candidates = candidates
        self.max_points = max_points
        self.steps_column = list(space).index(STEPS) if STEPS in space else None
        self.others = RandomSampler(seed=self.seed)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self.space.distributions()

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        if not search_space:
            return {}
        history = read_history(study, self.space, skip=trial.number, curve_points=self.curve_points)
        with threadpool_limits(1):  # matrices this small only lose by threads, and trials train beside
            values = self.suggest(history, trial.number)
        return self.space.to_params(values)

    def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution) -> Any:
        """Parameters that are not in the space are drawn at random."""
        return self.others.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Optuna calls it in each of several threads or processes; suggestions differ by the trial's number as they are."""
        self.others.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        sign_of(study)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Nothing: all that counts is in the storage."""

    def suggest(self, history: History, number: int) -> dict[str, Any]:
        """The values for the trial with this number, after this history."""
        rng = np.random.default_rng([self.seed % 2**64, number])
        whole = int(np.sum(~history.partial))
        if number < self.num_startup or whole < max(2, self.num_startup // 2):
            return self.first_new(self.startup_points(history, number, rng), history, rng)
        model = Model(history, self.space, max_points=self.max_points, rng=rng)
        log_cost = None
        if model.cost is not None:
            log_cost = draw_log_cost(model.front_costs, self.max_cost, rng)
        points = best_points(model, self.space, count=self.candidates, column=self.steps_column, log_cost=log_cost, rng=rng)
        return self.first_new(points, history, rng)

    def startup_points(self, history: History, number: int, rng: np.random.Generator) -> Floats:
        """The search prior's centre first, then a scrambled Sobol sequence, cheap, and away from what failed."""
        sequence = qmc.Sobol(len(self.space), seed=np.random.default_rng(self.seed % 2**64))
        points = sequence.random_base2(number.bit_length())[number : number + 1]
        if len(history.failed):
            points = np.concatenate([points, rng.random((63, len(self.space)))])
        points = prior_points(points, self.space)
        if number == 0:
            for index, parameter in enumerate(self.space.parameters):
                if parameter.prior is not None:
                    points[0, index] = parameter.prior[0]
        if self.steps_column is not None:
            points[:, self.steps_column] *= CHEAP_PART
        points = self.space.snap(points)
        if len(history.failed):
            points = points[np.argsort(-distances(points, history.failed), kind="stable")]
        return points

    def first_new(self, points: Floats, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The first point that no trial had; where the space is used up, the first that did not fail."""
        more = self.space.snap(rng.random((64, len(self.space))))
        for used in (history.taken, history.failed_values):
            for point in np.concatenate([points, more]):
                values = self.space.from_unit(point)
                if tuple(values.values()) not in used:
                    return values
        return self.space.from_unit(points[0])


def distances(points: Floats, others: Floats) -> Floats:
    """How far each point is from the nearest of the others: float64[m]."""
    return np.asarray(np.min(np.linalg.norm(points[:, None] - others[None], axis=2), axis=1))
