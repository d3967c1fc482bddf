"""Sweeps from Python: `pufferlib.Protein`.

    space = {"train.learning_rate": {"distribution": "log_normal", "min": 1e-4, "max": 1e-1}}
    result = Protein("ocean-squared", space, num_trials=20).optimize()
    result.best, result.best_score

A function of the user's own takes the place of the env's name where it is not training that is to be tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pufferlib.config.run_config import SWEEP_TABLE, Given
from pufferlib.config.values import near
from pufferlib.errors import ConfigError
from pufferlib_sweep.plan import flatten, make_plan, sweep_config
from pufferlib_sweep.results import SweepResult, TrialResult, trial_result
from pufferlib_sweep.runner import FAILING, INTERRUPTED
from pufferlib_sweep.session import function_session, train_session
from pufferlib_sweep.settings import SweepConfig
from pufferlib_sweep.space import SearchSpace
from pufferlib_sweep.tasks import Objective


class Protein:
    """A search for the best settings of an env's training, or for the best arguments of a function.

    what: an env's name, each trial being a `puffer train` in a process of its own; or a function that takes a dict of values by
        name and returns {"score": float, "cost": float}, or the score alone (the cost is then its seconds). A function that
        raises, or returns no finite score, makes a failed trial
    search_space: tables by dotted setting name, as docs/sweeps.md describes them, such as
        {"train.gamma": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999}}; None: the usual settings and those of the
        env's preset. A function needs one
    num_trials: in the end, with those that a storage or `run_dir` has from earlier
    metric: what a trial is worth, see `SweepConfig.metric`
    settings: of all trials, by dotted name, {"train.total_timesteps": 1e6}; these are not searched
    run_dir: the sweep's directory, gone on with if it holds the same sweep. Left out: runs/<env>/<time>-sweep; of a function the
        study then lives in memory
    isolate: call the function in a process of its own for each trial, which a crash or a hang harms alone. By fork, so not
        where this process uses a GPU
    options: further settings of the sweep by their names in `SweepConfig`, such as method="tpe", goal="minimize", parallel=4

    Raises ConfigError, EnvNotFoundError or PluginError before anything runs.
    """

    def __init__(
        self,
        what: str | Objective,
        search_space: Mapping[str, Any] | SearchSpace | None = None,
        num_trials: int = SweepConfig.trials,
        metric: str = SweepConfig.metric,
        *,
        settings: Mapping[str, Any] | None = None,
        run_dir: str | Path = "",
        isolate: bool = False,
        **options: Any,
    ) -> None:
        options = {"trials": num_trials, "metric": metric, **options}
        known = [part.name for part in fields(SweepConfig)]
        for name in options:
            if name not in known:
                raise ConfigError(f"{name}: no such option of a sweep{near(name, known)} (options: {', '.join(known)})")
        given = [Given(f"{SWEEP_TABLE}.{name}", value, name, False) for name, value in options.items()]
        if isinstance(what, str):
            given += [Given(name, value, f"settings[{name!r}]", False) for name, value in (settings or {}).items()]
            if isinstance(search_space, SearchSpace):
                raise ConfigError("search_space of an env must be tables, whose values are checked against the env's settings")
            self.session = train_session(make_plan(what, given, search_space=search_space), run_dir)
            return
        if not callable(what):
            raise ConfigError(f"Protein takes an env's name or a function, got {what!r}")
        if search_space is None or settings:
            raise ConfigError("a function needs a search_space, and takes no settings")
        self.session = function_session(what, space_of(search_space), sweep_config([given]), run_dir, isolate=isolate)

    @property
    def study(self) -> Any:
        """Optuna's study."""
        return self.session.study

    @property
    def directory(self) -> Path | None:
        """Where the sweep keeps its files; None for a function without `run_dir`."""
        return self.session.directory

    def optimize(self, on_trial: Callable[[TrialResult], None] = lambda trial: None) -> SweepResult:
        """Run trials until the sweep is over, and return what all of them have found.

        on_trial: called with each trial that has ended
        Raises KeyboardInterrupt after Ctrl-C, RuntimeError where the first 5 trials fail alike; finished trials are kept either
        way, and calling it again goes on.
        """
        why = self.session.run(lambda trial: on_trial(trial_result(trial)))
        result = SweepResult.of(self.session.study, why, self.session.directory)
        if why == INTERRUPTED:
            raise KeyboardInterrupt
        if why == FAILING:
            failures = [trial.failure for trial in result.trials if trial.failure]
            raise RuntimeError(f"the first {len(failures)} trials failed alike: {failures[-1]}")
        return result


def space_of(search_space: Mapping[str, Any] | SearchSpace) -> SearchSpace:
    """The space that tables describe."""
    if isinstance(search_space, SearchSpace):
        return search_space
    return SearchSpace.from_tables({name: table for name, table in flatten(search_space).items() if table is not None})
