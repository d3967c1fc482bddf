"""What the ray back end costs: against processes on the same machine, with the same envs and workers, in turn.

python plugins/ray/benchmark.py      about a minute
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import pufferlib

SECONDS, ROUNDS = 1.0, 7


class Frames(gymnasium.Env[Any, Any]):
    """Atari-sized observations: four frames of 84 x 84."""

    observation_space, action_space = spaces.Box(0, 255, (4, 84, 84), np.uint8), spaces.Discrete(6)

    def __init__(self) -> None:
        self._frame = np.zeros((4, 84, 84), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self._frame, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._frame, 0.0, False, False, {}


class Working(Frames):
    """A step of a millisecond of work."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        end = time.perf_counter() + 0.001
        while time.perf_counter() < end:
            pass
        return super().step(action)


def turns(vec: pufferlib.VecEnv) -> Callable[[], float]:
    """A function that steps for SECONDS; steps of all envs together, per second."""
    rng = np.random.default_rng(0)
    actions = itertools.cycle([rng.integers(0, vec.single_action_space.n, vec.num_envs) for _ in range(16)])
    vec.reset(seed=0)

    def rate() -> float:
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < SECONDS:
            vec.step(next(actions))
            count += 1
        return count * vec.num_envs / (time.perf_counter() - begin)

    return rate


def compare(title: str, make: Callable[..., pufferlib.VecEnv]) -> None:
    vecs = {backend: make(num_workers=2, backend=backend) for backend in ("processes", "ray")}
    works = {backend: turns(vec) for backend, vec in vecs.items()}
    rates = [{backend: work() for backend, work in works.items()} for _ in range(ROUNDS)]
    for vec in vecs.values():
        vec.close()
    ratio = float(np.median([rate["ray"] / rate["processes"] for rate in rates]))
    best = {backend: max(rate[backend] for rate in rates) for backend in works}
    turn = vecs["ray"].num_envs / best["ray"] * 1e3
    print(f"| {title} | {best['processes']:,.0f} | {best['ray']:,.0f} | {ratio:.2f} | {turn:.2f} ms |", flush=True)


def main() -> None:
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray runs workers at niceness 15 otherwise, processes does not
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # Ray would write a token into the home folder
    import ray

    ray.init("local", include_dashboard=False, logging_level="error")
    print("| 2 workers, synchronous | processes, steps/s | ray, steps/s | ray / processes (median of turns) | one step of all |")
    print("|---|---|---|---|---|")
    compare("64 CartPole-v1", lambda **how: pufferlib.make("gym-CartPole-v1", num_envs=64, **how))
    compare("2 CartPole-v1", lambda **how: pufferlib.make("gym-CartPole-v1", num_envs=2, **how))
    compare("32 dummies of 4 x 84 x 84 bytes", lambda **how: pufferlib.emulate(Frames, num_envs=32, **how))
    compare("8 envs of 1 ms a step, 4 x 84 x 84 bytes", lambda **how: pufferlib.emulate(Working, num_envs=8, **how))


if __name__ == "__main__":
    main()
