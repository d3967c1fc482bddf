"""Packages whose envs take long or step many at once: whole batches against what they are made of, in one run.

python benchmarks/thirdparty_batches.py [NAME ...]     by default all whose package is installed

Atari: the bare emulators do what no agent can do without, the frames of a step and two screens in grey. The VecEnv adds
all else: pictures of 84 x 84, stacks, episodes. Gymnasium's AsyncVectorEnv has the same, by its AtariPreprocessing and
FrameStackObservation. Procgen: the bare env is its gym3 API, `act` and `observe`, with as many threads.
"""

from __future__ import annotations

import functools
import importlib.util
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np

import pufferlib
from common import best_rates, machine, random_action_sets
from pufferlib.vector.shape import available_cpus

ENVS_PER_CORE = 4
WORLDS = 64
WINDOW_S, WINDOWS = 0.5, 5
STEPS = 16
"""Steps of all envs between two looks at the clock."""

Work = tuple[Callable[[], Any], float]


def bare_emulators(rom: str, count: int) -> Callable[[], None]:
    """Steps `count` emulators: four frames, a screen after the third and the fourth, a new game where one is over."""
    from pufferlib_atari.game import Game
    from pufferlib_atari.settings import Settings

    games = [Game(rom, Settings()) for _ in range(count)]
    for seed, game in enumerate(games):
        game.reset(seed)
    batches = [np.random.default_rng(1).integers(len(games[0].actions), size=count).tolist() for _ in range(STEPS)]
    screen = np.empty(games[0].ale.getScreenDims(), np.uint8)

    def work() -> None:
        for choices in batches:
            for game, choice in zip(games, choices, strict=True):
                ale, action = game.ale, game.actions[choice]
                ale.act(action)
                ale.act(action)
                ale.act(action)
                ale.getScreenGrayscale(screen)
                ale.act(action)
                ale.getScreenGrayscale(screen)
                if ale.game_over():
                    ale.reset_game()

    return work


class Fleet:
    """The same work in one process for each core; `work` lets each do it once."""

    def __init__(self, rom: str, cores: int) -> None:
        context = multiprocessing.get_context("fork")
        self.pipes = []
        self.processes = []
        for _ in range(cores):
            mine, theirs = context.Pipe()
            self.processes.append(context.Process(target=self._serve, args=(rom, theirs), daemon=True))
            self.processes[-1].start()
            self.pipes.append(mine)

    @staticmethod
    def _serve(rom: str, pipe: Any) -> None:
        work = bare_emulators(rom, ENVS_PER_CORE)
        while pipe.recv():
            work()
            pipe.send(True)

    def work(self) -> None:
        for pipe in self.pipes:
            pipe.send(True)
        for pipe in self.pipes:
            pipe.recv()

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.send(False)
        for process in self.processes:
            process.join()


def preprocessed(game: str) -> gymnasium.Env[Any, Any]:
    import ale_py
    from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    return FrameStackObservation(AtariPreprocessing(gymnasium.make(f"{game}NoFrameskip-v4", disable_env_checker=True)), 4)


def stepping(vec: Any, envs: int) -> Work:
    """The work of a vector env with Gymnasium's API."""
    vec.reset(seed=1)
    batches = random_action_sets(vec.single_action_space, envs, STEPS)

    def work() -> None:
        for actions in batches:
            vec.step(actions)

    return work, STEPS * envs


def atari(rom: str, game: str) -> Iterator[str]:
    cores = available_cpus()
    envs = ENVS_PER_CORE * cores
    fleet = Fleet(rom, cores)
    make = functools.partial(pufferlib.make, f"atari-{rom}", num_envs=envs)
    vecs = {
        "VecEnv, processes": make(num_workers=cores),
        "VecEnv, native": make(backend="native", backend_options={"num_threads": cores}),
        "Gymnasium's AsyncVectorEnv": gymnasium.vector.AsyncVectorEnv([functools.partial(preprocessed, game)] * envs),
    }
    works = {"bare emulators": (fleet.work, STEPS * envs), **{name: stepping(vec, envs) for name, vec in vecs.items()}}
    yield from rows(f"atari-{rom}, {envs} envs on {cores} cores", works, "bare emulators")
    fleet.close()
    for vec in vecs.values():
        vec.close()
    alone = {"bare emulator": (bare_emulators(rom, 1), STEPS), "VecEnv, serial": stepping(pufferlib.make(f"atari-{rom}"), 1)}
    yield from rows(f"atari-{rom}, 1 env on 1 core", alone, "bare emulator")


def procgen(game: str) -> Iterator[str]:
    threads = available_cpus()
    vec = pufferlib.make(f"procgen-{game}", num_envs=WORLDS, distribution_mode="easy", num_threads=threads)
    from procgen import ProcgenGym3Env

    bare = ProcgenGym3Env(num=WORLDS, env_name=game, distribution_mode="easy", rand_seed=1, num_threads=threads)
    batches = random_action_sets(vec.single_action_space, WORLDS, STEPS)

    def work() -> None:
        for actions in batches:
            bare.act(actions)
            bare.observe()

    yield from rows(
        f"procgen-{game}, {WORLDS} worlds, {threads} threads",
        {"bare gym3": (work, STEPS * WORLDS), "VecEnv": stepping(vec, WORLDS)},
        "bare gym3",
    )
    bare.close()
    vec.close()


def rows(what: str, works: dict[str, Work], base: str) -> Iterator[str]:
    """Rows of the table."""
    found = best_rates(works, WINDOW_S, WINDOWS)
    for name, steps in found.items():
        added = f"{1e6 / steps - 1e6 / found[base]:+.1f}" if name != base else "-"
        yield f"| {what} | {name} | {steps:,.0f} | {steps / found[base]:.2f} | {added} |"


PARTS = {
    "atari-pong": ("ale_py", functools.partial(atari, "pong", "Pong")),
    "atari-breakout": ("ale_py", functools.partial(atari, "breakout", "Breakout")),
    "procgen-coinrun": ("procgen", functools.partial(procgen, "coinrun")),
    "procgen-starpilot": ("procgen", functools.partial(procgen, "starpilot")),
}
"""Name -> (the package that it needs, its part of the table)."""


def main() -> None:
    names = sys.argv[1:] or [name for name, (package, _) in PARTS.items() if importlib.util.find_spec(package)]
    print(f"{machine()}, {time.strftime('%B %Y')}.\n")
    print("| envs | what | env steps/s | of bare | us added to a step of one env |\n|---|---|---|---|---|")
    for name in names:
        for row in PARTS[name][1]():
            print(row, flush=True)


if __name__ == "__main__":
    main()
