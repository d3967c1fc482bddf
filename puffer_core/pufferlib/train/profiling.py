"""Where the time of a training step goes.

The parts are measured from outside: while a `Stopwatch` is attached to a trainer, the functions of SEAMS are wrapped. So training
that nobody profiles pays nothing. A part that runs inside another counts for itself alone, and what no part covers is "other".
"""

from __future__ import annotations

import copy
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pufferlib.train import learner
from pufferlib.train.floor import BareLoop
from pufferlib.train.minibatches import Minibatches
from pufferlib.train.puffe_rl import PuffeRL

PARTS = {
    "env": "the envs step or are waited for",
    "forward": "the policy acts",
    "sample": "actions are drawn",
    "copy": "observations go to the device",
    "advantage": "advantages and value targets",
    "gather": "minibatches are put together",
    "learn forward": "the policy on minibatches",
    "loss": "losses from the policy's outputs",
    "backward": "gradients",
    "kernel": "minibatches: forward, loss and gradients, in C",
    "optimizer": "gradients are clipped, weights step",
    "other": "everything else",
}
"""The rows of the table, and what they are."""


def seams(trainer: PuffeRL) -> list[tuple[str, Any, str]]:
    """(part, owner, name of the function) of everything that is timed."""
    rollout, optimizer = trainer.rollout, trainer.optimizer
    found: list[tuple[str, Any, str]] = [
        *(("env", trainer.env, name) for name in ("async_reset", "recv", "send", "drain_log")),
        *(("forward", rollout, name) for name in ("_forward", "_value_final_observations")),
        *(("sample", trainer.distribution, name) for name in ("sample", "to_env")),
        *(("copy", rollout, name) for name in ("_copy_in", "_carry_over")),
        ("advantage", learner, "advantages"),
        ("learn forward", trainer.network, "learn"),
        ("loss", learner, "fused_losses"),
        ("loss", trainer.network, "losses"),
        ("backward", torch.Tensor, "backward"),
        ("optimizer", learner, "clip_gradients"),
        *(("optimizer", optimizer, name) for name in ("step", "step_unless", "zero_grad")),
    ]
    if trainer.native is not None:
        found.append(("kernel", trainer.native, "learn"))
    return found


class Report(NamedTuple):
    """Medians over the iterations that were measured; an iteration is one rollout and what is learnt from it."""

    steps: int
    """Agent-steps of an iteration."""
    parts: dict[str, float]
    """Seconds by part; they add up to `wall`."""
    wall: float
    """Seconds of an iteration."""
    floor: float
    """Seconds that the bare loop takes for the same rows, horizon, minibatches and epochs."""
    trace: Path
    """The Chrome trace, for chrome://tracing or ui.perfetto.dev."""


def profile(trainer: PuffeRL, trace: str | Path, iterations: int = 5, warmup: int = 2, traced: int = 1) -> Report:
    """Train `iterations` times beside the bare loop, and `traced` times more under torch's profiler.

    The trainer goes on learning meanwhile. On a GPU the parts are waited for one by one, which takes away what overlaps: there
    their sum is above what an iteration takes.
    """
    for _ in range(warmup):
        trainer.evaluate()
        trainer.train()
    config = trainer.config
    observations = trainer.rollout.observations[:-1].clone()
    bare = BareLoop(copy.deepcopy(trainer.policy), observations, config.minibatch_size, config.update_epochs)
    bare.run()
    watch, walls, floors, measured = Stopwatch(trainer.device), [], [], []
    for _ in range(iterations):
        walls.append(seconds(trainer.device, lambda: _iterate(trainer)))
        floors.append(seconds(trainer.device, bare.run))
        with watch.attached(trainer):
            measured.append(watch.measure(lambda: _iterate(trainer)))
    _trace(trainer, watch, Path(trace), traced)
    middle = sorted(measured, key=lambda parts: sum(parts.values()))[len(measured) // 2]
    return Report(config.batch_size, middle, statistics.median(walls), statistics.median(floors), Path(trace))


class Stopwatch:
    """Seconds by part. `attached(trainer)` wraps the trainer's functions while the block lasts."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.names_spans = False
        """Whether parts are also named in torch's profiler, and not waited for."""
        self._clear()

    def _clear(self) -> None:
        self.parts = dict.fromkeys(PARTS, 0.0)
        self._running = ["other"]
        self._since = time.perf_counter()

    def measure(self, work: Callable[[], Any]) -> dict[str, float]:
        """Run `work`; the seconds of each part, which add up to those that it took."""
        self._clear()
        work()
        self._turn()
        return self.parts

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What runs inside counts for that part, but for the parts inside it."""
        if self.names_spans:
            with torch.profiler.record_function(f"pufferlib: {name}"):
                yield
            return
        self._turn()
        self._running.append(name)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def _turn(self) -> None:
        """Give the time since the last turn to the part that ran."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        now = time.perf_counter()
        self.parts[self._running[-1]] += now - self._since
        self._since = now

    @contextmanager
    def attached(self, trainer: PuffeRL) -> Iterator[None]:
        """Wrap the functions of `seams`, and the drawing of minibatches."""
        undo: list[Callable[[], None]] = []
        try:
            for part, owner, name in seams(trainer):
                undo.append(_replace(owner, name, self._timed(part, getattr(owner, name))))
            undo.append(_replace(Minibatches, "epoch", self._drawn(Minibatches.epoch)))
            yield
        finally:
            for put_back in reversed(undo):
                put_back()

    def _timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.part(part):
                return function(*args, **kwargs)

        return timed

    def _drawn(self, epoch: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def drawn(*args: Any) -> Iterator[Any]:
            batches = epoch(*args)
            while True:
                with self.part("gather"):
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch

        return drawn


def seconds(device: torch.device, work: Callable[[], Any]) -> float:
    """How long `work` takes, to the end of what it started on the device."""
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def _iterate(trainer: PuffeRL) -> None:
    trainer.evaluate()
    trainer.train()


def _trace(trainer: PuffeRL, watch: Stopwatch, path: Path, iterations: int) -> None:
    activities = [torch.profiler.ProfilerActivity.CPU]
    if trainer.device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    watch.names_spans = True
    try:
        profiler = torch.profiler.profile(activities=activities, acc_events=True)
        with watch.attached(trainer), _stderr_closed(), profiler:
            for _ in range(iterations):
                _iterate(trainer)
    finally:
        watch.names_spans = False
    profiler.export_chrome_trace(str(path))


@contextmanager
def _stderr_closed() -> Iterator[None]:
    """The profiler's library prints lines for its developers there, whatever its level of logging."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _replace(owner: Any, name: str, function: Any) -> Callable[[], None]:
    """Set an attribute; the function that undoes it."""
    own = vars(owner)
    before, had = own.get(name), name in own
    setattr(owner, name, function)
    return lambda: setattr(owner, name, before) if had else delattr(owner, name)
