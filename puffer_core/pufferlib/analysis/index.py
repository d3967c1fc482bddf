"""The runs on disk: where they are, what each one is, and how far it came.

A run is a folder with a config.toml that names an env, or with a metrics.jsonl. What is torn, missing or foreign harms nobody
else: such a folder is listed with the reason, or left out with it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pufferlib.config.files import flat, read_toml
from pufferlib.config.run_config import RECORD_TABLE
from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ConfigError
from pufferlib.train.best import EPISODES, PREFIX, Ranking
from pufferlib.train.run_dir import RunDirectory

State = Literal["running", "finished", "stopped", "failed"]
Row = dict[str, float]
INNER = frozenset({"checkpoints", "snapshots", "videos", "__pycache__"})
"""Folders in which no run is looked for."""
NUMBER_TYPES = frozenset({int, float})
SPEED = "SPS"


@dataclass(frozen=True)
class Run:
    """One run's directory. Its settings are read once, its rows whenever they are asked for: a thousand runs fit in memory."""

    path: Path
    settings: Mapping[str, Any]
    """By dotted key, such as train.learning_rate; {} where config.toml is missing or damaged."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Of the run itself: command line, start, resumes, versions."""
    problem: str = ""
    """Why the settings are not known."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name

    @property
    def env(self) -> str:
        """The env's name; ? where it is not known."""
        return str(self.settings.get("env_name", "?"))

    @property
    def tag(self) -> str:
        """The word that was given with --tag."""
        return str(self.settings.get("tag", ""))

    @property
    def policy(self) -> str:
        """The policy's name; ? where it is not known."""
        return str(self.settings.get("policy.name", "?"))

    @property
    def total_steps(self) -> int | None:
        """train.total_timesteps."""
        total = self.settings.get("train.total_timesteps")
        return int(total) if isinstance(total, (int, float)) else None

    @property
    def best_metric(self) -> str:
        """What tells which checkpoint is best, as `Ranking` takes it."""
        metric = self.settings.get("train.best_metric", TrainConfig.best_metric)
        return metric if isinstance(metric, str) else TrainConfig.best_metric

    @cached_property
    def started(self) -> float:
        """Seconds since 1970: when the run began, or, where that is not recorded, when its metrics or its folder changed."""
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return datetime.strptime(self.record["started"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
        for path in (self.directory.metrics_file, self.path):
            with contextlib.suppress(OSError):
                return path.stat().st_mtime
        return 0.0

    @property
    def directory(self) -> RunDirectory:
        """The files."""
        return RunDirectory(self.path)

    def rows(self) -> list[Row]:
        """The rows of metrics.jsonl, one a step, by rising steps: finite numbers only, torn lines left out.

        Of two rows of one step the later stands: it is of the process that went on.
        """
        try:
            found = self.directory.rows()
        except OSError:
            return []
        rows = {row["global_step"]: row for row in map(numbers, found) if "global_step" in row}
        return [rows[step] for step in sorted(rows)]

    def summary(self, metric: str = "") -> Summary:
        """How far it came. metric: what `last` and `best` are of, as `Ranking` takes it; by default the run's own."""
        return summarise(self, metric or self.best_metric)


@dataclass(frozen=True)
class Summary:
    """A run in figures.

    last, best: of `metric`, means over 100 episodes or a few more (see `pufferlib.train.best`): the last ones, the best ones
    metrics: by name as in metrics.jsonl. Episode statistics: means over the last 100 episodes; SPS: steps over uptime; others: of
    the last row
    """

    run: Run
    state: State
    steps: int
    metric: str | None
    last: float | None
    best: float | None
    metrics: Mapping[str, float]
    checkpoints: int

    @property
    def speed(self) -> float | None:
        """Agent-steps per second of training."""
        return self.metrics.get(SPEED)

    @property
    def episodes(self) -> Mapping[str, float]:
        """The episode statistics alone, by their short names."""
        return {key.removeprefix(PREFIX): value for key, value in self.metrics.items() if key.startswith(PREFIX)}

    def as_json(self) -> dict[str, Any]:
        """Plain values for --json."""
        run = self.run
        return {
            "run": str(run.path), "name": run.name, "env": run.env, "tag": run.tag, "policy": run.policy, "state": self.state,
            "steps": self.steps, "total_steps": run.total_steps, "started": iso(run.started), "metric": self.metric,
            "last": self.last, "best": self.best, "sps": self.speed, "checkpoints": self.checkpoints, "problem": run.problem,
            "metrics": dict(self.metrics), "settings": dict(run.settings),
        }  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a search found: runs, newest first, and folders that look like runs and are none, with the reason."""

    runs: list[Run]
    skipped: list[tuple[Path, str]]


def find_all(root: str | Path) -> Found:
    """Every run in a folder and below it, the trials of sweeps among them. Raises ConfigError if there is no such folder."""
    top = Path(root)
    if not top.is_dir():
        raise ConfigError(f"--root {root}: there is no such folder; runs lie in ./runs, or where --run-dir put them")
    runs: list[Run] = []
    skipped: list[tuple[Path, str]] = []
    for path in candidates(top):
        run = read_run(path)
        if is_foreign(run):
            skipped.append((path, run.problem))
        else:
            runs.append(run)
    return Found(sorted(runs, key=lambda run: (run.started, str(run.path)), reverse=True), skipped)


def candidates(top: Path) -> Iterator[Path]:
    """Folders that hold a config.toml or a metrics.jsonl. Links are not followed; what cannot be read is passed over."""
    for folder, inner, files in os.walk(top):
        inner[:] = sorted(name for name in inner if name not in INNER and not name.startswith("."))
        if "config.toml" in files or "metrics.jsonl" in files:
            yield Path(folder)


def read_run(path: str | Path) -> Run:
    """The run in that folder. Never raises: what is wrong stands in `problem`."""
    directory = RunDirectory(Path(path))
    content: dict[str, Any] = {}
    problem = ""
    if not directory.config_file.is_file():
        problem = "no config.toml"
    else:
        try:
            content = read_toml(directory.config_file)
        except ConfigError as error:
            problem = str(error).removeprefix(f"{directory.config_file}: ").splitlines()[0]
            problem = f"config.toml {problem}"
    if not problem and not isinstance(content.get("env_name"), str):
        content, problem = {}, "config.toml names no env"
    record = content.pop(RECORD_TABLE, {})
    return Run(directory.path, flat(content), record if isinstance(record, dict) else {}, problem)


def is_foreign(run: Run) -> bool:
    """Whether nothing but a config.toml that is not ours speaks for its being a run."""
    return bool(run.problem) and not run.directory.metrics_file.is_file()


def numbers(row: Mapping[str, Any]) -> Row:
    """The finite numbers of a row."""
    if NUMBER_TYPES.issuperset(map(type, row.values())) and math.isfinite(sum(row.values())):
        return dict(row)  # all of them, as in every row that training writes
    return {
        key: value for key, value in row.items() if type(value) in (int, float) and math.isfinite(value)
    }  # fmt: skip


def summarise(run: Run, metric: str) -> Summary:
    """Read a run's metrics once."""
    rows = run.rows()
    steps = int(rows[-1]["global_step"]) if rows else 0
    ranking = Ranking(metric, rows)
    ranked = ranking.best(int(row["global_step"]) for row in rows)
    checkpoints = run.directory.checkpoints()
    return Summary(
        run=run,
        state=state_of(run, steps, checkpoints),
        steps=steps,
        metric=ranking.name,
        last=ranking.value(steps),
        best=ranking.value(ranked[0]) if ranked else None,
        metrics=final_metrics(rows),
        checkpoints=len(checkpoints),
    )


def state_of(run: Run, steps: int, checkpoints: Sequence[Path]) -> State:
    """running: a process holds it. finished: all steps are done, or training ended itself and drew its curve.

    stopped: it ended before, with a checkpoint of its last row, as Ctrl-C leaves it. failed: without one.
    """
    if is_locked(run.path):
        return "running"
    if steps and run.total_steps is not None and steps >= run.total_steps:
        return "finished"
    if drawn_after_last_row(run.directory):
        return "finished"
    return "stopped" if steps and any(int(path.stem) == steps for path in checkpoints) else "failed"


def drawn_after_last_row(directory: RunDirectory) -> bool:
    """Whether the curve, which only a training that ended drew, is newer than the last row."""
    try:
        return directory.curve_file.stat().st_mtime_ns >= directory.metrics_file.stat().st_mtime_ns
    except OSError:
        return False


def is_locked(folder: Path) -> bool:
    """Whether a process trains the run now. Where the system cannot lock folders, False."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two lists do not take each other for a training
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def final_metrics(rows: Sequence[Row]) -> dict[str, float]:
    """The metrics of a run's end, as `Summary.metrics` says."""
    if not rows:
        return {}
    found = {key: value for key, value in rows[-1].items() if not key.startswith(PREFIX)}
    found.update(last_episodes(rows))
    uptime = found.get("uptime", 0.0)
    if uptime > 0:
        found[SPEED] = found["global_step"] / uptime
    return found


def last_episodes(rows: Sequence[Row]) -> dict[str, float]:
    """Means of the episode statistics over the last EPISODES episodes, or a few more, as rows are not divided."""
    totals: dict[str, float] = {}
    weights: dict[str, float] = {}
    for row in reversed(rows):
        episodes = row.get(PREFIX + "n", 0.0)
        if episodes <= 0:
            continue
        for key, value in row.items():
            if key.startswith(PREFIX) and key != PREFIX + "n" and weights.get(key, 0.0) < EPISODES:
                totals[key] = totals.get(key, 0.0) + value * episodes
                weights[key] = weights.get(key, 0.0) + episodes
        if weights and min(weights.values()) >= EPISODES:
            break
    return {key: totals[key] / weights[key] for key in totals}


def iso(moment: float) -> str:
    """Local time as 2026-01-31T12:00:00+0100."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(moment))


def dump(value: Any) -> str:
    """JSON for scripts; settings that TOML has and JSON has not (dates, infinities) become text."""
    return json.dumps(clean(value), indent=2, allow_nan=False, default=str)


def clean(value: Any) -> Any:
    """Without NaN and infinities, which JSON lacks: null."""
    if isinstance(value, Mapping):
        return {str(key): clean(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
