"""A logger that keeps what it is given: beside a logger of your own it tells what that should have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pufferlib.train.loggers import Logger, RunInfo


class RecordingLogger(Logger):
    """Keeps what it is given, in memory.

    word: any text, so that there is a setting to give
    checkpoints: which are handed over: none, the last and the best at the end, or all

    rows: (step, metrics) of each row. files: (name, step) of each video and checkpoint. closed: how the run ended, "" before
    """

    made: ClassVar[list[RecordingLogger]] = []
    """All of them, so that a test finds the one that `--logger NAME` made; empty it before."""

    def __init__(self, word: str = "", checkpoints: Literal["none", "last", "all"] = "last") -> None:
        self.word, self.checkpoints = word, checkpoints
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.files: list[tuple[str, int]] = []
        self.closed = ""
        RecordingLogger.made.append(self)

    @property
    def steps(self) -> list[int]:
        """Of the rows, in the order in which they came."""
        return [step for step, _ in self.rows]

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Keep the run. A resumed one gets the id that it had."""
        self.run, self.where = run, "over there"
        return {"id": run.state.get("id", len(RecordingLogger.made))}

    def log(self, metrics: dict[str, float], step: int) -> None:
        """One row."""
        self.rows.append((step, metrics))

    def log_video(self, path: Path, step: int) -> None:
        """A video."""
        self.files.append((path.name, step))

    def log_checkpoint(self, path: Path, step: int) -> None:
        """A checkpoint."""
        self.files.append((path.name, step))

    def close(self) -> None:
        """How the run ended."""
        self.closed = self.run.status
