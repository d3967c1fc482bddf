"""One trial at work: a training run, several with different seeds, or a function of the user's own."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Protocol

from pufferlib_sweep.launch import Launcher
from pufferlib_sweep.outcome import Outcome, Progress, TrialError, average, checked
from pufferlib_sweep.plan import Plan
from pufferlib_sweep.process import kill_group, wait_until_gone

Objective = Callable[[dict[str, Any]], Any]
"""From a trial's values to {"score": ..., "cost": ...}, or to the score alone."""


class Task(Protocol):
    """What the runner asks of a trial at work."""

    group: int
    """The process group to look for should this process be killed; 0: there is none on this machine."""
    place: str
    """Where its runs lie, relative to the sweep's directory; empty for a function."""
    blocks: bool
    """Whether `poll` is where the work is done, which Ctrl-C has to break."""

    def poll(self) -> Outcome | None:
        """How it ended, or None while it goes on. Raises ConfigError where no trial could ever do better."""

    def curve(self) -> Outcome:
        """The curve so far, with neither score nor failure."""

    def stop(self) -> None:
        """Ask it to end cleanly; `poll` then gives what it came to."""

    def close(self) -> None:
        """Nothing of it is left when this returns."""


class TrainTask:
    """Training with the settings of one trial, `seeds_per_trial` times one after the other."""

    blocks = False

    def __init__(self, plan: Plan, name: str, values: Mapping[str, Any], metric: str, launcher: Launcher, slot: int) -> None:
        self.plan, self.name, self.values, self.metric = plan, name, values, metric
        self.launcher, self.slot = launcher, slot
        self.place = f"trials/{name}"
        self.finished: list[Outcome] = []
        self.stopping = False
        self.began = time.monotonic()
        self.begin()

    def begin(self) -> None:
        """Start the run of the next seed."""
        seed, several = len(self.finished), self.plan.sweep.seeds_per_trial > 1
        tables = self.plan.trial_tables(self.values, seed)
        total, num_envs = int(tables["train"]["total_timesteps"]), int(tables["vec"]["num_envs"])
        self.progress = Progress(self.metric, self.plan.sweep.cost, total, left_out=num_envs)
        self.last_sign = time.monotonic()
        self.run = self.launcher.launch(
            f"{self.name}/seed-{tables['train']['seed']}" if several else self.name, tables, self.slot
        )
        self.group = getattr(self.run, "pid", 0)

    def poll(self) -> Outcome | None:
        """How it ended, or None while it goes on."""
        how = self.run.ended()
        try:
            rows = self.run.rows()
            self.progress.add(rows)
            self.metric = self.progress.metric
            if how is None:
                self.check_time(bool(rows))
                return None
            self.run.close()
            if how and not self.stopping:
                raise TrialError(how)
            self.finished.append(self.progress.outcome(stopped=self.stopping))
        except TrialError as error:
            self.close()
            spent = sum(outcome.cost for outcome in self.finished) + self.progress.cost
            return Outcome(cost=spent, steps=self.progress.step, metric=self.metric, failure=str(error), stopped=self.stopping)
        if self.stopping or len(self.finished) == self.plan.sweep.seeds_per_trial:
            return average(self.finished)
        self.begin()
        return None

    def check_time(self, is_new: bool) -> None:
        """Raise TrialError for a trial that hangs, or takes too long."""
        now, sweep = time.monotonic(), self.plan.sweep
        if self.run.waits:
            self.began = now
        if is_new or self.run.waits:
            self.last_sign = now
        if sweep.hang_timeout_s and now - self.last_sign > sweep.hang_timeout_s:
            raise TrialError(f"hangs: no row of metrics for {sweep.hang_timeout_s:g} s (--sweep.hang-timeout-s)")
        if sweep.trial_timeout_s and now - self.began > sweep.trial_timeout_s:
            raise TrialError(f"took longer than {sweep.trial_timeout_s:g} s (--sweep.trial-timeout-s)")

    def curve(self) -> Outcome:
        """The curve of the first seed's run so far; later ones are compared when all have ended."""
        parts = [] if self.finished else self.progress.parts()
        return Outcome(
            cost=self.progress.cost, steps=self.progress.step, metric=self.metric,
            curve=[[part.cost, part.value] for part in parts], curve_steps=[part.step for part in parts],
        )  # fmt: skip

    def stop(self) -> None:
        """Ask the run to end its step, save and end."""
        self.stopping = True
        self.run.stop()

    def close(self) -> None:
        """Nothing of it is left when this returns."""
        self.run.close()


class FunctionTask:
    """A function of the user's own, called in this process when it is first polled."""

    group = 0
    place = ""
    blocks = True

    def __init__(self, objective: Objective, values: Mapping[str, Any]) -> None:
        self.objective, self.values = objective, dict(values)
        self.stopping = False

    def poll(self) -> Outcome | None:
        """Call it."""
        if self.stopping:
            return Outcome(failure="interrupted")
        began = time.monotonic()
        try:
            return returned(self.objective(self.values), time.monotonic() - began)
        except Exception as error:
            return Outcome(cost=time.monotonic() - began, failure=one_line(error))

    def curve(self) -> Outcome:
        """There is none."""
        return Outcome()

    def stop(self) -> None:
        """It is not called any more; while it is at work, Ctrl-C stops it as any function."""
        self.stopping = True

    def close(self) -> None:
        """Nothing is left of it."""


class IsolatedTask:
    """A function of the user's own, called in a process of its own that a crash or a hang harms alone."""

    place = ""
    blocks = False

    def __init__(self, objective: Objective, values: Mapping[str, Any], timeout_s: float = 0.0) -> None:
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("fork" if "fork" in methods else None)  # by fork a function need not be importable
        self.answer, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=call, args=(objective, dict(values), theirs))
        self.began, self.timeout_s = time.monotonic(), timeout_s
        self.process.start()
        theirs.close()
        self.group = self.process.pid or 0

    def poll(self) -> Outcome | None:
        """What it answered, or how its process died."""
        seconds = time.monotonic() - self.began
        try:
            if self.answer.poll():
                try:
                    failure, result = self.answer.recv()
                except EOFError:
                    self.process.join()
                    raise TrialError(f"its process died with exit code {self.process.exitcode}") from None
                if failure:
                    raise TrialError(failure)
                outcome = returned(result, seconds)
            elif self.timeout_s and seconds > self.timeout_s:
                raise TrialError(f"took longer than {self.timeout_s:g} s")
            else:
                return None
        except TrialError as error:
            outcome = Outcome(cost=seconds, failure=str(error))
        self.close()
        return outcome

    def curve(self) -> Outcome:
        """There is none."""
        return Outcome()

    def stop(self) -> None:
        """A function cannot end early: its process is killed."""
        self.process.kill()

    def close(self) -> None:
        """Kill what is left of its process group."""
        self.process.kill()
        kill_group(self.group)
        self.process.join()
        wait_until_gone(self.group)


def call(objective: Objective, values: dict[str, Any], answer: Connection) -> None:
    """Inside the process of an IsolatedTask."""
    if hasattr(os, "setsid"):
        os.setsid()
    try:
        answer.send(("", objective(values)))
    except Exception as error:
        answer.send((one_line(error), None))


def returned(result: Any, seconds: float) -> Outcome:
    """What a function returned, as an outcome. Raises TrialError."""
    given = result if isinstance(result, Mapping) else {"score": result}
    if given.get("score") is None:
        raise TrialError("returned no score")
    score, cost = checked(given["score"], "score"), checked(given.get("cost", seconds), "cost")
    if cost < 0:
        raise TrialError(f"cost={cost} is below 0")
    curve = [[checked(part[0], "cost"), checked(part[1], "score")] for part in given.get("curve", [])]
    return Outcome(score, cost, curve=curve, curve_steps=list(range(1, len(curve) + 1)))


def one_line(error: BaseException) -> str:
    """An exception's type and the first line of its message."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:500].rstrip(": ")
