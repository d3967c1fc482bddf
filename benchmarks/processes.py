"""The processes back end: against the vector envs of Gymnasium and Stable-Baselines3, and against its own limits.

python benchmarks/processes.py            all tables, about two minutes
python benchmarks/processes.py cartpole   one of: cartpole, atari, overlap, idle

The peers are optional: `pip install stable-baselines3`. Each bar stands beside its figure. On a machine that does other things
as well, `chrt --fifo 10` (as root) keeps them from the cores meanwhile.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import pufferlib
from common import best_rates, machine, random_action_sets, rate
from pufferlib.emulation.gymnasium import GymnasiumBatch
from pufferlib.vector import make_vec
from pufferlib.vector.shape import available_cpus

ENVS = 64
ROUNDS, ROUND_S = 7, 0.2
MILLISECOND = 0.001


def stepper(env: Any) -> Callable[[], object]:
    """A function that steps all envs by Gymnasium's vector API, or by Stable-Baselines3's."""
    space = getattr(env, "single_action_space", env.action_space)
    actions = itertools.cycle(random_action_sets(space, env.num_envs))
    env.reset()

    def step() -> None:
        env.step(next(actions))

    return step


def median_rates(works: dict[str, tuple[Callable[[], object], float]]) -> dict[str, float]:
    """The median of several windows for each piece of work, taken in turn so that a noisy machine hits all alike."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, (work, units) in works.items():
            work()
            found[name].append(rate(work, units, ROUND_S))
    return {name: statistics.median(values) for name, values in found.items()}


def pipeline(env: pufferlib.VecEnv, policy_s: float = 0.0) -> Callable[[], object]:
    """A function that takes a batch over, computes for `policy_s` and sends the batch on."""
    actions = itertools.cycle(random_action_sets(env.single_action_space, env.agents_per_batch))
    env.async_reset(seed=0)

    def turn() -> None:
        env.recv()
        spin(policy_s)
        env.send(next(actions))

    return turn


def cartpole() -> None:
    """64 CartPole-v1: in one process, and in several."""

    def make() -> Any:
        return gymnasium.make("CartPole-v1", disable_env_checker=True)

    makers = [make] * ENVS
    serial, ours = "serial", "processes, 2 workers"
    alone: dict[str, Any] = {
        serial: pufferlib.make("gym-CartPole-v1", num_envs=ENVS),
        "gymnasium SyncVectorEnv": gymnasium.vector.SyncVectorEnv(makers),
    }
    several: dict[str, Any] = {
        ours: pufferlib.make("gym-CartPole-v1", num_envs=ENVS, num_workers=2),
        "gymnasium AsyncVectorEnv, 64 processes": gymnasium.vector.AsyncVectorEnv(makers),
    }
    try:
        from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
    except ImportError:
        print("stable-baselines3 is not installed: left out")
    else:
        alone["stable-baselines3 DummyVecEnv"] = DummyVecEnv(makers)
        several["stable-baselines3 SubprocVecEnv, 64 processes"] = SubprocVecEnv(makers, start_method="fork")
        several["stable-baselines3 SubprocVecEnv, 8 processes"] = SubprocVecEnv(makers[:8], start_method="fork")
    for own, envs, bar in (
        (serial, alone, "0.9 of the bare loop, and ahead of SyncVectorEnv and DummyVecEnv"),
        (ours, several, "5 x AsyncVectorEnv and SubprocVecEnv"),
    ):
        works = {name: (stepper(env), env.num_envs) for name, env in envs.items()}
        if own == serial:
            works["bare loop"] = (bare_loop([make() for make in makers]), ENVS)
        rates = median_rates(works)
        print(f"| 64 CartPole-v1 | steps/s | {own} is |\n|---|---|---|")
        for name, reached in rates.items():
            print(f"| {name} | {reached:,.0f} | {rates[own] / reached:.2f} x |")
        print(f"bar: {bar}\n", flush=True)
        for env in envs.values():
            env.close()


def bare_loop(envs: list[Any]) -> Callable[[], object]:
    """A function that steps each env once and resets it where its episode ended: what nobody who steps them can save."""
    sets = itertools.cycle([actions.tolist() for actions in random_action_sets(envs[0].action_space, len(envs))])
    for env in envs:
        env.reset(seed=0)

    def turn() -> None:
        for env, action in zip(envs, next(sets), strict=True):
            _, _, terminal, truncation, _ = env.step(action)
            if terminal or truncation:
                env.reset()

    return turn


FRAMES = np.random.default_rng(0).integers(0, 256, (8, 84, 84)).astype(np.uint8)


class Frames(gymnasium.Env[Any, Any]):
    """Four stacked frames of Atari's size: each step drops the oldest and adds one of eight prepared ones.

    work_s: how long a step computes beside that; Atari's own emulator takes 80 us to 300 us.
    """

    observation_space, action_space = spaces.Box(0, 255, (4, 84, 84), np.uint8), spaces.Discrete(6)

    def __init__(self, work_s: float = 0.0) -> None:
        self._stack = np.zeros((4, 84, 84), np.uint8)
        self._t, self._work_s = 0, work_s

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._stack[:], self._t = 0, 0
        return self._stack, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._t += 1
        push(self._stack, self._t)
        spin(self._work_s)
        return self._stack, 0.0, False, False, {}


class FrameBatch(pufferlib.PufferEnv):
    """The same, as a batch that writes straight into the shared arrays."""

    def __init__(self, num_envs: int = 1, buf: Any = None) -> None:
        self.single_observation_space, self.single_action_space = Frames.observation_space, Frames.action_space
        self.num_envs = self.num_agents = num_envs
        self._t = 0
        super().__init__(buf)

    def reset(self, seed: Any = None) -> Any:
        self.observations[:], self._t = 0, 0
        return self.observations, []

    def step(self, actions: Any) -> Any:
        self._t += 1
        for stack in self.observations:
            push(stack, self._t)
        return self.observations, self.rewards, self.terminals, self.truncations, []


def push(stack: Any, t: int) -> None:
    stack[:-1] = stack[1:]
    stack[-1] = FRAMES[t % 8]


def produce(maker: Callable[..., Any], envs: int, seconds: float, core: int, made: Any, begin: Any) -> None:
    """What one worker does when nobody takes its results: env steps in `seconds`, on a core of its own."""
    pin(os.getpid(), core)
    batch = maker(num_envs=envs)
    batch.reset(list(range(envs)))
    actions = np.zeros(envs, np.int32)
    begin.wait()
    count, until = 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        batch.step(actions)
        count += envs
    made.put(count / seconds)


def production(maker: Callable[..., Any], workers: int, envs: int, seconds: float) -> float:
    """Steps per second of `workers` processes with `envs` each that hand nothing over."""
    context = multiprocessing.get_context("fork")
    made, begin = context.Queue(), context.Barrier(workers)
    team = [context.Process(target=produce, args=(maker, envs, seconds, core, made, begin)) for core in range(workers)]
    for process in team:
        process.start()
    total = sum(made.get() for _ in team)
    for process in team:
        process.join()
    return float(total)


def pin(pid: int, core: int) -> None:
    """Keep a process on one core, where the system can: a busy machine's scheduler now and then puts two workers on one."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(pid, {cores[core % len(cores)]})


def children() -> list[int]:
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def pinned_vec(maker: Callable[..., Any], **counts: int) -> pufferlib.VecEnv:
    """Worker processes on a core each, as those of `production`."""
    before = children()
    vec = make_vec(maker, backend="processes", **counts)
    for core, pid in enumerate(pid for pid in children() if pid not in before):
        pin(pid, core)
    return vec


def emulated_frames(num_envs: int = 1, buf: Any = None, work_s: float = 0.0) -> Any:
    return GymnasiumBatch(functools.partial(Frames, work_s), num_envs, buf)


def atari() -> None:
    """4x84x84 uint8: what reaches the parent, of what the same workers make when they hand nothing over.

    Where every process has a core, only the hand-over counts. With as many workers as cores, what the parent does also comes
    out of their time, which the workers alone have for themselves: that they reach 1 is impossible.
    """
    cores = available_cpus()
    print("| 4x84x84 uint8 | us a step | workers alone, steps/s | sync | async, a batch per worker | parent, us a batch |")
    print("|---|---|---|---|---|---|")
    kinds = {
        "PufferEnv, in place": FrameBatch,
        "emulated": emulated_frames,
        "emulated, 50 us of computing": functools.partial(emulated_frames, work_s=50e-6),
    }
    for workers, envs in ((max(cores - 1, 1), 64), (cores, 64), (cores, 256)):
        for name, maker in kinds.items():
            sync = pinned_vec(maker, num_envs=envs, num_workers=workers)
            parts = pinned_vec(maker, num_envs=envs, num_workers=workers, batch_size=envs // workers)
            works = {"sync": (stepper(sync), envs), "async": (pipeline(parts), envs // workers)}
            best_rates(works, seconds=0.1, windows=1)
            alone, shares, spent = [], {"sync": [], "async": []}, []
            for _ in range(ROUNDS):
                alone.append(production(maker, workers, envs // workers, ROUND_S))
                for work, (turn, units) in works.items():
                    begin = time.process_time()
                    made = rate(turn, units, ROUND_S)
                    spent.append((time.process_time() - begin) / (made * ROUND_S / units))
                    shares[work].append(made / alone[-1])
            for vec in (sync, parts):
                vec.close()
            made = statistics.median(alone)
            middle = {work: statistics.median(values) for work, values in shares.items()}
            print(
                f"| {name}: {envs} envs, {workers} workers, {cores} cores | {1e6 * workers / made:.1f} | {made:,.0f} "
                f"| {middle['sync']:.3f} | {middle['async']:.3f} | {1e6 * statistics.median(spent[1::2]):.1f} |",
                flush=True,
            )
    print("bar: 0.90\n", flush=True)


def spin(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


class Millisecond(gymnasium.Env[Any, Any]):
    """A step takes a millisecond, asleep (as one that waits for a game engine) or computing."""

    observation_space, action_space = spaces.Box(0, 1, (4,), np.float32), spaces.Discrete(2)

    def __init__(self, wait: Callable[[float], None] = time.sleep) -> None:
        self._wait, self._obs = wait, np.zeros(4, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self._obs, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._wait(MILLISECOND)
        return self._obs, 0.0, False, False, {}


def overlap() -> None:
    """A 1 ms env with a 1 ms policy: while the policy thinks about one batch, the other env steps.

    Perfect: a batch per millisecond. An env that computes then keeps one core busy and the policy another.
    """
    print("| 1 ms env, 1 ms policy | batches/s | of perfect overlap |\n|---|---|---|")
    for name, wait in (("env waits", time.sleep), ("env computes", spin)):
        vecs = {
            "sync, 1 env": pufferlib.emulate(Millisecond, num_envs=1, backend="processes", wait=wait),
            "async, 2 envs": pufferlib.emulate(Millisecond, num_envs=2, num_workers=2, batch_size=1, wait=wait),
        }
        env = Millisecond(wait)
        works = {kind: (pipeline(vec, MILLISECOND), 1) for kind, vec in vecs.items()}
        rates = median_rates({"env": (lambda env=env: env.step(0), 1), "policy": (lambda: spin(MILLISECOND), 1), **works})
        perfect = min(rates["policy"], rates["env"] * (2 if wait is time.sleep else 1))
        for kind, vec in vecs.items():
            print(f"| {name}, {kind} | {rates[kind]:,.0f} | {rates[kind] / perfect:.3f} |", flush=True)
            vec.close()
    print("bar: async 0.90; sync cannot overlap: 0.5\n", flush=True)


def idle() -> None:
    """The workers' processor time while nobody gives them work."""
    vec = pufferlib.emulate(Frames, num_envs=8, num_workers=8)
    vec.reset()
    time.sleep(1.0)
    pids = children()

    def used() -> float:
        ticks = 0
        for pid in pids:
            with open(f"/proc/{pid}/stat") as file:
                ticks += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    before, begin = used(), time.perf_counter()
    time.sleep(3.0)
    share = (used() - before) / (time.perf_counter() - begin) / len(pids)
    vec.close()
    print(f"{len(pids)} idle workers: {100 * share:.2f} % of a core each (bar 2 %)", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    tables = {"cartpole": cartpole, "atari": atari, "overlap": overlap, "idle": idle}
    print(f"{machine()}\n")
    for name in sys.argv[1:] or tables:
        tables[name]()


if __name__ == "__main__":
    main()
