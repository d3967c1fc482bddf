"""`puffer bench ENV`: steps per second of the bare env, of VecEnv's back ends, and what the vectorizer costs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.env_arguments import EnvArguments, env_arguments
from pufferlib.config.run_config import Schema, Setting
from pufferlib.config.values import Kind
from pufferlib.errors import ConfigError
from pufferlib.plugins import EnvSpec, registry

HELP = """\
usage: puffer bench ENV [--num-envs N] [--num-workers N] [--seconds S] [--env.KEY VALUE]

Measure agent-steps per second with random actions: the bare env (one batch, one thread), VecEnv with the serial back end,
and the parallel back end. "of bare" is the share of the bare env's speed that is left.

--num-envs N      worlds (default: 4096 for native envs, else 8)
--num-workers N   of the parallel back end (default: one per core, if that divides num-envs)
--seconds S       of each measurement (default: 1)
"""
OPTIONS = {"num_envs": Kind("int", low=1), "num_workers": Kind("int", low=1), "seconds": Kind("float", low=0.01, high=600)}
NATIVE_ENVS, PYTHON_ENVS = 4096, 8
ACTION_SETS = 16
WINDOWS = 3
"""A measurement is the best of this many windows, since whatever else the machine does only ever slows it down."""


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    arguments.at_most(1, "puffer bench")
    if not arguments.positional:
        raise ConfigError("which environment? as in `puffer bench ocean-breakout`; `puffer list` shows all")
    spec = registry().find_env(arguments.positional[0])
    options, env = read_options(arguments, spec)
    print(table(spec, measure(spec, options, env)))
    return 0


def read_options(arguments: Arguments, spec: EnvSpec) -> tuple[dict[str, Any], dict[str, Any]]:
    """The command's own options, and the env's arguments. Raises ConfigError."""
    found: EnvArguments = env_arguments(spec)
    own = {key: Setting(kind) for key, kind in OPTIONS.items()}
    schema = Schema({**own, **found.settings}, frozenset({"env"} if found.is_open else ()))
    values = {given.key: schema.convert(given) for given in arguments.flags}
    env = {key.partition(".")[2]: value for key, value in values.items() if key.startswith("env.")}
    return {key: value for key, value in values.items() if key in OPTIONS}, found.resolve(spec.name, env, spec.kwargs)


def measure(spec: EnvSpec, options: dict[str, Any], env: dict[str, Any]) -> list[tuple[str, float, int]]:
    """(name, agent-steps per second, rows) of the bare env, then of each back end."""
    from pufferlib.makers import env_maker
    from pufferlib.vector import make_vec
    from pufferlib.vector.shape import available_cpus

    maker = env_maker(registry().resolve(spec.target, spec), {**spec.kwargs, **env})
    native = bool(getattr(getattr(maker, "func", maker), "is_native", False))
    num_envs = options.get("num_envs", NATIVE_ENVS if native else PYTHON_ENVS)
    seconds = options.get("seconds", 1.0)
    parallel = "threads" if native else "processes"
    names = {backend.name for backend in registry().backends()}
    with contextlib.ExitStack() as stack:
        batch = stack.enter_context(contextlib.closing(maker(num_envs=num_envs)))
        steps = {"bare env": bare_step(batch, num_envs)}
        for backend in [name for name in ("serial", parallel) if name in names]:
            workers = 1 if backend == "serial" else options.get("num_workers", largest_divisor(num_envs, available_cpus()))
            vec = make_vec(maker, num_envs=num_envs, num_workers=workers, backend=backend, seed=0)
            stack.enter_context(contextlib.closing(vec))
            steps[f"VecEnv {backend}" + ("" if backend == "serial" else f", {workers} workers")] = vec_step(vec)
        rates = speeds(list(steps.values()), batch.num_agents, seconds)
        return [(name, rate, batch.num_agents) for name, rate in zip(steps, rates, strict=True)]


def bare_step(batch: Any, num_envs: int) -> Callable[[int], Any]:
    """One step of a PufferEnv batch in this thread."""
    from pufferlib.vector.seeding import env_seeds

    actions = random_actions(batch.single_action_space, batch.num_agents)
    batch.reset(env_seeds(0, num_envs))
    return lambda k: batch.step(actions[k % ACTION_SETS])


def vec_step(vec: Any) -> Callable[[int], Any]:
    """One step of a VecEnv by send and recv."""
    actions = random_actions(vec.single_action_space, vec.num_agents)
    vec.async_reset(0)
    vec.recv()

    def step(k: int) -> None:
        vec.send(actions[k % ACTION_SETS])
        vec.recv()

    return step


def random_actions(space: Any, rows: int) -> list[Any]:
    """ACTION_SETS arrays of actions for all rows."""
    from gymnasium.vector.utils import batch_space

    space = batch_space(space, rows)
    space.seed(0)
    return [space.sample() for _ in range(ACTION_SETS)]


def speeds(steps: list[Callable[[int], Any]], rows: int, seconds: float) -> list[float]:
    """Agent-steps per second of each: the best of WINDOWS windows that are taken in turn, after a warm-up."""
    for step in steps:
        for k in range(3):
            step(k)
    best = [0.0] * len(steps)
    for _ in range(WINDOWS):
        for index, step in enumerate(steps):
            count, start = 0, time.perf_counter()
            while (spent := time.perf_counter() - start) < seconds / WINDOWS or not count:
                step(count)
                count += 1
            best[index] = max(best[index], count * rows / max(spent, 1e-9))
    return best


def largest_divisor(number: int, most: int) -> int:
    """The largest divisor of `number` that is at most `most`."""
    return max(k for k in range(1, max(most, 1) + 1) if number % k == 0)


def table(spec: EnvSpec, results: list[tuple[str, float, int]]) -> str:
    """The results as text."""
    bare = results[0][1]
    width = max(len(name) for name, _, _ in results)
    lines = [f"{spec.name}, {results[0][2]:,} rows, random actions", "", f"{'':<{width}}  {'agent-steps/s':>15}  {'of bare':>8}"]
    lines += [f"{name:<{width}}  {rate:>15,.0f}  {rate / bare:>8.1%}" for name, rate, _ in results]
    overhead = {name: 1e9 / rate - 1e9 / bare for name, rate, _ in results[1:] if name == "VecEnv serial"}
    lines += [f"\nthe serial vectorizer adds {max(ns, 0):,.1f} ns to each agent-step" for ns in overhead.values()]
    return "\n".join(lines)
