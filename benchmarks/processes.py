"""The processes back end: against the vector envs of Gymnasium and Stable-Baselines3, and against its own limits.

python benchmarks/processes.py            all tables, about a minute
python benchmarks/processes.py cartpole   one of: cartpole, atari, overlap, idle

The peers are optional: `pip install stable-baselines3`. Each bar stands beside its figure.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import pufferlib
from common import best_rates, machine, random_action_sets
from pufferlib.emulation.gymnasium import GymnasiumBatch
from pufferlib.vector import make_vec

ENVS = 64


def stepper(env: Any, steps: int = 1) -> Callable[[], object]:
    """A function that steps all envs by Gymnasium's vector API, or by Stable-Baselines3's."""
    space = getattr(env, "single_action_space", env.action_space)
    actions = itertools.cycle(random_action_sets(space, env.num_envs))
    env.reset()

    def step() -> None:
        for _ in range(steps):
            env.step(next(actions))

    return step


def pipeline(env: pufferlib.VecEnv) -> Callable[[], object]:
    """A function that hands one batch over and sends it on."""
    actions = itertools.cycle(random_action_sets(env.single_action_space, env.agents_per_batch))
    env.async_reset(seed=0)

    def turn() -> None:
        env.recv()
        env.send(next(actions))

    return turn


def cartpole() -> None:
    """64 CartPole-v1."""
    works, close = {}, []

    def add(name: str, env: Any, units: int = ENVS) -> None:
        works[name] = (stepper(env), units)
        close.append(env.close)

    def make() -> Any:
        return gymnasium.make("CartPole-v1", disable_env_checker=True)

    add("serial", pufferlib.make("gym-CartPole-v1", num_envs=ENVS))
    ours = "processes, 2 workers"
    add(ours, pufferlib.make("gym-CartPole-v1", num_envs=ENVS, num_workers=2))
    add("gymnasium AsyncVectorEnv, 64 processes", gymnasium.vector.AsyncVectorEnv([make] * ENVS))
    try:
        from stable_baselines3.common.vec_env import SubprocVecEnv
    except ImportError:
        print("stable-baselines3 is not installed: left out")
    else:
        add("stable-baselines3 SubprocVecEnv, 64 processes", SubprocVecEnv([make] * ENVS, start_method="fork"))
        add("stable-baselines3 SubprocVecEnv, 8 processes", SubprocVecEnv([make] * 8, start_method="fork"), 8)
    best = best_rates(works, seconds=1.0)
    for end in close:
        end()
    print("| 64 CartPole-v1 | steps/s | processes is |\n|---|---|---|")
    for name, rate in best.items():
        print(f"| {name} | {rate:,.0f} | {best[ours] / rate:.1f} x |")
    print("bar: 5 x AsyncVectorEnv and SubprocVecEnv\n", flush=True)


FRAMES = np.random.default_rng(0).integers(0, 256, (8, 84, 84)).astype(np.uint8)


class Frames(gymnasium.Env[Any, Any]):
    """Four stacked frames of Atari's size: each step drops the oldest and adds one of eight prepared ones."""

    observation_space, action_space = spaces.Box(0, 255, (4, 84, 84), np.uint8), spaces.Discrete(6)

    def __init__(self) -> None:
        self._stack = np.zeros((4, 84, 84), np.uint8)
        self._t = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._stack[:], self._t = 0, 0
        return self._stack, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._t += 1
        push(self._stack, self._t)
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


def produce(maker: Callable[..., Any], envs: int, seconds: float, made: Any, begin: Any) -> None:
    """What one worker does when nobody takes its results: env steps in `seconds`."""
    batch = maker(num_envs=envs)
    batch.reset(list(range(envs)))
    actions = np.zeros(envs, np.int32)
    begin.wait()
    count, until = 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        batch.step(actions)
        count += envs
    made.put(count / seconds)


def production(maker: Callable[..., Any], workers: int, envs: int, seconds: float = 1.0) -> float:
    """Steps per second of `workers` processes that hand nothing over."""
    context = multiprocessing.get_context("fork")
    made, begin = context.Queue(), context.Barrier(workers)
    team = [context.Process(target=produce, args=(maker, envs, seconds, made, begin)) for _ in range(workers)]
    for process in team:
        process.start()
    total = sum(made.get() for _ in team)
    for process in team:
        process.join()
    return float(total)


def emulated_frames(num_envs: int = 1, buf: Any = None) -> Any:
    return GymnasiumBatch(Frames, num_envs, buf)


def atari(envs: int) -> None:
    """4x84x84 uint8: what reaches the parent, of what the workers can produce."""
    print(f"| {envs} envs with 4x84x84 uint8, 2 workers | steps/s | of what the workers produce alone |\n|---|---|---|")
    for name, maker in (("emulated Gymnasium env", emulated_frames), ("PufferEnv, in place", FrameBatch)):
        sync = make_vec(maker, num_envs=envs, num_workers=2, backend="processes")
        halves = make_vec(maker, num_envs=envs, num_workers=2, batch_size=envs // 2, backend="processes")
        works = {"sync": (stepper(sync), envs), "async, batches of half": (pipeline(halves), envs // 2)}
        alone, best = 0.0, dict.fromkeys(works, 0.0)
        for _ in range(6):
            alone = max(alone, production(maker, 2, envs // 2, 0.5))
            for work, rate in best_rates(works, seconds=0.5, windows=1).items():
                best[work] = max(best[work], rate)
        print(f"| {name}: workers alone | {alone:,.0f} | 1 |")
        for work, rate in best.items():
            print(f"| {name}: {work} | {rate:,.0f} | {rate / alone:.3f} |", flush=True)
        for vec in (sync, halves):
            vec.close()
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
        self._wait(0.001)
        return self._obs, 0.0, False, False, {}


def overlap() -> None:
    """A 1 ms env with a 1 ms policy: while the policy thinks about one batch, the other env steps."""
    print("| 1 ms env, 1 ms policy | batches/s | perfect overlap | of it |\n|---|---|---|---|")
    for name, wait in (("env waits", time.sleep), ("env computes", spin)):
        vecs = {
            "sync": pufferlib.emulate(Millisecond, num_envs=1, backend="processes", wait=wait),
            "async": pufferlib.emulate(Millisecond, num_envs=2, num_workers=2, batch_size=1, wait=wait),
        }
        turns = {kind: pipeline(vec) for kind, vec in vecs.items()}

        def both(turn: Callable[[], object]) -> Callable[[], object]:
            return lambda: (spin(0.001), turn())

        env = Millisecond(wait)
        best = best_rates(
            {"policy": (lambda: spin(0.001), 1), "env": (lambda env=env: env.step(0), 1),
             "sync": (both(turns["sync"]), 1), "async": (both(turns["async"]), 1)}
        )  # fmt: skip
        perfect = min(best["policy"], 2 * best["env"])
        for kind in ("sync", "async"):
            print(f"| {name}, {kind} | {best[kind]:,.0f} | {perfect:,.0f} | {best[kind] / perfect:.3f} |", flush=True)
        for vec in vecs.values():
            vec.close()
    print("bar: async 0.90; sync, of one env, cannot overlap: 0.5\n", flush=True)


def idle() -> None:
    """The workers' processor time while nobody gives them work."""
    vec = pufferlib.emulate(Frames, num_envs=8, num_workers=8)
    vec.reset()
    time.sleep(1.0)
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
        pids = file.read().split()

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
