"""Where metrics go beside the run's metrics.jsonl.

A logger is registered by a plugin (`pufferlib_loggers`) and chosen with `--logger NAME`. Its target is called as
`target(run_dir=Path, config=dict)`, the settings as TOML tables, and gives an object with `log(metrics, step)` and
`close()`. One that raises while training is dropped with a warning: a lost connection must not cost a run.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pufferlib.errors import PluginError
from pufferlib.train.run_dir import jsonable

log = logging.getLogger(__name__)


class Logger(Protocol):
    """What the training loop asks of a logger."""

    def log(self, metrics: dict[str, Any], step: int) -> None:
        """One row: `metrics` as `PuffeRL.mean_and_log` gives it, at `step` agent-steps."""

    def close(self) -> None:
        """No row follows."""


class NoLogger:
    """`--logger none`: nothing beside metrics.jsonl."""

    def __init__(self, run_dir: Path | None = None, config: Mapping[str, Any] | None = None) -> None:
        pass

    def log(self, metrics: dict[str, Any], step: int) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class JsonLines:
    """metrics.jsonl in the run's directory: one JSON object a row, on disk as soon as it is logged. Always on."""

    def __init__(self, run_dir: Path, config: Mapping[str, Any] | None = None) -> None:
        self.file = (Path(run_dir) / "metrics.jsonl").open("a", encoding="utf-8", buffering=1)

    def log(self, metrics: dict[str, Any], step: int) -> None:
        """Append one line."""
        self.file.write(json.dumps(jsonable({"global_step": step, **metrics}), allow_nan=False) + "\n")

    def sync(self) -> None:
        """Have all rows on the disk itself, whatever happens to the machine."""
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Close the file. May be called any number of times."""
        self.file.close()


class Loggers:
    """All loggers of a run: metrics.jsonl first, whose errors do stop the run, then the chosen ones."""

    def __init__(self, names: Iterable[str], run_dir: Path, config: Mapping[str, Any]) -> None:
        self.file = JsonLines(run_dir)
        chosen = [name for name in dict.fromkeys(names) if name not in ("none", "jsonl")]
        self.others = {name: build_logger(name, run_dir, config) for name in chosen}

    def log(self, metrics: dict[str, Any], step: int) -> None:
        """Hand one row to every logger."""
        self.file.log(metrics, step)
        for name, logger in list(self.others.items()):
            try:
                logger.log(dict(metrics), step)
            except Exception as error:
                log.warning("logger %s failed at step %d and is dropped: %s: %s", name, step, type(error).__name__, error)
                del self.others[name]

    def close(self) -> None:
        """Close every logger."""
        self.file.close()
        for name, logger in self.others.items():
            try:
                logger.close()
            except Exception as error:
                log.warning("logger %s failed to close: %s: %s", name, type(error).__name__, error)
        self.others = {}


def check_loggers(names: Iterable[str]) -> None:
    """Raise PluginError, with near matches, for a name that no plugin registers, or whose package cannot be imported."""
    from pufferlib.plugins import registry

    for name in names:
        spec = registry().find("logger", name)
        registry().resolve(spec.target, spec)


def build_logger(name: str, run_dir: Path, config: Mapping[str, Any]) -> Logger:
    """The logger of that name for this run. Raises PluginError if there is none of that name or it cannot start."""
    from pufferlib.plugins import registry

    spec = registry().find("logger", name)
    factory = registry().resolve(spec.target, spec)
    try:
        logger: Logger = factory(run_dir=run_dir, config=dict(config))
    except Exception as error:
        raise PluginError(f"--logger {name}: cannot start: {type(error).__name__}: {error}") from error
    return logger
