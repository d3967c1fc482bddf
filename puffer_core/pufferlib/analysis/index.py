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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pufferlib.analysis.rows import EPISODES_OF_ROW, Row, end_of, last_episodes, newest_first, only
from pufferlib.config.files import flat, read_toml
from pufferlib.config.run_config import RECORD_TABLE
from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ConfigError
from pufferlib.train.best import PREFIX, Ranking
from pufferlib.train.run_dir import RunDirectory

State = Literal["running", "finished", "stopped", "failed"]
INNER = frozenset({"checkpoints", "snapshots", "videos", "__pycache__"})
"""Folders in which no run is looked for."""
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
        """The rows of metrics.jsonl, one a step, by rising steps, as `pufferlib.analysis.rows` says."""
        return list(newest_first(self.directory.metrics_file))[::-1]

    def ranking(self, metric: str = "") -> Ranking:
        """Of all rows, by the metric, or by the run's own. Only what it needs of each row is read."""
        found = Ranking(metric or self.best_metric)
        for name in found.names:  # the first will do for most envs
            read = only([EPISODES_OF_ROW, PREFIX + name])
            for row in list(newest_first(self.directory.metrics_file, read))[::-1]:
                found.add(row)
            if found.name:
                break
        return found

    def summary(self, metric: str = "") -> Summary:
        """How far it came. metric: what `last` and `best` are of, as `Ranking` takes it; by default the run's own."""
        return Summary(self, metric or self.best_metric)


@dataclass(frozen=True)
class Summary:
    """A run in figures, each of which is read when it is first asked for: all but `best` stand at the end of metrics.jsonl.

    wanted: what `last` and `best` are of, as `Ranking` takes it
    """

    run: Run
    wanted: str

    @cached_property
    def last_row(self) -> Row:
        """The row of the last step; {} before the first."""
        return next(newest_first(self.run.directory.metrics_file), {})

    @property
    def steps(self) -> int:
        """How many were made."""
        return int(self.last_row.get("global_step", 0))

    @cached_property
    def checkpoints(self) -> int:
        """How many there are."""
        return len(self.run.directory.checkpoints())

    @cached_property
    def state(self) -> State:
        """Whether it is at work, or how it ended."""
        return state_of(self.run, self.steps)

    @property
    def metric(self) -> str | None:
        """The statistic that `last` and `best` are of; None where it was not logged."""
        return self._recent.name

    @cached_property
    def last(self) -> float | None:
        """Its mean over the last 100 episodes or a few more, see `pufferlib.train.best`."""
        return self._recent.value(self.steps)

    @cached_property
    def best(self) -> float | None:
        """The best of such means. The whole file is read for it."""
        return self._ranking.best_value()

    @cached_property
    def metrics(self) -> Mapping[str, float]:
        """By name as in metrics.jsonl. Episode statistics: of the last 100 episodes; SPS: steps over uptime; others: the last."""
        found = {key: value for key, value in self.last_row.items() if not key.startswith(PREFIX)}
        found.update(last_episodes(self._end))
        uptime = found.get("uptime", 0.0)
        if uptime > 0:
            found[SPEED] = found["global_step"] / uptime
        return found

    @cached_property
    def _end(self) -> list[Row]:
        return end_of(self.run.directory.metrics_file)

    @cached_property
    def _ranking(self) -> Ranking:
        return self.run.ranking(self.wanted)

    @cached_property
    def _recent(self) -> Ranking:
        """Of the end alone, where that tells which statistic ranks."""
        found = Ranking(self.wanted, reversed(self._end))
        return found if found.name == found.names[0] else self._ranking

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


def state_of(run: Run, steps: int) -> State:
    """running: a process holds it. finished: all steps are done, or training ended itself and drew its curve.

    stopped: it ended before, with a checkpoint of its last row, as Ctrl-C leaves it. failed: without one.
    """
    if is_locked(run.path):
        return "running"
    if steps and run.total_steps is not None and steps >= run.total_steps:
        return "finished"
    if drawn_after_last_row(run.directory):
        return "finished"
    return "stopped" if steps and run.directory.checkpoint_path(steps).is_file() else "failed"


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
