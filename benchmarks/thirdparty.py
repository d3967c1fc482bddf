"""What the adapters of third-party packages add to a step: one env stepped bare, and envs in a serial VecEnv, in one run.

python benchmarks/thirdparty.py [NAME ...]     those of which the package is installed, else the names given

Both loops take random actions and reset where an episode ends. The bare env gives the same parts of an observation, the VecEnv
also copies them into its rows, counts episodes and checks numbers. Times are the best of several windows, taken in turn.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

import pufferlib
from common import best_rates, machine, random_action_sets

BAR_US = 25
ENVS = 8
WINDOW_S, WINDOWS = 0.4, 9


@dataclass(frozen=True)
class Case:
    """package: what must be importable; bare: makes one env with Gymnasium's reset and step; kwargs: for pufferlib.make."""

    package: str
    bare: Callable[[], Any]
    kwargs: dict[str, Any] = field(default_factory=dict)


def registered(module: str, env_id: str, **kwargs: Any) -> Any:
    """An env as gymnasium.make gives it, but for the checker that is for debugging."""
    importlib.import_module(module)
    return gymnasium.make(env_id, disable_env_checker=True, **kwargs)


def nethack(module: str, env_id: str) -> Any:
    """The same keys as the plugin's default."""
    from pufferlib_nethack.envs import DEFAULT_KEYS
    from pufferlib_nethack.names import import_package

    import_package(module)
    return registered(module, env_id, observation_keys=DEFAULT_KEYS)


CASES = {
    "minigrid-empty-8x8": Case("minigrid", functools.partial(registered, "minigrid", "MiniGrid-Empty-8x8-v0")),
    "minigrid-doorkey-8x8": Case("minigrid", functools.partial(registered, "minigrid", "MiniGrid-DoorKey-8x8-v0")),
    "babyai-gotolocal": Case("minigrid", functools.partial(registered, "minigrid", "BabyAI-GoToLocal-v0")),
    "nethack-score": Case("nle", functools.partial(nethack, "nle", "NetHackScore-v0")),
    "minihack-room-15x15": Case("minihack", functools.partial(nethack, "minihack", "MiniHack-Room-15x15-v0")),
}


def bare_work(env: Any, count: int) -> Callable[[], None]:
    """Steps `count` times."""
    actions = np.random.default_rng(1).integers(env.action_space.n, size=count).tolist()
    env.reset(seed=1)

    def work() -> None:
        for action in actions:
            *_, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return work


def vec_work(vec: pufferlib.VecEnv, count: int) -> Callable[[], None]:
    """Steps `count` times."""
    actions = random_action_sets(vec.single_action_space, vec.num_agents, count)
    vec.reset()

    def work() -> None:
        for action in actions:
            vec.step(action)

    return work


def measure(name: str, case: Case) -> str:
    """A row of the table."""
    count = 64
    bare = case.bare()
    vecs = {n: pufferlib.make(name, num_envs=n, backend="serial", seed=1, **case.kwargs) for n in (1, ENVS)}
    works = {"bare": (bare_work(bare, count), count), **{n: (vec_work(vec, count), n * count) for n, vec in vecs.items()}}
    times = {key: 1e6 / rate for key, rate in best_rates(works, WINDOW_S, WINDOWS).items()}
    bare.close()
    for vec in vecs.values():
        vec.close()
    added = [times[n] - times["bare"] for n in vecs]
    return f"| {name} | {times['bare']:.1f} | {added[0]:+.1f} | {added[1]:+.1f} | {times['bare'] / times[ENVS]:.2f} |"


def main() -> None:
    names = sys.argv[1:] or [name for name, case in CASES.items() if importlib.util.find_spec(case.package)]
    print(f"{machine()}. Microseconds an env's step; the bar is {BAR_US} added.\n")
    print(f"| env | bare | added in a VecEnv of 1 | added in one of {ENVS} | bare / VecEnv of {ENVS} |\n|---|---|---|---|---|")
    for name in names:
        print(measure(name, CASES[name]), flush=True)


if __name__ == "__main__":
    main()
