"""Where metrics go beside the run's metrics.jsonl.

A logger is registered by a plugin (`pufferlib_loggers`), chosen with `--logger NAME` and set up with `--loggers.NAME.SETTING`; a
script gives one to `PuffeRL(..., logger=WandbLogger(project="x"))`. Each works behind a queue of its own (log_queue.py), so that
neither a slow service nor a broken one touches training. docs/loggers.md has the rules.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pufferlib.errors import ConfigError, PluginError
from pufferlib.train.log_queue import Item, Journal, LogQueue, describe
from pufferlib.train.run_dir import free_path, jsonable
from pufferlib.train.videos import finished_videos

log = logging.getLogger(__name__)
DRAIN_S, INTERRUPTED_DRAIN_S, GRACE_S = 30.0, 4.0, 1.0
"""How long the end of a run waits for its loggers: usually; after Ctrl-C or SIGTERM, which promise an end within 10 s; and for
one that was told to leave the rest."""
PATIENCE_S = 3.0
"""After waiting so long the user is told what for."""
Status = Literal["running", "finished", "interrupted", "failed"]


@dataclass
class RunInfo:
    """What a logger is told of the run.

    path: the run's directory, which exists; its name is the run's name. env_name: "" where the env has none
    config: the settings as TOML tables. state: what `start` returned when this run was begun; {} for a new run
    status: how it ended, when `close` is called
    """

    path: Path
    env_name: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    status: Status = "running"

    @property
    def name(self) -> str:
        """Of the run."""
        return self.path.resolve().name


class Logger:
    """The base class of loggers. The parameters of the constructor are the settings; it opens nothing.

    `start` is called once, before training, in the training thread: what it raises ends the run before it begins. The other
    methods are called one at a time in a thread of the logger's own; what they raise is tried again, see log_queue.py.
    """

    checkpoints: Literal["none", "last", "all"] = "last"
    """Which checkpoints it is given: none, the last and the best of the run at its end, or all."""
    newest_step: int | None = None
    """Of a resumed run the step of the last row that the service has; None: it cannot tell, and the run's journal is asked."""
    where: str = ""
    """Where to look at the run: an address, or a command. Known after `start`."""

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Begin, or with `run.state` go on with, a run of the service. Returns what must be known to go on, as plain JSON."""
        return {}

    def log(self, metrics: dict[str, float], step: int) -> None:
        """One row: the finite numbers of `PuffeRL.mean_and_log`, at `step` agent-steps."""
        raise NotImplementedError(f"{type(self).__name__}.log")

    def log_video(self, path: Path, step: int) -> None:
        """A video file, which is complete."""

    def log_checkpoint(self, path: Path, step: int) -> None:
        """A checkpoint file."""

    def close(self) -> None:
        """Nothing follows."""


class NoLogger(Logger):
    """`--logger none`: nothing beside metrics.jsonl."""

    checkpoints = "none"

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Nothing."""


class JsonLines(Logger):
    """metrics.jsonl in the run's directory: one JSON object a row, on disk as soon as it is logged. Runs always have it."""

    checkpoints = "none"

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Open the file."""
        self.file = (run.path / "metrics.jsonl").open("a", encoding="utf-8", buffering=1)
        return {}

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Append one line; NaN and infinity become null."""
        self.file.write(json.dumps(jsonable({"global_step": step, **metrics}), allow_nan=False) + "\n")

    def sync(self) -> None:
        """Have all rows on the disk itself, whatever happens to the machine."""
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Close the file. May be called any number of times."""
        self.file.close()


class Loggers:
    """The loggers of a run, each behind its queue.

    chosen: names, with `settings` by name, or Logger objects. "none" and "jsonl" are passed over
    rows: of a resumed run, those that metrics.jsonl has: what a service lacks of them it gets first
    has_file: write metrics.jsonl, in the calling thread: what that raises is raised
    Raises PluginError for a name that is not registered or a logger that cannot start.
    """

    def __init__(
        self,
        chosen: Iterable[str | Logger],
        run_dir: Path,
        config: Mapping[str, Any],
        *,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        env_name: str = "",
        rows: Iterable[Mapping[str, Any]] = (),
        has_file: bool = True,
    ) -> None:
        self.run_dir = Path(run_dir)
        self.file = JsonLines() if has_file else None
        self.queues: list[LogQueue] = []
        self.infos: list[RunInfo] = []
        self.places: list[tuple[str, str]] = []
        """The name of each logger that can tell where to look at the run, and the place."""
        self.left_out = 0
        """Numbers that were NaN or infinite."""
        self._last_checkpoint: Item | None = None
        self._videos: set[Path] = set()
        backlog = [Item("row", int(row.get("global_step", 0)), self._finite(row)) for row in rows]
        self.left_out = 0  # those have been told of
        try:
            if self.file:
                self.file.start(RunInfo(self.run_dir))
            for one in dict.fromkeys(chosen):
                if one in ("none", "jsonl"):
                    continue
                logger = build_logger(one, (settings or {}).get(one.replace("-", "_"))) if isinstance(one, str) else one
                self._start(one if isinstance(one, str) else name_of_class(logger), logger, config, env_name, backlog)
        except BaseException:
            self.close("failed")
            raise

    def _start(self, name: str, logger: Logger, config: Mapping[str, Any], env_name: str, backlog: list[Item]) -> None:
        taken = [queue.name for queue in self.queues]
        name = next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(taken) + 3))) if n not in taken)
        journal = Journal(self.run_dir / "loggers" / f"{name}.jsonl")
        info = RunInfo(self.run_dir, env_name, config, journal.state or {})
        try:
            state = logger.start(info)
            journal.begin(state)
        except ModuleNotFoundError as error:
            raise PluginError(f"logger {name} needs the package {error.name}: pip install 'pufferlib[{name}]'") from error
        except Exception as error:
            raise PluginError(f"logger {name}: cannot start: {describe_fully(error)}") from error
        if logger.where:
            self.places.append((name, logger.where))
        self.infos.append(info)
        self.queues.append(LogQueue(name, logger, journal, backlog))

    def log(self, metrics: Mapping[str, Any], step: int) -> None:
        """Hand one row to every logger, and the videos that were finished since the last one."""
        if self.file:
            self.file.log(dict(metrics), step)
        if self.queues:
            self._put(Item("row", step, self._finite(metrics)))
            self.look_for_videos(step)

    def _finite(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        """The finite numbers of a row: not every service takes others."""
        row = {}
        for name, value in jsonable(metrics).items():
            if isinstance(value, (int, float)):
                row[name] = value
            else:
                self.left_out += value is None
        return row

    def look_for_videos(self, step: int) -> None:
        """Hand over what is complete in RUN/videos and was not there before."""
        for path in finished_videos(self.run_dir / "videos", self._videos):
            self._videos.add(path)
            self._put(Item("video", step, path))

    def sync(self) -> None:
        """Have metrics.jsonl on the disk itself."""
        if self.file:
            self.file.sync()

    def log_checkpoint(self, path: Path, step: int) -> None:
        """A checkpoint was saved."""
        self._last_checkpoint = Item("checkpoint", step, Path(path))
        self._put(self._last_checkpoint, "all")

    def _put(self, item: Item, which: str = "") -> None:
        for queue in self.queues:
            if not which or queue.logger.checkpoints == which:
                queue.put(item)

    def close(self, status: Status = "finished", best: Path | None = None) -> None:
        """Write what waits, for DRAIN_S or INTERRUPTED_DRAIN_S at most, and say what was lost. May be called any number of times.

        best: the run's best checkpoint. Ctrl-C ends the wait.
        """
        if self.file and hasattr(self.file, "file"):
            self.file.close()
        last = self._last_checkpoint
        if last is not None:
            self.look_for_videos(last.step)
            for path in dict.fromkeys(filter(None, (best, last.content))):
                self._put(Item("checkpoint", last.step if path == last.content else int(path.stem), path), "last")
        for info in self.infos:
            info.status = status
        deadline = time.monotonic() + (INTERRUPTED_DRAIN_S if status == "interrupted" else DRAIN_S)
        for queue in self.queues:
            queue.end(deadline)
        try:
            self._wait(deadline)
        except KeyboardInterrupt:
            for queue in self.queues:
                queue.end(time.monotonic())
        for queue in self.queues:
            if not queue.wait(0):
                queue.abandon()
        grace = time.monotonic() + GRACE_S
        for queue in self.queues:
            has_ended = queue.wait(grace - time.monotonic())
            if text := queue.report():
                log.warning("logger %s: %s", queue.name, text)
            elif not has_ended:
                log.warning("logger %s: all is handed over, but it did not close in time", queue.name)
        if self.left_out and self.queues:
            log.warning("loggers: %d numbers were NaN or infinite and were left out", self.left_out)
        self.queues, self.infos, self._last_checkpoint = [], [], None

    def _wait(self, deadline: float) -> None:
        told_at = time.monotonic() + PATIENCE_S
        for queue in self.queues:
            if not queue.wait(min(told_at, deadline) - time.monotonic()) and (seconds := deadline - time.monotonic()) > 0:
                text = "logger %s still writes (%d left); waiting at most %.0f s, Ctrl-C ends that"
                log.warning(text, queue.name, queue.left(), seconds)
                queue.wait(seconds)


def open_loggers(
    logger: Logger | Sequence[Logger], run_dir: str | os.PathLike[str] | None, config: Mapping[str, Any], env_name: str
) -> Loggers:
    """The loggers of a script's trainer. run_dir None: a new folder below runs/. Raises ConfigError, PluginError."""
    chosen = [check_logger(one) for one in (logger if isinstance(logger, Sequence) else [logger])]
    path = Path(run_dir) if run_dir else free_path(env_name or "python")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"run_dir={str(path)!r}: cannot be made: {error.strerror or error}") from None
    loggers = Loggers(chosen, path, config, env_name=env_name, has_file=False)
    if (known := max(queue.known_step for queue in loggers.queues)) >= 0:
        log.warning("%s: going on with the run there: rows up to step %d are not logged again", path, known)
    return loggers


def check_loggers(names: Iterable[str]) -> None:
    """Raise PluginError, with near matches, for a name that no plugin registers, or whose package is not installed."""
    for name in names:
        logger_class(name)


def logger_class(name: str) -> Any:
    """What is registered by that name. Raises PluginError, which says what to install where that is known."""
    from pufferlib.plugins import registry

    spec = registry().find("logger", name)
    if spec.package and importlib.util.find_spec(spec.package) is None:
        raise PluginError(f"logger {name!r} needs the package {spec.package}: pip install 'pufferlib[{name}]'")
    return registry().resolve(spec.target, spec)


def build_logger(name: str, settings: Mapping[str, Any] | None = None) -> Logger:
    """The logger of that name, not started yet. Raises PluginError if there is none, or it refuses the settings."""
    try:
        logger = logger_class(name)(**(settings or {}))
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(f"--logger {name}: {describe(error)}") from error
    return check_logger(logger)


def check_logger(logger: Any) -> Logger:
    """`logger`, if it is one. Raises ConfigError."""
    if not isinstance(logger, Logger):
        raise ConfigError(f"a logger must be an instance of pufferlib.Logger, such as WandbLogger(project='x'), got {logger!r}")
    return logger


def name_of_class(logger: Logger) -> str:
    """`wandb` for a WandbLogger."""
    return type(logger).__name__.removesuffix("Logger").lower()


def describe_fully(error: Exception) -> str:
    """Type and all that it says, on one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, PluginError) else f"{type(error).__name__}: {text}"
