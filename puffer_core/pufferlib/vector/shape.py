"""How many envs, workers and batches: checked before anything starts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from pufferlib.errors import ConfigError


@dataclass(frozen=True)
class VecShape:
    """Counts that fit: num_workers divides num_envs; batch_size (envs) is some workers' whole shares and divides num_envs."""

    num_envs: int
    num_workers: int
    batch_size: int

    @property
    def envs_per_worker(self) -> int:
        return self.num_envs // self.num_workers

    @property
    def num_batches(self) -> int:
        return self.num_envs // self.batch_size


def check_shape(
    num_envs: Any, num_workers: Any = None, batch_size: Any = None, envs_per_worker: Any = None, *, default_workers: int = 1
) -> VecShape:
    """The counts of a VecEnv. Raises ConfigError naming the arguments, their values and the nearest that work.

    num_workers=None: the largest number up to `default_workers` that fits the other counts, else the smallest that does.
    batch_size=None: all envs. envs_per_worker, where given, must equal num_envs / num_workers.
    """
    envs = whole("num_envs", num_envs)
    share = None if envs_per_worker is None else whole("envs_per_worker", envs_per_worker)
    batch = envs if batch_size is None else whole("batch_size", batch_size)
    if num_workers is not None:
        workers = whole("num_workers", num_workers)
    elif share is not None:
        workers = max(envs // share, 1)
    else:
        workers = _choose_workers(envs, batch, default_workers)
    if envs % workers:
        raise ConfigError(
            f"num_envs={envs} must be a multiple of num_workers={workers}; nearest num_envs: "
            f"{_listed(_nearest(envs, range(workers, envs + workers + 1, workers)))}; nearest num_workers: "
            f"{_listed(_nearest(workers, divisors(envs)))}"
        )
    if share is not None and share * workers != envs:
        raise ConfigError(
            f"envs_per_worker={share} must equal num_envs={envs} / num_workers={workers} = {envs // workers}; "
            f"leave envs_per_worker out, or set num_envs={share * workers}"
        )
    fitting = _batches(envs, workers)
    if batch not in fitting:
        raise ConfigError(
            f"batch_size={batch} must be a multiple of the envs of a worker (num_envs={envs} / num_workers={workers} = "
            f"{envs // workers}) and divide num_envs={envs}; nearest: {_listed(_nearest(batch, fitting))}"
        )
    return VecShape(envs, workers, batch)


def whole(name: str, value: Any) -> int:
    """`value` as an int of at least 1. Raises ConfigError naming the argument."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        near = ""
        if isinstance(value, float) and np.isfinite(value):
            near = f"; nearest: {_listed(sorted({max(1, int(value)), int(value) + 1}))}"
        raise ConfigError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}{near}")
    if value < 1:
        raise ConfigError(f"{name} must be at least 1, got {int(value)}; nearest: 1")
    return int(value)


def available_cpus() -> int:
    """The cores that this process may use, which in a container can be fewer than the machine's."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def divisors(n: int) -> list[int]:
    small = [k for k in range(1, int(n**0.5) + 1) if n % k == 0]
    return sorted({*small, *(n // k for k in small)})


def _batches(envs: int, workers: int) -> list[int]:
    return [size for size in divisors(envs) if size % (envs // workers) == 0]


def _choose_workers(envs: int, batch: int, limit: int) -> int:
    fitting = [w for w in divisors(envs) if batch in _batches(envs, w)]
    if not fitting:
        return 1  # batch does not divide envs: the check of batch_size says so
    return max((w for w in fitting if w <= limit), default=fitting[0])


def _nearest(value: int, candidates: Any) -> list[int]:
    """The closest candidate from below and from above."""
    below, above = [c for c in candidates if c <= value], [c for c in candidates if c > value]
    return below[-1:] + above[:1]


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values))
