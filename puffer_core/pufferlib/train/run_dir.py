"""A run's directory: config.toml, metrics.jsonl, checkpoints/<global_step>.pt and curve.png.

A kill at any moment leaves it whole: config.toml, checkpoints and the curve are replaced atomically, metrics are appended line by
line and are on the disk before the checkpoint that follows them. So a resumed run drops the rows after its checkpoint, and no
row is lost or there twice. Nothing that exists is ever overwritten by a new run, and one process at a time writes to a run.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import logging
import math
import os
import platform
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pufferlib.atomic import leftovers, replacing
from pufferlib.config.files import dump_toml, read_toml
from pufferlib.config.run_config import RECORD_TABLE
from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ConfigError
from pufferlib.train.best import Ranking

log = logging.getLogger(__name__)
LOCK_WAIT_S = 10.0
"""A worker process may outlive its killed trainer for a moment, and hold the run as long."""
VERSIONED = ("pufferlib", "torch", "numpy", "gymnasium")


class RunDirectory:
    """The files of one run. `create` starts a new one, `open` finds one that exists."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.toml"
        self.metrics_file = path / "metrics.jsonl"
        self.checkpoint_folder = path / "checkpoints"
        self.curve_file = path / "curve.png"

    @classmethod
    def create(cls, env_name: str, tag: str = "", run_dir: str | Path = "", root: str | Path = "runs") -> RunDirectory:
        """Make the directory. Raises ConfigError if it is taken or cannot be made."""
        path = free_path(env_name, tag, run_dir, root)
        try:
            path.mkdir(parents=True, exist_ok=bool(run_dir))
        except OSError as error:
            raise ConfigError(f"run directory {path}: cannot be made: {error.strerror or error}") from None
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> RunDirectory:
        """The run at that path. Raises ConfigError if there is none."""
        run = cls(Path(path))
        if not run.path.is_dir():
            raise ConfigError(f"{path}: no such run directory")
        if not run.config_file.is_file():
            raise ConfigError(f"{path}: not a run directory, it holds no config.toml")
        return run

    @classmethod
    def containing(cls, path: str | Path) -> RunDirectory:
        """The run at that path, or the one whose checkpoint it is. Raises ConfigError if there is none."""
        if Path(path).is_file():
            for folder in Path(path).resolve().parents[:2]:
                if (folder / "config.toml").is_file():
                    return cls(folder)
            raise ConfigError(f"{path}: lies in no run directory, there is no config.toml beside it or one folder up")
        return cls.open(path)

    def tables(self) -> dict[str, Any]:
        """The settings in config.toml, without the record of the run itself."""
        return {name: value for name, value in read_toml(self.config_file).items() if name != RECORD_TABLE}

    def record(self) -> dict[str, Any]:
        """What config.toml says about the run itself: versions, command line, start and resumes."""
        found = read_toml(self.config_file).get(RECORD_TABLE, {})
        return dict(found) if isinstance(found, dict) else {}

    def write_config(self, tables: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        """Replace config.toml, in one rename."""
        with replacing(self.config_file, "w") as file:
            file.write(dump_toml({**tables, RECORD_TABLE: dict(record)}))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run while the block lasts. Raises ConfigError if another process does; a killed one holds nothing.

        Where the system cannot lock a folder (Windows, some network file systems) nothing is held.
        """
        handle = None
        with contextlib.suppress(ImportError):
            import fcntl

            handle = os.open(self.path, os.O_RDONLY)
            end = time.monotonic() + LOCK_WAIT_S
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if time.monotonic() > end:
                        os.close(handle)
                        raise ConfigError(f"{self.path}: another process is training this run") from None
                    time.sleep(0.1)
                except OSError as error:
                    log.debug("%s cannot be locked: %s", self.path, error)
                    break
                else:
                    break
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def checkpoints(self) -> list[Path]:
        """The checkpoints, newest first."""
        return list_checkpoints(self.checkpoint_folder)

    def checkpoint_path(self, global_step: int) -> Path:
        """Where the checkpoint of that step belongs."""
        return self.checkpoint_folder / f"{global_step}.pt"

    def best_checkpoints(self) -> list[Path]:
        """The checkpoints before which episodes ended, best first, by the run's own `best_metric`."""
        metric = self.tables().get("train", {}).get("best_metric", TrainConfig.best_metric)
        steps = [int(path.stem) for path in self.checkpoints()]
        return [self.checkpoint_path(step) for step in Ranking(metric, self.rows()).best(steps)]

    def prune(self, keep: int, keep_best: int = 0, ranking: Ranking | None = None) -> None:
        """Delete all checkpoints but the newest `keep` and the best `keep_best` by `ranking`; keep=0 keeps all."""
        found = self.checkpoints()
        best = ranking.best(int(path.stem) for path in found)[:keep_best] if ranking else []
        for path in found[keep:] if keep else []:
            if int(path.stem) not in best:
                path.unlink(missing_ok=True)

    def clear_leftovers(self, global_step: int) -> None:
        """Delete what a kill left half-written, and set checkpoints after `global_step` aside: they could not be read."""
        for path in [*leftovers(self.path), *leftovers(self.checkpoint_folder)]:
            path.unlink(missing_ok=True)
        for path in self.checkpoints():
            if int(path.stem) > global_step:
                path.replace(path.with_suffix(".pt.damaged"))

    def rows(self) -> list[dict[str, Any]]:
        """The rows of metrics.jsonl; a line that a crash tore is left out."""
        if not self.metrics_file.is_file():
            return []
        found = []
        for line in self.metrics_file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict):
                found.append(row)
        return found

    def cut_metrics(self, global_step: int) -> None:
        """Drop the rows after that step, so that a resumed run writes no row twice."""
        kept = [json.dumps(row) + "\n" for row in self.rows() if row.get("global_step", 0) <= global_step]
        with replacing(self.metrics_file, "w") as file:
            file.writelines(kept)


def list_checkpoints(folder: str | os.PathLike[str]) -> list[Path]:
    """The checkpoints `<global_step>.pt` in a folder, newest first."""
    found = [path for path in Path(folder).glob("*.pt") if path.stem.isdigit()]
    return sorted(found, key=lambda path: int(path.stem), reverse=True)


def free_path(env_name: str, tag: str = "", run_dir: str | Path = "", root: str | Path = "runs") -> Path:
    """Where a new run goes: `run_dir`, else root/<env>/<time>-<tag or short id>. Raises ConfigError if `run_dir` is taken."""
    if run_dir:
        path = Path(run_dir).expanduser()
        if path.exists() and (not path.is_dir() or set(path.iterdir()) - set(leftovers(path))):
            raise ConfigError(f"--run-dir {path}: exists and is not empty; name another, or go on with it: --resume {path}")
        return path
    stamp = time.strftime("%Y%m%d-%H%M%S")
    name = f"{stamp}-{plain(tag) or secrets.token_hex(3)}"
    folder = Path(root) / plain(env_name)
    path, count = folder / name, 2
    while path.exists():
        path, count = folder / f"{name}-{count}", count + 1
    return path


def plain(text: str) -> str:
    """`text` as one path component."""
    return re.sub(r"[^\w.+=-]+", "-", text).strip(".-")[:80]


def describe_run(command_line: list[str]) -> dict[str, Any]:
    """The record of a run that starts now, for config.toml."""
    versions = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": command_line,
        "platform": platform.platform(),
        "versions": versions,
    }


def jsonable(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """`metrics` as plain JSON values; JSON has no NaN or infinity, so these become null."""
    row: dict[str, Any] = {}
    for key, value in metrics.items():
        number = value.item() if hasattr(value, "item") else value
        row[key] = None if isinstance(number, float) and not math.isfinite(number) else number
    return row
