"""TensorBoard: event files, written by the `tensorboard` package alone, without TensorFlow or torch."""

from __future__ import annotations

import io
import os
import secrets
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.config.files import flat
from pufferlib.train.loggers import RunInfo
from pufferlib_loggers.common import ServiceLogger, shown

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event


class TensorboardLogger(ServiceLogger):
    """TensorBoard: a scalar for each number at its global_step, the settings as a text and as hyperparameters.

    folder: where the event files lie; left out: `tensorboard` in the run's directory

    `tensorboard --logdir runs` shows all runs. TensorBoard takes no video files and no checkpoints.
    """

    def __init__(self, folder: str | None = None) -> None:
        super().__init__(checkpoints="none")
        self.folder = folder

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Open a new event file beside those of earlier processes. Raises OSError."""
        from tensorboard.compat.proto.event_pb2 import Event

        folder = Path(self.folder).expanduser() if self.folder else run.path / "tensorboard"
        folder.mkdir(parents=True, exist_ok=True)
        self.newest_step = newest_step(folder)
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(2)}"
        self.file = (folder / name).open("wb", buffering=0)
        self.size = 0
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        if self.newest_step < 0:
            self._write_config(run)
        self.where = f"tensorboard --logdir {shown(folder.resolve())}"
        return {}

    def log(self, metrics: dict[str, float], step: int) -> None:
        """One event with all numbers, in the file when this returns."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in metrics.items()]
        self._write(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def _write_config(self, run: RunInfo) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.plugins.text.summary_v2 import text_pb

        settings = {
            name: value if isinstance(value, (bool, int, float, str)) else str(value) for name, value in flat(run.config).items()
        }  # a hyperparameter is no list
        table = "\n".join(["| setting | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in settings.items())])
        for summary in (text_pb("config", table), hparams_pb(settings, trial_id=run.name)):
            self._write(Event(wall_time=time.time(), step=0, summary=summary))

    def _write(self, event: Event) -> None:
        """Append a whole record, or nothing of it: a reader stops at half a one."""
        from tensorboard.summary.writer.record_writer import RecordWriter

        record = io.BytesIO()
        RecordWriter(record).write(event.SerializeToString())
        rest = memoryview(record.getvalue())
        try:
            while rest:
                rest = rest[self.file.write(rest) :]
        except OSError:
            self.file.truncate(self.size)
            self.file.seek(self.size)
            raise
        self.size += len(record.getvalue())


def newest_step(folder: Path) -> int:
    """Of the last row in the event files of a folder, -1 if there is none."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    newest = -1
    for path in folder.glob("events.out.tfevents.*"):
        for event in LegacyEventFileLoader(str(path)).Load():
            if any(value.HasField("simple_value") for value in event.summary.value):
                newest = max(newest, event.step)
    return newest
