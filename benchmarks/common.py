"""What the benchmarks share: the machine's description, timed windows, and the bare C loop of a game."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

import pufferlib
from pufferlib.plugins import registry

HERE = Path(__file__).parent


def machine() -> str:
    """One line that belongs beside every figure."""
    import torch

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, Python {platform.python_version()}, torch {torch.__version__}, numpy {np.__version__}"


def rate(work: Callable[[], Any], units: float, seconds: float = 0.5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Units per second of repeated `work()`, which does `units` each time, over one window."""
    count, start = 0, clock()
    while (elapsed := clock() - start) < seconds:
        work()
        count += 1
    return count * units / elapsed


def best_rates(
    works: dict[str, tuple[Callable[[], Any], float]],
    seconds: float = 0.5,
    windows: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The best of several windows for each piece of work, taken in turn so that a noisy machine hits all alike.

    clock: `time.process_time` for work that does not wait, on a machine that does other things as well.
    """
    best = dict.fromkeys(works, 0.0)
    for work, _ in works.values():
        work()
    for _ in range(windows):
        for name, (work, units) in works.items():
            best[name] = max(best[name], rate(work, units, seconds, clock))
    return best


def random_action_sets(space: spaces.Space[Any], rows: int, count: int = 16) -> list[np.ndarray]:
    """`count` batches of random actions, made before any clock starts."""
    batched = pufferlib.Buffers.allocate(spaces.Box(0, 1, (1,)), space, count, rows).actions
    rng = np.random.default_rng(1)
    if isinstance(space, spaces.Box):
        batched[:] = rng.uniform(-1, 1, batched.shape)
    else:
        sizes = [space.n] if isinstance(space, spaces.Discrete) else space.nvec.reshape(-1)
        batched[:] = rng.integers(0, sizes[0] if batched.ndim == 2 else sizes, batched.shape)
    return list(batched)


def native_class(name: str) -> Any:
    """What the registered env `name` is made by: for a native game its NativeEnv class."""
    found = registry()
    spec = found.find_env(name)
    return found.resolve(spec.target, spec)


class BareLoop(NamedTuple):
    """What bare_loop.c prints."""

    rate: float
    """Agent-steps per second."""
    world_bytes: int
    mallocs: int
    """Allocations by the game's own code while it stepped."""


def bare_c_loop(name: str, rows: int, seconds: float = 0.5) -> BareLoop:
    """The native game `name` at its defaults, stepped by bare_loop.c: the best of three windows."""
    env = native_class(name)()
    game = env.module.rsplit(".", 1)[1].lstrip("_")
    folder = Path(importlib.import_module(env.module).__file__ or "").parent
    space, worlds = env.single_action_space, max(1, rows // env.num_agents)
    sizes = (
        "box"
        if isinstance(space, spaces.Box)
        else str(space.n)
        if isinstance(space, spaces.Discrete)
        else ",".join(map(str, space.nvec))
    )
    includes = [f"-I{path}" for path in (folder, folder.parent, pufferlib.get_include())]
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "bare"
        subprocess.run(
            [os.environ.get("CC", "cc"), "-std=c11", "-O2", "-ffp-contract=off", f'-DHEADER="{game}.h"', f"-DGAME={game}_game",
             *includes, str(HERE / "bare_loop.c"), "-o", str(program), "-lm"],
            check=True,
        )  # fmt: skip
        numbers = {a.name: a.to_c(getattr(env.args, a.name)) for a in env.arguments}
        fields = [f"{name}={float(number)}" for name, number in numbers.items() if not isinstance(number, bytes)]  # no files
        out = subprocess.run([program, str(worlds), str(seconds), sizes, *fields], check=True, capture_output=True, text=True)
    steps_per_second, world_bytes, mallocs = out.stdout.split()
    return BareLoop(float(steps_per_second), int(world_bytes), int(mallocs))
