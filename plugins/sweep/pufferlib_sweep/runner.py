"""The loop of a sweep: ask for the next trial, watch those at work, record how they end, until the sweep is over.

One process, one thread. Several such processes, on one machine or many, may share a study: Optuna's storage hands out the
trials' numbers, so none is there twice.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from pufferlib.errors import ConfigError
from pufferlib_sweep.outcome import Outcome
from pufferlib_sweep.process import plain_line
from pufferlib_sweep.settings import SweepConfig
from pufferlib_sweep.space import SearchSpace
from pufferlib_sweep.study import BEAT_S, SURPLUS, Owner, counts, set_aside, set_lost_aside
from pufferlib_sweep.tasks import Task

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

POLL_S = 0.05
"""Between two looks at the trials. A look costs a stat call for each."""
SAME_FAILURES = 5
"""So many trials that fail alike before any other has ended mean that none will do better."""
FINISHED, COST, TIME, INTERRUPTED, FAILING = "finished", "cost", "time", "interrupted", "failing"
"""Why a sweep ended."""


@dataclass
class AtWork:
    """A trial that this process runs."""

    trial: Trial
    task: Task
    values: dict[str, Any]
    slot: int
    began: float = field(default_factory=time.monotonic)
    beat: float = field(default_factory=time.monotonic)
    group: int = 0
    reported: int = 0
    stopped_why: str = ""


class Sweep:
    """A sweep at work.

    start: makes the task of a trial from its number, its values, the metric (`auto` until one trial has told) and a slot
    should_stop: whether a trial, with its curve so far in its attributes, is to end early
    on_end: called with every trial that has ended, after its outcome is recorded
    """

    def __init__(
        self,
        study: Study,
        space: SearchSpace,
        config: SweepConfig,
        start: Callable[[int, dict[str, Any], str, int], Task],
        *,
        should_stop: Callable[[Study, Trial, Outcome], bool] | None = None,
        on_end: Callable[[FrozenTrial], None] = lambda trial: None,
        on_look: Callable[[list[AtWork]], None] = lambda at_work: None,
    ) -> None:
        self.study, self.space, self.config, self.start = study, space, config, start
        self.should_stop, self.on_end, self.on_look = should_stop, on_end, on_look
        self.at_work: list[AtWork] = []
        self.owner = Owner()
        self.stop_signal = 0
        """The number of the signal that asked `run` to stop."""
        self.failures: list[str] | None = []
        """Of this process's trials, until one does not fail."""
        self.looked_for_lost = 0.0
        self.began = time.monotonic()

    def run(self) -> str:
        """Until the sweep is over. Returns why it is. Raises ConfigError where no trial could ever do better."""
        with Signals() as signals:
            try:
                return self.loop(signals)
            except KeyboardInterrupt:
                return INTERRUPTED
            finally:
                self.stop_signal = signals.first
                self.end_all(signals)

    def loop(self, signals: Signals) -> str:
        """Start, look, record."""
        why = ""
        while True:
            if signals.count:
                return INTERRUPTED
            if self.config.timeout_s and time.monotonic() - self.began > self.config.timeout_s:
                return TIME
            self.look_for_lost()
            while not why and len(self.at_work) < self.config.parallel:
                why = self.why_no_more() or self.begin()
            if not self.at_work:
                if why != FINISHED or not self.is_short():
                    return why
                why = ""  # a trial elsewhere was set aside after this process had counted it
            for work in list(self.at_work):
                self.look(work, signals)
            self.on_look(self.at_work)
            if self.failures is not None and len(self.failures) >= SAME_FAILURES and len({*map(plain_line, self.failures)}) == 1:
                return FAILING
            time.sleep(POLL_S)

    def counted(self) -> list[FrozenTrial]:
        """The trials that count, of all processes."""
        return [trial for trial in self.study.get_trials(deepcopy=False) if counts(trial)]

    def is_short(self) -> bool:
        """Whether trials are missing still."""
        return len(self.counted()) < self.config.trials

    def why_no_more(self) -> str:
        """Why no further trial starts, empty if one may."""
        trials = self.counted()
        if len(trials) >= self.config.trials:
            return FINISHED
        spent = sum(float(trial.user_attrs.get("cost", 0.0)) for trial in trials) * self.config.seeds_per_trial
        return COST if self.config.max_cost and spent >= self.config.max_cost else ""

    def begin(self) -> str:
        """Ask for a trial and start it. Returns why there is none, if others have taken the last one meanwhile."""
        trial = self.study.ask()
        trial.set_user_attr("owner", self.owner.attribute())
        frozen = self.study.get_trials(deepcopy=False)
        if sum(counts(other) and other.number < trial.number for other in frozen) >= self.config.trials:
            set_aside(self.study, frozen[trial.number], SURPLUS, again=False)
            return FINISHED
        values = self.space.suggest(trial)
        trial.set_user_attr("settings", values)
        slot = min(set(range(self.config.parallel)) - {work.slot for work in self.at_work})
        task = self.start(trial.number, values, self.study.user_attrs.get("metric", self.config.metric), slot)
        if task.place:
            trial.set_user_attr("run_dir", task.place)
        self.at_work.append(AtWork(trial, task, values, slot))
        self.tell_owner(self.at_work[-1])
        return ""

    def look(self, work: AtWork, signals: Signals) -> None:
        """Record what is new of a trial."""
        with signals.breaking(work.task.blocks):
            outcome = work.task.poll()
        if outcome is not None:
            self.at_work.remove(work)
            self.record(work, outcome)
            return
        if time.monotonic() - work.beat > BEAT_S or work.task.group != work.group:
            self.tell_owner(work)
        curve = work.task.curve()
        if len(curve.curve) > work.reported + 1:  # the last part is not whole yet
            self.report(work, curve, len(curve.curve) - 1)
            if self.should_stop and not work.stopped_why and self.should_stop(self.study, work.trial, curve):
                work.stopped_why = "early"
                work.task.stop()

    def tell_owner(self, work: AtWork) -> None:
        """Say that this process still works at the trial."""
        work.beat, work.group = time.monotonic(), work.task.group
        work.trial.set_user_attr("owner", self.owner.attribute(work.group))

    def report(self, work: AtWork, curve: Outcome, upto: int) -> None:
        """Hand further parts of the curve to Optuna, for its dashboard and pruners."""
        for (_, score), step in zip(curve.curve[work.reported : upto], curve.curve_steps[work.reported : upto], strict=True):
            work.trial.report(score, step)
        work.reported = max(work.reported, upto)

    def record(self, work: AtWork, outcome: Outcome) -> None:
        """Write the end of a trial down; once told to the study it cannot be lost."""
        from optuna.trial import TrialState

        trial = work.trial
        for name, value in attributes(outcome, time.monotonic() - work.began).items():
            trial.set_user_attr(name, value)
        if outcome.metric not in ("", "auto") and "metric" not in self.study.user_attrs and not outcome.failure:
            self.study.set_user_attr("metric", outcome.metric)
        if outcome.failure:
            told = self.study.tell(trial, state=TrialState.FAIL)
        else:
            self.report(work, outcome, len(outcome.curve))
            early = outcome.stopped and outcome.curve
            told = self.study.tell(trial, state=TrialState.PRUNED) if early else self.study.tell(trial, outcome.score)
        if not outcome.failure:
            self.failures = None
        elif self.failures is not None:
            self.failures.append(outcome.failure)
        self.on_end(told)

    def look_for_lost(self) -> None:
        """Set trials aside whose process was killed, now and then."""
        now = time.monotonic()
        if not self.looked_for_lost or now - self.looked_for_lost > BEAT_S:
            self.looked_for_lost = now
            set_lost_aside(self.study, self.owner)

    def end_all(self, signals: Signals) -> None:
        """Stop what still runs, cleanly, unless Ctrl-C comes once more; these trials are tried again later."""
        asked = signals.count
        for work in self.at_work:
            work.task.stop()
        try:
            while signals.count <= asked and any(still_at_work(work) for work in self.at_work):
                time.sleep(POLL_S)
        finally:
            for work in self.at_work:
                work.task.close()
            for work in self.at_work:
                frozen = self.study.get_trials(deepcopy=False)[work.trial.number]
                set_aside(self.study, frozen, "interrupted")
            self.at_work = []


def still_at_work(work: AtWork) -> bool:
    """Whether a task that was asked to stop has not ended yet."""
    try:
        return work.task.poll() is None
    except ConfigError:
        return False


def attributes(outcome: Outcome, seconds: float) -> dict[str, Any]:
    """What a trial keeps in `user_attrs` of its outcome."""
    kept = {"cost": outcome.cost, "steps": outcome.steps, "seconds": seconds}
    if outcome.failure:
        return {**kept, "failure": outcome.failure}
    whole = asdict(outcome)
    return {**kept, **{name: whole[name] for name in ("score", "metric", "curve", "curve_steps", "stopped")}}


class Signals:
    """A context manager that counts Ctrl-C and SIGTERM; inside `breaking` they are a KeyboardInterrupt as well.

    first: the number of the one that came first, 0 before
    """

    def __init__(self) -> None:
        self.count = self.first = 0
        self.breaks = False
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():  # Python allows handlers nowhere else
            self.before = {number: signal.signal(number, self.handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The handler."""
        self.count += 1
        self.first = self.first or number
        if self.breaks:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def breaking(self, breaks: bool) -> Iterator[None]:
        """For what may take long, such as a function of the user's own."""
        self.breaks = breaks
        try:
            yield
        finally:
            self.breaks = False


def directory_name(number: int, trials: Path) -> str:
    """The name of a trial's run below `trials`; another one where an earlier study has left such a directory."""
    name, count = f"{number:04d}", 2
    while (trials / name).exists():
        name, count = f"{number:04d}-{count}", count + 1
    return name
