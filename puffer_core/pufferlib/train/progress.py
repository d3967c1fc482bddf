"""What a dashboard knows of a run: the newest row, how numbers went so far, the time that is left, and the machine's load."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LEADING = ("score", "perf", "episode_return", "episode_length")
"""Episode statistics in this order first, the rest as the env gives them."""
POINTS = 128
"""Of a History, at most."""
RECENT = 16
"""Rows that a trend is seen in."""
GIB = 2**30


class Progress:
    """Rows so far, elapsed time and the rest of it."""

    def __init__(self, title: str, total: int, start: int) -> None:
        self.title, self.total, self.start = title, max(total, 1), start
        self.began = time.monotonic()
        self.row: dict[str, Any] = {}
        self.episodes: dict[str, Any] = {}
        self.histories: dict[str, History] = {}
        """Of the speed, `SPS`, and of each episode statistic."""
        self.checkpoint = ""

    def take(self, row: Mapping[str, Any]) -> None:
        """Keep the row; a row without ended episodes leaves the last statistics standing."""
        self.row = dict(row)
        episodes = section(row, "environment/")
        self.episodes = episodes or self.episodes
        for name, value in {"SPS": row.get("SPS"), **episodes}.items():
            if isinstance(value, (int, float)) and math.isfinite(value):
                self.histories.setdefault(name, History()).add(float(value))

    @property
    def step(self) -> int:
        """Steps done."""
        return int(self.row.get("global_step", self.start))

    @property
    def share(self) -> float:
        """Of all steps, 0 to 1."""
        return min(self.step / self.total, 1.0)

    @property
    def elapsed_s(self) -> float:
        """Seconds since this process began to train."""
        return time.monotonic() - self.began

    @property
    def left_s(self) -> float:
        """Seconds that the rest takes at the mean speed so far."""
        done = self.step - self.start
        return max(self.total - self.step, 0) * self.elapsed_s / done if done > 0 else math.inf


class History:
    """How a number went, from the start on, in at most POINTS means of equally many rows; and the last RECENT rows."""

    def __init__(self) -> None:
        self.points: list[float] = []
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.rows_per_point = 1
        self.begun: list[float] = []

    def add(self, value: float) -> None:
        """One row's."""
        self.recent.append(value)
        self.begun.append(value)
        if len(self.begun) < self.rows_per_point:
            return
        self.points = [*self.points, mean(self.begun)]  # a new list: another thread may be drawing the old one
        self.begun = []
        if len(self.points) == POINTS:
            self.points = [mean(self.points[k : k + 2]) for k in range(0, POINTS, 2)]
            self.rows_per_point *= 2

    @property
    def trend(self) -> int:
        """1: it has risen of late, -1: it has fallen, 0: neither, or by less than it scatters."""
        values = list(self.recent)
        half = len(values) // 2
        if half < 2:
            return 0
        before, after = values[:half], values[-half:]
        change = mean(after) - mean(before)
        scatter = math.sqrt((variance(before) + variance(after)) / half)
        return (change > 0) - (change < 0) if abs(change) > 2 * scatter else 0


def mean(values: list[float]) -> float:
    """Of at least one."""
    return sum(values) / len(values)


def variance(values: list[float]) -> float:
    """Of at least one, around their mean."""
    center = mean(values)
    return mean([(value - center) ** 2 for value in values])


class Machine:
    """The load of the machine, as far as it can be had for nothing: /proc, and what torch counts anyway."""

    def __init__(self) -> None:
        self.busy = self.all = 0
        self.cpu: float | None = None

    def load(self) -> list[tuple[str, str]]:
        """Names and values: the share of all cores in use since the last call, memory in use, and torch's on the GPU."""
        found: list[tuple[str, str]] = []
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open("/proc/stat", encoding="ascii") as file:
                ticks = [int(field) for field in file.readline().split()[1:9]]
            whole, busy = sum(ticks), sum(ticks) - ticks[3] - ticks[4]  # idle, and waiting for a disk
            if whole > self.all:
                self.cpu = (busy - self.busy) / (whole - self.all) if self.all else None
                self.busy, self.all = busy, whole
        if self.cpu is not None:
            found.append((f"{os.cpu_count()} cores", f"{self.cpu:.0%}"))
        with contextlib.suppress(OSError, ValueError, KeyError):
            lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()[:3]
            kib = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
            whole = kib["MemTotal"] * 1024
            found.append(("memory", gibibytes(whole - kib["MemAvailable"] * 1024, whole)))
        return found + gpu_memory()


def gpu_memory() -> list[tuple[str, str]]:
    """What torch holds of the GPU's memory, by its own count: no call to the driver, which another thread may be recording."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return []
    device = torch.cuda.current_device()
    return [("GPU memory", gibibytes(torch.cuda.memory_reserved(device), torch.cuda.get_device_properties(device).total_memory))]


def gibibytes(used: int, whole: int) -> str:
    """`1.5/16 GB`, of 2^30 bytes."""
    return f"{used / GIB:.1f}/{whole / GIB:.0f} GB"


def section(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries whose key begins with `prefix`, without it."""
    return {key[len(prefix) :]: value for key, value in row.items() if key.startswith(prefix)}


def ordered(episodes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Episode statistics, the ones that every user looks for first."""
    first = [name for name in LEADING if name in episodes]
    return [(name, episodes[name]) for name in [*first, *(name for name in episodes if name not in first)]]


def losses(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Losses, without counters of skipped things that are 0, as they should be."""
    return [(name, value) for name, value in section(row, "losses/").items() if value or not name.startswith("skipped")]


def time_shares(row: Mapping[str, Any]) -> list[tuple[str, float]]:
    """How the time was spent, in shares of what was measured."""
    seconds = {name: float(value) for name, value in section(row, "time/").items()}
    whole = sum(seconds.values())
    return [(name, value / whole) for name, value in seconds.items()] if whole > 0 else []


def number(value: Any) -> str:
    """At most some 8 characters, four digits that count."""
    if value is None:
        return "-"
    try:
        value = float(value)
    except (TypeError, ValueError):  # a callback may add what it likes
        return str(value)[:8]
    if value == int(value) and abs(value) < 1e7 if math.isfinite(value) else False:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def clock(seconds: float) -> str:
    """`1:02:03`, or `2:03`; `-` where it is not known."""
    if not math.isfinite(seconds):
        return "-"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
