"""The settings of a sweep itself: how many trials, what counts, where they run. Their names, defaults and meaning stand here.

The same names serve the command line (`--sweep.trials`), the table `[sweep]` of a preset or file, and `pufferlib.Protein`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from pufferlib.config.run_config import SWEEP_TABLE, flag
from pufferlib.errors import ConfigError


@dataclass(kw_only=True)
class SweepConfig:
    """Settings of a sweep. `[sweep.<setting>]` tables beside them say what is searched, see docs/sweeps.md."""

    trials: int = 50
    """Trials in the end, failed ones included; a sweep that goes on counts those it has."""
    method: Literal["protein", "random", "tpe", "cmaes"] = "protein"
    """protein: Gaussian processes of score and cost. random, tpe and cmaes are Optuna's."""
    metric: str = "auto"
    """What a trial is worth: an episode statistic such as score, or another name in metrics.jsonl. auto: perf, else score, else
    episode_return, whichever the first trial logs; all trials of a sweep are measured by the same."""
    goal: Literal["maximize", "minimize"] = "maximize"
    """Whether more of the metric is better, or less."""
    cost: Literal["seconds", "steps"] = "seconds"
    """What a trial costs: seconds of training, or agent-steps. Protein weighs the score against it."""
    defaults: bool = True
    """Search the usual settings beside those that [sweep.*] tables name. False: only the tables'."""
    max_cost: float = 0.0
    """No trial starts once all together have cost so much. 0: no limit."""
    timeout_s: float = 0.0
    """The sweep ends after so many seconds; running trials stop cleanly and are tried again when it goes on. 0: no limit."""
    parallel: int = 1
    """Trials at once. On one machine they share its cores, and its GPUs in turn."""
    seed: int = 1
    """Of the search. The trials' own seed is --train.seed."""
    seeds_per_trial: int = 1
    """Runs of each trial, with train.seed, train.seed + 1, ...; the mean of their scores counts."""
    early_stop: bool = False
    """End trials early whose curve is hopeless beside the others'."""
    hang_timeout_s: float = 900.0
    """A trial that writes no row of metrics for so long has failed. 0: it may take as long as it likes."""
    trial_timeout_s: float = 0.0
    """A trial that takes longer has failed. 0: it may take as long as it likes."""
    storage: str = ""
    """Where Optuna keeps the study: any of its URLs, or a file *.journal. Left out: study.db in the sweep's directory."""
    name: str = ""
    """The study's name in the storage; processes that give the same two share the work. Left out: the directory's name."""
    backend: Literal["local", "ray"] = "local"
    """Where trials run: processes of this machine, or tasks of a Ray cluster."""
    ray_address: str = ""
    """auto, host:port or ray://host:port. Left out: RAY_ADDRESS, else a cluster of this machine alone."""
    trial_cpus: float = 1.0
    """With ray: cores that a trial takes."""
    trial_gpus: float = 0.0
    """With ray: GPUs that a trial takes, such as 0.25."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= least):
                raise ConfigError(f"{spell(name)} must be at least {least}, got {value}")
        for name, hint in get_type_hints(SweepConfig).items():
            if get_args(hint) and getattr(self, name) not in get_args(hint):
                raise ConfigError(f"{spell(name)} must be one of {', '.join(get_args(hint))}, got {getattr(self, name)!r}")


_LEAST = {
    "trials": 1, "max_cost": 0, "timeout_s": 0, "parallel": 1, "seed": 0, "seeds_per_trial": 1, "hang_timeout_s": 0,
    "trial_timeout_s": 0, "trial_cpus": 0, "trial_gpus": 0,
}  # fmt: skip
CHANGEABLE = (
    "trials", "max_cost", "timeout_s", "parallel", "early_stop", "hang_timeout_s", "trial_timeout_s", "backend", "ray_address",
    "trial_cpus", "trial_gpus", "method", "seed", "storage",
)  # fmt: skip
"""What may differ when a sweep goes on, or from process to process. All else would make its trials incomparable."""


def spell(name: str) -> str:
    """A setting in both its spellings, for messages."""
    return f"{name} ({flag(f'{SWEEP_TABLE}.{name}')})"
