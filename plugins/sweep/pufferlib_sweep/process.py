"""One run as a process group of its own: its metrics while it lasts, how it ended, and nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pufferlib_sweep.child import GRACE_S

log = logging.getLogger(__name__)
GONE_WAIT_S = 10.0
"""A killed process group disappears within moments, unless the system is very busy."""
TAIL_BYTES = 20_000


class Run(Protocol):
    """A run that goes on somewhere: a process here, or a task on a cluster."""

    @property
    def waits(self) -> bool:
        """Whether it has yet to begin."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows of metrics that are new since the last call."""

    def ended(self) -> str | None:
        """None while it runs; then how it ended: empty after success, else the reason in one line."""

    def stop(self) -> None:
        """Ask it to end its step, save and end."""

    def close(self) -> None:
        """Nothing of it is left when this returns. May be called any number of times."""


class LocalRun:
    """A process of this machine. Everything that it prints goes to `log_file`."""

    def __init__(
        self, command: Sequence[str], run_dir: Path, log_file: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.metrics = Tail(run_dir / "metrics.jsonl")
        self.log_file = log_file
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=os.name == "posix",
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
            )  # fmt: skip
        self.pid = self.process.pid
        self.waits = False

    def rows(self) -> list[dict[str, Any]]:
        """The rows of metrics that are new since the last call."""
        return self.metrics.read()

    def ended(self) -> str | None:
        """None while it runs; then empty after success, else the reason in one line."""
        code = self.process.poll()
        if code is None:
            return None
        return reason(code, self.log_file) if code else ""

    def stop(self) -> None:
        """Ask it to end its step, save and end; what has not ended after 15 s is killed."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()

    def close(self) -> None:
        """Kill what is left of the process group, and wait until it is gone."""
        if self.process.stdin:
            self.process.stdin.close()
        kill_group(self.pid)
        self.process.wait()
        wait_until_gone(self.pid)


def train_command(env_name: str, settings_file: Path, run_dir: Path) -> list[str]:
    """The command line of one run."""
    words = ["train", env_name, "--config", str(settings_file), "--run-dir", str(run_dir)]
    return [sys.executable, "-m", "pufferlib_sweep.child", *words]


def reason(code: int, log_file: Path) -> str:
    """Why a process ended, in one line: what killed it, or the last error that it printed."""
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return f"killed by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")
    with contextlib.suppress(OSError), log_file.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
        said = [line.removeprefix("puffer: ") for line in lines if line.startswith("puffer: ")] or lines
        if said:
            return said[-1][:500]
    return f"ended with exit code {code}"


class Tail:
    """The rows of a JSON-lines file that grows. A line that is not complete yet is left for the next time."""

    def __init__(self, path: Path) -> None:
        self.path, self.offset = path, 0

    def read(self) -> list[dict[str, Any]]:
        """The new rows."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                text = file.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self.offset += len(whole)
        rows = []
        for line in whole.splitlines():
            with contextlib.suppress(json.JSONDecodeError):  # torn by a crash
                row = json.loads(line)
                if isinstance(row, dict):
                    rows.append(row)
        return rows


def kill_group(pid: int) -> None:
    """Kill a process group, where the system has such."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def wait_until_gone(pid: int) -> None:
    """Wait until no process of the group lives."""
    end = time.monotonic() + GONE_WAIT_S
    while members(pid):
        if time.monotonic() > end:
            log.warning("process group %d does not end", pid)
            return
        time.sleep(0.02)


def members(group: int) -> list[int]:
    """The living processes of a group: Linux tells them apart from zombies, whose parent has yet to notice."""
    if not hasattr(os, "killpg"):
        return []
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return []
    stats = Path("/proc").glob("[0-9]*/stat")
    if not Path("/proc/self/stat").exists():
        return [group]
    found = []
    for stat in stats:
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()  # state, parent, group, ...
            if int(fields[2]) == group and fields[0] not in "ZX":
                found.append(int(stat.parent.name))
    return found


def end_orphan(group: int) -> None:
    """A trial whose sweep was killed is ending by itself; wait for it, and kill what does not end.

    The number may belong to another process by now: only a trial's own command line is taken for one.
    """
    try:
        is_trial = b"pufferlib_sweep.child" in Path(f"/proc/{group}/cmdline").read_bytes()
    except OSError:
        return
    if is_trial:
        end = time.monotonic() + GRACE_S + 1
        while members(group) and time.monotonic() < end:
            time.sleep(0.05)
        kill_group(group)
        wait_until_gone(group)


def plain_line(text: str) -> str:
    """An error without its numbers, to tell whether two trials failed alike."""
    return re.sub(r"[\d.,]+|0x[0-9a-f]+", "#", text)
