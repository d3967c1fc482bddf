"""What the adapters of third-party packages add to a step: envs stepped bare, and as many in a serial VecEnv, in one run.

python benchmarks/thirdparty.py [NAME ...]     those of which the package is installed, else the names given

Both loops begin with the same seeds and take the same random actions, since what a step costs depends on where the agent is, and
reset where an episode ends. The bare envs give the same parts of an observation; the VecEnv also copies them into its rows,
counts episodes and checks numbers. Times are the best of several windows, taken in turn. On a machine that does other things as
well, `chrt --fifo 10` (as root) keeps them from the core meanwhile.
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
ENVS = (1, 8)
STEPS = 2048
WINDOW_S, WINDOWS = 0.05, 9


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


class OldStyle:
    """An env of the old gym's API, its four values as five."""

    def __init__(self, env: Any) -> None:
        self.env, self.step_env, self.close = env, env.step, env.close

    def reset(self, seed: int | None = None) -> None:
        self.env.reset()

    def step(self, action: Any) -> Any:
        observation, reward, done, info = self.step_env(action)
        return observation, reward, done, False, info


def griddly(game: str) -> Any:
    module = importlib.import_module("griddly")
    return OldStyle(module.GymWrapper(f"Single-Player/GVGAI/{game}.yaml", level=0))


CASES = {
    "griddly-sokoban": Case("griddly", functools.partial(griddly, "sokoban")),
    "griddly-clusters": Case("griddly", functools.partial(griddly, "clusters")),
    "minigrid-empty-8x8": Case("minigrid", functools.partial(registered, "minigrid", "MiniGrid-Empty-8x8-v0")),
    "minigrid-doorkey-8x8": Case("minigrid", functools.partial(registered, "minigrid", "MiniGrid-DoorKey-8x8-v0")),
    "babyai-gotolocal": Case("minigrid", functools.partial(registered, "minigrid", "BabyAI-GoToLocal-v0")),
    "nethack-score": Case("nle", functools.partial(nethack, "nle", "NetHackScore-v0")),
    "minihack-room-15x15": Case("minihack", functools.partial(nethack, "minihack", "MiniHack-Room-15x15-v0")),
}


def bare_work(envs: list[Any], batches: list[np.ndarray]) -> Callable[[], None]:
    """Steps each env with each batch of actions, in turn."""
    rows = [batch.tolist() for batch in batches]

    def work() -> None:
        for index, env in enumerate(envs):
            env.reset(seed=index)
        for actions in rows:
            for env, action in zip(envs, actions, strict=True):
                *_, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()

    return work


def vec_work(vec: pufferlib.VecEnv, batches: list[np.ndarray]) -> Callable[[], None]:
    """Steps all envs with each batch of actions."""

    def work() -> None:
        vec.reset(seed=list(range(vec.num_envs)))
        for actions in batches:
            vec.step(actions)

    return work


def measure(name: str, case: Case, envs: int) -> str:
    """A row of the table."""
    bare = [case.bare() for _ in range(envs)]
    vec = pufferlib.make(name, num_envs=envs, backend="serial", seed=1, **case.kwargs)
    batches = random_action_sets(vec.single_action_space, vec.num_agents, STEPS // envs)
    works = {"bare": (bare_work(bare, batches), STEPS), "vec": (vec_work(vec, batches), STEPS)}
    times = {key: 1e6 / rate for key, rate in best_rates(works, WINDOW_S, WINDOWS).items()}
    for env in (*bare, vec):
        env.close()
    return f"| {name} | {envs} | {times['bare']:.1f} | {times['vec']:.1f} | {times['vec'] - times['bare']:+.1f} |"


def main() -> None:
    names = sys.argv[1:] or [name for name, case in CASES.items() if importlib.util.find_spec(case.package)]
    print(f"{machine()}. Microseconds an env's step; the bar is {BAR_US} added.\n")
    print("| env | envs | bare | VecEnv | added |\n|---|---|---|---|---|")
    for name in names:
        for envs in ENVS:
            print(measure(name, CASES[name], envs), flush=True)


if __name__ == "__main__":
    main()
