"""Videos of the policy while it trains: a snapshot of it plays one episode in another process, at low priority.

`videos/<step>.mp4` in the run's directory appears whole or not at all; what belongs to one that is being recorded is hidden
there. A video that fails is told in the dashboard and stops nothing.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from pufferlib.errors import ConfigError
from pufferlib.render.video import NO_IMAGEIO
from pufferlib.train.launch import VARIABLES

NICENESS = 5
END_S = 3.0
"""How long a recording may take to end once it is told to."""
MESSAGE_LENGTH = 200


def check_recorder() -> None:
    """Raise ConfigError if no video can be written here."""
    if not video_suffix():
        raise ConfigError(f"video_interval (--train.video-interval): {NO_IMAGEIO}")


class Recorder:
    """One video at a time, in `folder`; `save` writes a checkpoint to a path."""

    def __init__(self, folder: Path, save: Callable[[Path], Any]) -> None:
        self.folder, self.save = folder, save
        self.process: subprocess.Popen[bytes] | None = None
        self.step = 0
        self.suffix = video_suffix()
        self.clear()

    def begin(self, step: int) -> str:
        """Start recording the policy as it is now. Returns what to tell the user, also where nothing was started."""
        if self.is_busy:
            return f"recording {self.name} still goes on"
        if not self.suffix:
            return NO_IMAGEIO
        self.step = step
        try:
            self.folder.mkdir(exist_ok=True)
            self.save(self.hidden(".pt"))
            with self.hidden(".log").open("wb") as log:
                self.process = start(
                    "eval", self.hidden(".pt"), "--episodes", 1, "--video", self.hidden(self.suffix), output=log
                )  # fmt: skip
        except OSError as error:
            self.clear()
            return f"no video: {error}"
        return f"recording {self.name}"

    def ended(self) -> str:
        """What became of the recording, once; "" while it goes on, or if there is none."""
        if self.process is None or self.process.poll() is None:
            return ""
        code, self.process = self.process.returncode, None
        video = self.hidden(self.suffix)
        try:
            if code == 0 and video.is_file():
                video.replace(self.folder / f"{self.step}{self.suffix}")
                return f"recorded {self.name}"
            return f"no video of step {self.step:,}: {last_line(self.hidden('.log')) or f'exit code {code}'}"
        except OSError as error:
            return f"no video of step {self.step:,}: {error}"
        finally:
            self.clear()

    def close(self) -> None:
        """End a recording that still goes on. May be called any number of times."""
        process, self.process = self.process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self.clear()

    @property
    def is_busy(self) -> bool:
        """Whether a recording goes on, or has ended unheard of."""
        return self.process is not None

    @property
    def name(self) -> str:
        """The video of `step`, as it is called in messages."""
        return f"{self.folder.name}/{self.step}{self.suffix}"

    def hidden(self, suffix: str) -> Path:
        """A file of the recording of `step`."""
        return self.folder / f".{self.step}{suffix}"

    def clear(self) -> None:
        """Delete what recordings left, also one that was killed with an earlier process of this run."""
        for path in self.folder.glob(".*"):
            with contextlib.suppress(OSError):
                path.unlink()


def video_suffix() -> str:
    """.mp4 where ffmpeg is installed with imageio, .gif with imageio alone, "" without."""
    if importlib.util.find_spec("imageio") is None:
        return ""
    return ".mp4" if importlib.util.find_spec("imageio_ffmpeg") is not None else ".gif"


def start(*arguments: Any, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Run a puffer command that gives way to training."""
    environment = {name: value for name, value in os.environ.items() if name not in (*VARIABLES, "LOCAL_RANK")}
    environment["OMP_NUM_THREADS"] = "1"
    gives_way = 0
    if sys.platform == "win32":
        gives_way = subprocess.BELOW_NORMAL_PRIORITY_CLASS
    process = subprocess.Popen(
        [sys.executable, "-m", "pufferlib", *map(str, arguments)], env=environment, creationflags=gives_way,
        stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
    return process


def last_line(file: Path) -> str:
    """The last line that says something, which is where an error stands."""
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip()[:MESSAGE_LENGTH] for line in reversed(lines) if line.strip()), "")
