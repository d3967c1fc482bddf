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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np

import pufferlib
from common import best_rates, machine, random_action_sets
from pufferlib.vector.shape import available_cpus

ENVS_PER_CORE = 4
WORLDS = 64
WINDOW_S, WINDOWS = 1.0, 7
STEPS = 64
"""Steps of all envs between two looks at the clock."""

Work = tuple[Callable[[], Any], float]


def bare_emulators(rom: str, seeds: Sequence[int], batches: list[np.ndarray], anew: bool = False) -> Callable[[], None]:
    """Steps emulators: four frames, a screen after the third and the fourth, a new game with no-op starts where one is over.

    With the VecEnv's seeds and actions, since what a frame costs depends on the game's state. anew: see `stepping`.
    """
    from pufferlib_atari.game import NOOP, Game, spread
    from pufferlib_atari.settings import Settings

    settings = Settings()
    games = [Game(rom, settings) for _ in seeds]
    for seed, game in zip(seeds, games, strict=True):
        game.reset(seed)  # loads the ROM
    rows = [batch.tolist() for batch in batches]
    screen = np.empty(games[0].ale.getScreenDims(), np.uint8)

    draws: list[np.random.Generator] = []

    def begin(ale: Any, own: np.random.Generator) -> None:
        ale.reset_game()
        for _ in range(int(own.integers(1, settings.noop_max + 1))):
            ale.act(NOOP)

    def work() -> None:
        if anew or not draws:
            draws[:] = [np.random.default_rng(spread(seed)[0]) for seed in seeds]
            for game, own in zip(games, draws, strict=True):
                begin(game.ale, own)
        for choices in rows:
            for game, choice, own in zip(games, choices, draws, strict=True):
                ale, action = game.ale, game.actions[choice]
                ale.act(action)
                ale.act(action)
                ale.act(action)
                ale.getScreenGrayscale(screen)
                ale.act(action)
                ale.getScreenGrayscale(screen)
                if ale.game_over():
                    begin(ale, own)

    return work


class Fleet:
    """The same work in one process for each core; `work` lets each do it once."""

    def __init__(self, rom: str, cores: int, batches: list[np.ndarray]) -> None:
        context = multiprocessing.get_context("fork")
        self.pipes = []
        self.processes = []
        for core in range(cores):
            mine, theirs = context.Pipe()
            seeds = range(core * ENVS_PER_CORE, (core + 1) * ENVS_PER_CORE)
            own = [batch[seeds.start : seeds.stop] for batch in batches]
            self.processes.append(context.Process(target=self._serve, args=(rom, seeds, own, theirs), daemon=True))
            self.processes[-1].start()
            self.pipes.append(mine)

    @staticmethod
    def _serve(rom: str, seeds: Sequence[int], batches: list[np.ndarray], pipe: Any) -> None:
        work = bare_emulators(rom, seeds, batches)
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


def stepping(vec: Any, envs: int, batches: list[np.ndarray], anew: bool = False) -> Work:
    """The work of a vector env with Gymnasium's API. anew: it begins with a reset with the same seeds each time."""
    seeds = list(range(envs))
    vec.reset(seed=seeds)

    def work() -> None:
        if anew:
            vec.reset(seed=seeds)
        for actions in batches:
            vec.step(actions)

    return work, len(batches) * envs


def taking_turns(vec: Any, batches: list[np.ndarray]) -> Work:
    """The same by `recv` and `send`: a batch is sent on as soon as it is there, while others are stepped."""
    turns = vec.num_envs // vec.agents_per_batch
    vec.async_reset(seed=0)

    def work() -> None:
        for actions in batches:
            for _ in range(turns):
                vec.recv()
                vec.send(actions[: vec.agents_per_batch])

    return work, len(batches) * vec.num_envs


def atari(rom: str, game: str) -> Iterator[str]:
    cores = available_cpus()
    envs = ENVS_PER_CORE * cores
    make = functools.partial(pufferlib.make, f"atari-{rom}", num_envs=envs)
    vecs = {
        "VecEnv, processes": make(num_workers=cores),
        "VecEnv, processes, asynchronous": make(num_workers=2 * cores, batch_size=envs // (2 * cores)),
        "VecEnv, native": make(backend="native", backend_options={"num_threads": cores}),
        "Gymnasium's AsyncVectorEnv": gymnasium.vector.AsyncVectorEnv([functools.partial(preprocessed, game)] * envs),
    }
    batches = random_action_sets(vecs["VecEnv, processes"].single_action_space, envs, STEPS)
    fleet = Fleet(rom, cores, batches)
    works = {"bare emulators": (fleet.work, STEPS * envs)}
    for name, vec in vecs.items():
        works[name] = taking_turns(vec, batches) if name.endswith("asynchronous") else stepping(vec, envs, batches)
    yield from rows(f"atari-{rom}, {envs} envs on {cores} cores", works, "bare emulators")
    fleet.close()
    for vec in vecs.values():
        vec.close()
    batches = [batch[:1] for batch in batches]
    alone = {
        "bare emulator": (bare_emulators(rom, [0], batches, anew=True), STEPS),
        "VecEnv, serial": stepping(pufferlib.make(f"atari-{rom}"), 1, batches, anew=True),
    }
    yield from rows(f"atari-{rom}, 1 env on 1 core, CPU time", alone, "bare emulator", time.process_time)


def procgen(game: str) -> Iterator[str]:
    threads = available_cpus()
    vec = pufferlib.make(f"procgen-{game}", num_envs=WORLDS, distribution_mode="easy", num_threads=threads)
    from procgen import ProcgenGym3Env

    same = functools.partial(ProcgenGym3Env, env_name=game, distribution_mode="easy")
    bare = same(num=WORLDS, rand_seed=1, num_threads=threads)
    bare.callmethod("set_state", [same(num=1, rand_seed=seed).callmethod("get_state")[0] for seed in range(WORLDS)])
    batches = random_action_sets(vec.single_action_space, WORLDS, STEPS)

    def work() -> None:
        for actions in batches:
            bare.act(actions)
            bare.observe()

    yield from rows(
        f"procgen-{game}, {WORLDS} worlds, {threads} threads",
        {"bare gym3": (work, STEPS * WORLDS), "VecEnv": stepping(vec, WORLDS, batches)},
        "bare gym3",
    )
    bare.close()
    vec.close()


def rows(what: str, works: dict[str, Work], base: str, clock: Callable[[], float] = time.perf_counter) -> Iterator[str]:
    """Rows of the table."""
    found = best_rates(works, WINDOW_S, WINDOWS, clock)
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
