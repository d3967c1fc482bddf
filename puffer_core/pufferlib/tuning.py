"""autotune: which back end, how many envs, workers and batches are fastest on this machine, for a model that takes so long.

Every candidate plays several short windows, in turn with the others, so that what else the machine does hits all of them alike.
After each round those that are far behind drop out. The medians are compared; the slowest and fastest window show the noise.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from pufferlib.errors import ConfigError, PufferError
from pufferlib.vector.shape import available_cpus, divisors, whole

NATIVE_ENVS, PYTHON_ENVS = (256, 1024, 4096), (8, 32, 64)
BATCHES = (1, 2, 4)
KEEP = 0.6
"""A candidate whose median is below this share of the best one's drops out of the next round."""
ACTION_SETS = 8
WARM_UP_STEPS = 3


@dataclass
class Trial:
    """One candidate and what it reached."""

    num_envs: int
    num_workers: int
    batch_size: int
    backend: str
    rates: list[float] = field(default_factory=list)
    """Agent-steps per second, one for each window."""
    error: str = ""
    """Why it could not run."""

    @property
    def median(self) -> float:
        return statistics.median(self.rates) if self.rates else 0.0

    @property
    def low(self) -> float:
        return min(self.rates, default=0.0)

    @property
    def high(self) -> float:
        return max(self.rates, default=0.0)


@dataclass
class Tuning:
    """All candidates, the best first."""

    trials: list[Trial]
    model: str
    """What the model was taken to cost."""

    @property
    def best(self) -> Trial:
        return self.trials[0]

    @property
    def as_good(self) -> list[Trial]:
        """Those whose windows overlap with the best one's: this measurement cannot tell them apart."""
        return [trial for trial in self.trials[1:] if trial.high >= self.best.low]

    def toml(self) -> str:
        """The best settings as the `[vec]` table of a config file or preset."""
        best = self.best
        lines = ["[vec]", f"num_envs = {best.num_envs}", f"num_workers = {best.num_workers}"]
        return "\n".join([*lines, f"batch_size = {best.batch_size}", f'backend = "{best.backend}"', ""])


def autotune(
    env: Any,
    *,
    num_envs: int | Sequence[int] | None = None,
    backends: Sequence[str] | None = None,
    model_ms: float = 1.0,
    model_us_per_row: float = 0.0,
    model_on: Literal["device", "cpu"] = "device",
    seconds: float = 0.3,
    rounds: int = 3,
    report: Callable[[int, int, Trial], None] | None = None,
    **env_kwargs: Any,
) -> Tuning:
    """Measure candidates for `make`'s counts and back end.

    env: a registered name, or what `emulate` takes
    num_envs: one number or several to try; None: 256, 1024 and 4096 for native envs, else 8, 32 and 64
    backends: names to try; None: serial, and threads for native envs or processes for others
    model_ms, model_us_per_row: a policy takes model_ms milliseconds for a batch, and so many microseconds for each of its rows
    model_on: "device": the CPU rests meanwhile, as with a GPU; "cpu": it is busy, in this process
    seconds: of one window; rounds: windows of each candidate that does not drop out
    report: called after each window with (windows done, windows in all, trial)

    Actions are random. Raises ConfigError for settings that cannot be, and the first candidate's error if none of them runs.
    """
    settings = {"model_ms": model_ms, "model_us_per_row": model_us_per_row, "seconds": seconds}
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
            raise ConfigError(f"{name} must be a number of at least 0, got {value!r}")
    if not seconds:
        raise ConfigError("seconds must be above 0, got 0")
    if model_on not in ("device", "cpu"):
        raise ConfigError(f"model_on must be 'device' or 'cpu', got {model_on!r}")
    maker, native = _maker(env, env_kwargs)
    counts = (NATIVE_ENVS if native else PYTHON_ENVS) if num_envs is None else num_envs
    counts = [counts] if isinstance(counts, (int, np.integer)) else list(counts)
    trials = list(_candidates([whole("num_envs", count) for count in counts], _backends(backends, native)))
    model = functools.partial(_model, model_ms / 1e3, model_us_per_row / 1e6, model_on == "cpu")
    _play_rounds(trials, maker, model, seconds, whole("rounds", rounds), report)
    ran = sorted((trial for trial in trials if trial.rates), key=lambda trial: (-len(trial.rates), -trial.median))
    if not ran:
        raise ConfigError(f"no candidate runs; the first one, {trials[0].backend}: {trials[0].error}")
    per_row = f" and {model_us_per_row:g} us per row" if model_us_per_row else ""
    text = f"{model_ms:g} ms per batch{per_row}, on {'the CPU' if model_on == 'cpu' else 'a device'}"
    return Tuning([*ran, *(trial for trial in trials if not trial.rates)], text)


def _maker(env: Any, env_kwargs: dict[str, Any]) -> tuple[Callable[..., Any], bool]:
    from pufferlib.makers import env_maker
    from pufferlib.plugins import registry
    from pufferlib.vector import is_native

    if isinstance(env, str):
        spec = registry().find_env(env)
        maker = env_maker(registry().resolve(spec.target, spec), {**spec.kwargs, **env_kwargs})
    else:
        maker = env_maker(env, env_kwargs)
    return maker, is_native(maker)


def _backends(given: Sequence[str] | None, native: bool) -> list[str]:
    from pufferlib.plugins import registry

    names = {spec.name for spec in registry().backends()}
    if given is None:
        return [name for name in ("serial", "threads" if native else "processes") if name in names]
    for name in given:
        if name not in names:
            raise ConfigError(f"backend {name!r} is not registered; registered: {', '.join(sorted(names))}")
    if not given:
        raise ConfigError(f"backends is empty; registered: {', '.join(sorted(names))}")
    return list(given)


def _candidates(counts: Iterable[int], backends: Sequence[str]) -> Iterator[Trial]:
    """Every back end with workers up to twice the cores, and with its envs in 1, 2 and 4 batches."""
    cpus = available_cpus()
    for backend in backends:
        for count in counts:
            if backend == "serial":
                yield Trial(count, 1, count, backend)  # nothing steps in the background, so one batch is best
                continue
            wanted = {1, 2, 4, 8, 16, 32, 64, cpus, 2 * cpus}
            for workers in [w for w in divisors(count) if w in wanted and w <= 2 * cpus]:
                for batches in BATCHES:
                    if workers % batches == 0:
                        yield Trial(count, workers, count // batches, backend)


def _play_rounds(
    trials: Sequence[Trial],
    maker: Callable[..., Any],
    model: Callable[[int], None],
    seconds: float,
    rounds: int,
    report: Callable[[int, int, Trial], None] | None,
) -> None:
    left, done = list(trials), 0
    for number in range(rounds):
        for trial in left:
            try:
                trial.rates.append(_window(trial, maker, model, seconds))
            except PufferError as error:
                trial.error = str(error).partition("\n")[0]
            done += 1
            if report is not None:
                report(done, done - 1 - left.index(trial) + len(left) * (rounds - number), trial)
        best = max((trial.median for trial in left), default=0.0)
        left = [trial for trial in left if not trial.error and trial.median >= KEEP * best]


def _window(trial: Trial, maker: Callable[..., Any], model: Callable[[int], None], seconds: float) -> float:
    """Agent-steps per second of one candidate, started anew."""
    from gymnasium.vector.utils import batch_space

    from pufferlib.vector import make_vec

    vec = make_vec(
        maker, num_envs=trial.num_envs, num_workers=trial.num_workers, batch_size=trial.batch_size, backend=trial.backend, seed=0
    )
    try:
        rows = vec.agents_per_batch
        space = batch_space(vec.single_action_space, rows)
        space.seed(0)
        actions = [space.sample() for _ in range(ACTION_SETS)]
        vec.async_reset(0)
        for k in range(WARM_UP_STEPS * vec.num_batches):
            vec.recv()
            vec.send(actions[k % ACTION_SETS])
        steps, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds or not steps:
            vec.recv()
            model(rows)
            vec.send(actions[steps % ACTION_SETS])
            steps += 1
        return steps * rows / spent
    finally:
        vec.close()


def _model(seconds: float, seconds_per_row: float, busy: bool, rows: int) -> None:
    """Stands for a policy's work on one batch."""
    cost = seconds + seconds_per_row * rows
    if not busy:
        if cost:
            time.sleep(cost)
        return
    end = time.perf_counter() + cost
    while time.perf_counter() < end:
        pass
