"""What a sweep prints while it works: a line for each trial that has ended, and one that moves for those at work."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.status import Status

from pufferlib_sweep.plan import Plan
from pufferlib_sweep.results import SweepResult, results_of, trial_result
from pufferlib_sweep.runner import COST, TIME, AtWork
from pufferlib_sweep.space import SearchSpace
from pufferlib_sweep.study import STUDY_FILE

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

WIDTH = 80
TOGETHER = "\N{NO-BREAK SPACE}"
UNITS = {"seconds": "s", "steps": "steps"}


class Screen:
    """Prints to stdout; what moves goes to stderr, and only on a terminal."""

    def __init__(self, plan: Plan, study: Study, directory: Path) -> None:
        self.plan, self.study, self.directory = plan, study, directory
        self.unit = UNITS[plan.sweep.cost]
        console = Console(stderr=True)
        self.status: Status | None = console.status("starting") if console.is_terminal else None

    def begin(self, space: SearchSpace) -> None:
        """What is about to happen, and where to watch it."""
        sweep, done = self.plan.sweep, len(results_of(self.study))
        print(f"{self.plan.env_name}  {self.directory}")
        print(f"{sweep.trials} trials by {sweep.method}" + (f", {done} of them done" if done else ""))
        print(textwrap.fill(f"search over {', '.join(space)}", WIDTH, subsequent_indent="  "))
        url = sweep.storage or f"sqlite:///{self.directory / STUDY_FILE}"
        print(f"watch with: optuna-dashboard {re.sub(':[^:@/]*@', ':PASSWORD@', url)}", flush=True)

    def trial_ended(self, trial: FrozenTrial) -> None:
        """A trial's line, and its settings below."""
        result, best = trial_result(trial), SweepResult.of(self.study, "")
        head = f"trial {result.number:4d}  "
        if result.state == "failed":
            line = f"{head}failed: {result.failure}"
        else:
            line = f"{head}{'stopped at ' if result.state == 'stopped' else ''}{trial.user_attrs['metric']} {short(result.score)}"
            line += f"  cost {short(result.cost)} {self.unit}"
            if best.best_trial is not None:
                line += f"  best {short(best.best_score)} (trial {best.best_trial.number})"
        settings = textwrap.fill(spelled(result.settings), WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 12)
        if self.status is not None:
            self.status.stop()  # while it moves, what is printed would go its way, to stderr
        print(line)
        print(settings.replace(TOGETHER, " "), flush=True)
        if self.status is not None:
            self.status.start()

    def look(self, at_work: list[AtWork]) -> None:
        """The line that moves."""
        if self.status is None:
            return
        parts = []
        for work in at_work:
            curve = work.task.curve()
            last = f" {short(curve.curve[-1][1])}" if curve.curve else ""
            total = work.values.get("train.total_timesteps", self.plan.tables["train"]["total_timesteps"])
            parts.append(f"trial {work.trial.number}: {min(curve.steps / total, 1):.0%}{last}")
        self.status.update("  ".join(parts))

    def end(self, why: str) -> None:
        """Why the sweep ended, where that is not by its last trial."""
        said = {
            COST: "the trials have cost --sweep.max-cost",
            TIME: "--sweep.timeout-s is over; running trials wait for another time",
        }
        if why in said:
            print(said[why])

    def common_failure(self) -> str:
        """The error that all first trials had."""
        failures = Counter(trial.failure for trial in results_of(self.study) if trial.failure)
        failure, _ = failures.most_common(1)[0]
        number = next(trial.number for trial in results_of(self.study) if trial.failure == failure)
        log = self.directory / "logs" / f"{number:04d}.log"
        return f"the first {sum(failures.values())} trials failed alike: {failure}\n(what one of them printed: {log})"

    def __enter__(self) -> Screen:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.status is not None:
            self.status.stop()


def short(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def spelled(settings: Mapping[str, Any]) -> str:
    """Settings on a line, by their last names."""
    return "  ".join(f"{name.rpartition('.')[2]}{TOGETHER}{short(value)}" for name, value in settings.items())
