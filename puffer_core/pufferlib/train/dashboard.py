"""What a training run shows while it runs: a live panel on a terminal, one line every few seconds elsewhere.

Both are handed the same rows that go to metrics.jsonl, and redraw only then, so that their cost stays far below a step's.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

STOPPING = "stopping after this step and saving; Ctrl-C again ends at once"
LINE_INTERVAL_S = 5.0
REDRAW_INTERVAL_S = 0.5
MOST_ROWS = 9
"""Lines of a column of the panel; what does not fit stands in metrics.jsonl."""
SHORT = {"n": "episodes", "explained_variance": "expl. variance"}
"""What the panel calls metrics whose own name says too little, or does not fit in 80 columns."""
LEADING = ("score", "perf", "episode_return", "episode_length")
"""Episode statistics in this order first, the rest as the env gives them."""


class Dashboard(Protocol):
    """What the training loop tells its user."""

    def update(self, row: Mapping[str, Any]) -> None:
        """A new row of metrics, as `PuffeRL.mean_and_log` gives it."""

    def saved(self, path: str) -> None:
        """A checkpoint was written."""

    def say(self, text: str) -> None:
        """A message that must not be lost."""

    def stopping(self) -> None:
        """Ctrl-C was pressed. Called from a signal handler: it must be safe in the middle of another method."""

    def close(self) -> None:
        """Leave the last state on the screen."""


def make_dashboard(title: str, total_timesteps: int, start_step: int = 0, stream: TextIO | None = None) -> Dashboard:
    """The live panel if `stream` (stdout) is a terminal, else plain lines."""
    stream = stream or sys.stdout
    kind = LiveDashboard if stream.isatty() else LineDashboard
    return kind(title, total_timesteps, start_step, stream)


class Progress:
    """What both kinds know: rows so far, elapsed time and the rest of it."""

    def __init__(self, title: str, total: int, start: int) -> None:
        self.title, self.total, self.start = title, max(total, 1), start
        self.began = time.monotonic()
        self.row: dict[str, Any] = {}
        self.episodes: dict[str, Any] = {}
        self.checkpoint = ""

    def take(self, row: Mapping[str, Any]) -> None:
        """Keep the row; a row without ended episodes leaves the last statistics standing."""
        self.row = dict(row)
        self.episodes = section(row, "environment/") or self.episodes

    @property
    def step(self) -> int:
        """Steps done."""
        return int(self.row.get("global_step", self.start))

    @property
    def elapsed_s(self) -> float:
        """Seconds since this process began to train."""
        return time.monotonic() - self.began

    @property
    def left_s(self) -> float:
        """Seconds that the rest takes at the mean speed so far."""
        done = self.step - self.start
        return max(self.total - self.step, 0) * self.elapsed_s / done if done > 0 else math.inf


class LineDashboard(Progress):
    """One line at most every LINE_INTERVAL_S, for pipes and log files."""

    def __init__(self, title: str, total: int, start: int = 0, stream: TextIO | None = None) -> None:
        super().__init__(title, total, start)
        self.stream = stream or sys.stdout
        self.printed_at, self.printed_step = -math.inf, -1
        self.say(title)

    def update(self, row: Mapping[str, Any]) -> None:
        """Print the row, unless the last one was printed just now."""
        self.take(row)
        if time.monotonic() - self.printed_at >= LINE_INTERVAL_S:
            self.print_row()

    def print_row(self) -> None:
        """Print the newest row."""
        self.printed_at = time.monotonic()
        self.printed_step = self.step
        shown = [f"{name} {number(value)}" for name, value in ordered(self.episodes)[:4]]
        self.say(
            "  ".join(
                [
                    f"{min(self.step / self.total, 1):4.0%}",
                    f"step {self.step:,}",
                    f"{self.row.get('SPS', 0):,.0f} steps/s",
                    *shown,
                    f"ETA {clock(self.left_s)}",
                ]
            )
        )

    def saved(self, path: str) -> None:
        """Nothing: the end of the run names the last checkpoint."""
        self.checkpoint = path

    def say(self, text: str) -> None:
        """Print the line now. A reader that went away is no reason to stop training: metrics.jsonl has it all."""
        with contextlib.suppress(BrokenPipeError):
            print(text, file=self.stream, flush=True)

    def stopping(self) -> None:
        """Say so on stderr, past Python's buffers, which may be in the middle of a print."""
        with contextlib.suppress(OSError):
            os.write(2, f"\n{STOPPING}\n".encode())

    def close(self) -> None:
        """Print the last row, if it was not."""
        if self.row and self.step != self.printed_step:
            self.print_row()


class LiveDashboard(Progress):
    """A panel that is redrawn in place with every row."""

    def __init__(
        self, title: str, total: int, start: int = 0, stream: TextIO | None = None, console: Console | None = None
    ) -> None:  # fmt: skip
        super().__init__(title, total, start)
        self.console = console or Console(file=stream, highlight=False)
        self.hint = "Ctrl-C saves and stops"
        self.drawing = False
        self.drawn_at = -math.inf
        self.live = Live(self.panel(), console=self.console, auto_refresh=False, redirect_stderr=True, redirect_stdout=True)
        self.live.start()

    def update(self, row: Mapping[str, Any]) -> None:
        """Take the row over; redraw, unless that was done just now."""
        self.take(row)
        if time.monotonic() - self.drawn_at >= REDRAW_INTERVAL_S:
            self.draw()

    def draw(self) -> None:
        """Redraw, once more if the hint changed meanwhile."""
        hint: str | None = None
        self.drawn_at = time.monotonic()
        while hint != self.hint:
            hint, self.drawing = self.hint, True
            try:
                self.live.update(self.panel(), refresh=True)
            finally:
                self.drawing = False

    def saved(self, path: str) -> None:
        """Shown with the next row."""
        self.checkpoint = path

    def say(self, text: str) -> None:
        """Print the line above the panel."""
        self.drawing = True
        try:
            self.console.print(Text(text))
        finally:
            self.drawing = False

    def stopping(self) -> None:
        """Change the hint, now or, in the middle of a drawing, right after it."""
        self.hint = STOPPING
        if not self.drawing:
            self.draw()

    def close(self) -> None:
        """Draw once more and let the cursor go below the panel."""
        self.hint = ""
        self.draw()
        self.live.stop()

    def panel(self) -> RenderableType:
        """The whole panel."""
        share = min(self.step / self.total, 1.0)
        head = Table.grid(expand=True, padding=(0, 1))
        head.add_column(ratio=1)
        head.add_column(justify="right", no_wrap=True)
        head.add_row(ProgressBar(total=1.0, completed=share), Text(f"{share:4.0%}  ETA {clock(self.left_s)}", style="bold"))
        head.add_row(
            Text(f"{self.step:,} of {self.total:,} steps", no_wrap=True),
            Text(f"{self.row.get('SPS', 0):,.0f} steps/s", style="bold green"),
        )
        head.add_row(
            Text(f"epoch {number(self.row.get('epoch', 0))}  learning rate {number(self.row.get('learning_rate'))}", style="dim"),
            Text(f"elapsed {clock(self.elapsed_s)}", style="dim"),
        )
        body = Table.grid(expand=True, padding=(0, 2))
        for _ in range(3):
            body.add_column(ratio=1)
        body.add_row(
            column("episodes", [(name, number(value)) for name, value in ordered(self.episodes)], "cyan"),
            column("losses", [(name, number(value)) for name, value in losses(self.row)], "magenta"),
            column("time", time_shares(self.row), "yellow"),
        )
        foot = Text(f"checkpoint {self.checkpoint or 'none yet'}", style="dim", no_wrap=True, overflow="ellipsis")
        parts: list[RenderableType] = [head, "", body, "", foot, *([Text(self.hint, style="dim")] if self.hint else [])]
        return Panel(Group(*parts), title=Text(self.title, style="bold"), title_align="left", border_style="blue")


def column(name: str, pairs: list[tuple[str, str]], style: str) -> Table:
    """A titled list of names and values."""
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column(justify="right", no_wrap=True)
    table.add_row(Text(name, style=f"bold {style}"), "")
    for key, value in pairs[:MOST_ROWS]:
        table.add_row(SHORT.get(key, key.replace("_", " ")), value)
    if len(pairs) > MOST_ROWS:
        table.add_row(Text(f"and {len(pairs) - MOST_ROWS} more", style="dim"), "")
    return table


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


def time_shares(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How the time was spent, in percent of what was measured."""
    seconds = {name: float(value) for name, value in section(row, "time/").items()}
    whole = sum(seconds.values())
    return [(name, f"{value / whole:.0%}") for name, value in seconds.items()] if whole > 0 else []


def number(value: Any) -> str:
    """At most some 8 characters, four digits that count."""
    if value is None:
        return "-"
    value = float(value)
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
