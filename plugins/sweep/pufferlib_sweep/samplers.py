"""Who proposes the next trial: Protein, or one of Optuna's samplers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from pufferlib.errors import PluginError

if TYPE_CHECKING:
    from optuna import Study

    from pufferlib_sweep.space import SearchSpace

Maker = Callable[[int], BaseSampler]


class SeededByTrial(BaseSampler):
    """A sampler made anew for each trial, seeded by the sweep's seed and the trial's number.

    So a sweep that was interrupted goes on with the proposals that it would have made, and two processes on one study do not
    propose the same.
    """

    def __init__(self, make: Maker, seed: int) -> None:
        self.make, self.seed = make, seed
        self.inner = make(seed)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self.inner = self.make(int(np.random.SeedSequence([self.seed, trial.number]).generate_state(1)[0]))
        self.inner.before_trial(study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self.inner.infer_relative_search_space(study, trial)

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        return self.inner.sample_relative(study, trial, search_space)

    def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution) -> Any:
        return self.inner.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self.inner.after_trial(study, trial, state, values)


def make_sampler(method: str, space: SearchSpace, seed: int, *, parallel: bool = False) -> BaseSampler:
    """The sampler of that method: protein, random, tpe or cmaes. parallel: several trials run at once."""
    import optuna

    def random(seed: int) -> BaseSampler:
        return optuna.samplers.RandomSampler(seed=seed)

    def tpe(seed: int) -> BaseSampler:
        return optuna.samplers.TPESampler(seed=seed, constant_liar=parallel)

    def cmaes(seed: int) -> BaseSampler:
        if importlib.util.find_spec("cmaes") is None:
            raise PluginError("--sweep.method cmaes needs the package cmaes: pip install 'pufferlib-sweep[cmaes]'")
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)

    if method == "protein":
        from pufferlib_sweep.protein import ProteinSampler

        return ProteinSampler(space, seed=seed)  # its draws depend on the trial's number as they are
    return SeededByTrial({"random": random, "tpe": tpe, "cmaes": cmaes}[method], seed)
