"""What a training run shows while it runs: a live panel on a terminal, one line every few seconds elsewhere.

Both are handed the same rows that go to metrics.jsonl. The live one draws in a thread of its own, a few times in two seconds, so
that a key is answered and a clock goes on however long an epoch takes; the training loop only leaves it notes.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol, TextIO

from rich.console import Console

from pufferlib.train.in_place import InPlace, Redirected
from pufferlib.train.keys import CtrlZ, Keys, in_foreground, open_keys, shielded
from pufferlib.train.panel import Extras, draw_panel
from pufferlib.train.progress import Machine, Progress, clock, number, ordered

STOPPING = "stopping after this step and saving; Ctrl-C again ends at once"
LINE_INTERVAL_S = 5.0
REDRAW_INTERVAL_S = 0.5
"""Between drawings for new rows. Keys and messages are shown at once."""
CLOCK_INTERVAL_S = 2.0
"""Between drawings without anything new but the time."""
LOOK_S = 0.1
"""How long the drawing thread sleeps, unless a key is pressed."""
NOTES = 3
MOST_LINES = 100_000
"""Of output that wait to be printed: a terminal may be slow, or gone."""
QUITTING = "stopping after this epoch and saving; Ctrl-C breaks it off after 5 s"
ONGOING = "recording "
"""Notes that begin so are of something that goes on: what is noted next takes their place."""
QUIT, SAVE, VIDEO = "q", "s", "v"
ANSWERS = {
    SAVE: "writing a checkpoint after this epoch",
    VIDEO: "recording an episode after this epoch",
}
KEY_FOOTERS = ("q save and quit   s checkpoint   v video   h help", "q quit  s save  v video  h help")
KEY_HELP = (
    ("q", "finish this epoch, write a checkpoint and stop"),
    ("s", "write a checkpoint after this epoch"),
    ("v", "record one episode with the policy of now, into the run's videos/"),
    ("h or ?", "show and hide these lines"),
    ("Ctrl-C", "as q, but a step over 5 s is broken off; twice: stop at once"),
)


class Dashboard(Protocol):
    """What the training loop tells its user, and hears of him."""

    def update(self, row: Mapping[str, Any]) -> None:
        """A new row of metrics, as `PuffeRL.mean_and_log` gives it."""

    def saved(self, path: str) -> None:
        """A checkpoint was written."""

    def say(self, text: str) -> None:
        """A message that must not be lost."""

    def note(self, text: str) -> None:
        """News that may be forgotten after a while."""

    def keys(self) -> str:
        """QUIT, SAVE and VIDEO as they were pressed since the last call."""

    def stopping(self) -> None:
        """Ctrl-C was pressed. Called from a signal handler: it must be safe in the middle of another method."""

    def close(self) -> None:
        """Leave the last state on the screen."""


def make_dashboard(title: str, total_timesteps: int, start_step: int = 0, stream: TextIO | None = None) -> Dashboard:
    """The live panel if `stream` (stdout) is a terminal that can move its cursor (TERM is not `dumb`), else plain lines."""
    stream = stream or sys.stdout
    if stream.isatty():
        console = Console(file=stream, highlight=False)
        if not console.is_dumb_terminal:
            return LiveDashboard(title, total_timesteps, start_step, console, open_keys())
    return LineDashboard(title, total_timesteps, start_step, stream)


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
                    f"{self.share:4.0%}",
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

    def note(self, text: str) -> None:
        """As any message."""
        self.say(text)

    def keys(self) -> str:
        """None are read."""
        return ""

    def stopping(self) -> None:
        """Say so on stderr, past Python's buffers, which may be in the middle of a print."""
        with contextlib.suppress(OSError):
            os.write(2, f"\n{STOPPING}\n".encode())

    def close(self) -> None:
        """Print the last row, if it was not."""
        if self.row and self.step != self.printed_step:
            self.print_row()


class LiveDashboard(Progress):
    """A panel at the bottom of the terminal, with the program's other output above it, and keys.

    Only the thread draws and touches the terminal. All other methods leave something for it to find, without a lock, so that a
    signal handler may call them too. While the process is in the background, the terminal is left alone.
    """

    def __init__(
        self, title: str, total: int, start: int = 0, console: Console | None = None, keys: Keys | None = None
    ) -> None:  # fmt: skip
        super().__init__(title, total, start)
        self.console = console or Console(highlight=False)
        self.terminal = keys or Keys()
        self.place = InPlace(self.console)
        self.machine = Machine()
        self.lines: deque[str] = deque(maxlen=MOST_LINES)
        """To be printed above the panel."""
        self.notes: list[str] = []
        self.pressed: deque[str] = deque()
        self.hint, self.shows_help = "", False
        self.is_new, self.is_urgent, self.drawn_at = False, True, -math.inf
        self.is_paused = self.is_closing = self.is_left = False
        self.output = Redirected(self.lines)
        self.ctrl_z = CtrlZ(self.pause, self.go_on)
        self.ctrl_z.open()
        self.thread = threading.Thread(target=self.work, name="dashboard")
        self.thread.start()

    # ------------------------------------------------------------ what the training loop calls

    def update(self, row: Mapping[str, Any]) -> None:
        """Shown with the next drawing."""
        self.take(row)
        self.is_new = True

    def saved(self, path: str) -> None:
        """Shown with the next drawing, and at once if it was asked for."""
        self.checkpoint = path
        self.is_new = True
        if ANSWERS[SAVE] in self.notes:
            self.answer(ANSWERS[SAVE], f"saved {path}")

    def say(self, text: str) -> None:
        """Print the line above the panel."""
        self.lines.append(text)

    def note(self, text: str) -> None:
        """Show the line in the panel, until NOTES others have come."""
        self.answer(ONGOING, text)

    def answer(self, asked: str, text: str) -> None:
        """Show `text`, in place of notes that begin with `asked`."""
        kept = [note for note in self.notes if not note.startswith(asked)]
        self.notes = [*kept, text][-NOTES:]  # a new list: the other thread may be reading the old one
        self.is_urgent = True

    def keys(self) -> str:
        """As Dashboard.keys."""
        found = ""
        while self.pressed:
            found += self.pressed.popleft()
        return found

    def stopping(self) -> None:
        """Change the footer."""
        self.hint = STOPPING
        self.is_urgent = True

    def close(self) -> None:
        """Draw once more, go below the panel and give the terminal back. May be called any number of times."""
        self.hint, self.is_closing = "", True
        try:
            self.thread.join()
        finally:  # also where a second Ctrl-C breaks in: the thread ends soon, and Python waits for it
            self.output.close()
            self.ctrl_z.close()
        while self.lines:  # what came late, or after the terminal was gone
            with contextlib.suppress(OSError):
                print(self.lines.popleft(), file=self.console.file, flush=True)

    def pause(self) -> None:
        """Before Ctrl-Z stops the process: wait until the thread has left the terminal."""
        self.is_paused = True
        end = time.monotonic() + 1.0
        while not self.is_left and self.thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)

    def go_on(self) -> None:
        """After Ctrl-Z."""
        self.is_paused = False

    # ------------------------------------------------------------ the thread

    def work(self) -> None:
        """Look, answer and draw until `close`, or until the main thread has ended without it."""
        shielded()
        try:
            while not self.is_closing and threading.main_thread().is_alive():
                if self.must_leave():
                    self.leave()
                    time.sleep(LOOK_S)
                else:
                    self.look()
            if not self.must_leave():
                self.draw()
        except (OSError, SystemExit):  # the terminal is gone, which is how rich says it of a pipe; training goes on
            self.place.widths = []
        finally:
            with contextlib.suppress(OSError, SystemExit):
                self.leave()

    def must_leave(self) -> bool:
        """Whether the terminal is another's now, or will be."""
        try:
            return self.is_paused or in_foreground(self.console.file.fileno()) is False
        except (OSError, ValueError):  # no file descriptor
            return False

    def look(self) -> None:
        """Wait a moment for a key; draw if there is something new."""
        self.is_left = False
        for key in self.terminal.wait(LOOK_S):
            self.press(key)
        if self.must_leave():  # the process may have been stopped meanwhile
            return
        age = time.monotonic() - self.drawn_at
        is_due = self.is_new and age >= REDRAW_INTERVAL_S
        if is_due or self.is_urgent or self.lines or age >= CLOCK_INTERVAL_S or self.place.screen != self.console.size:
            self.draw()

    def press(self, key: str) -> None:
        """Answer a key, and keep it for the training loop."""
        if key == QUIT:
            self.pressed.append(key)
            self.hint, self.is_urgent = self.hint or QUITTING, True
        elif key in ANSWERS:
            self.pressed.append(key)
            self.answer(ANSWERS[key], ANSWERS[key])
        elif key in "h?":
            self.shows_help = not self.shows_help
            self.is_urgent = True

    def draw(self) -> None:
        """Draw the panel, and print what came in above it."""
        self.is_new = self.is_urgent = False
        self.drawn_at = time.monotonic()
        size = self.console.size
        lines = draw_panel(self, self.extras(), size.width, size.height - 1, ascii_only=self.console.options.ascii_only)
        self.place.draw(lines, self.taken_lines())

    def extras(self) -> Extras:
        """What the panel shows beside the run's numbers."""
        footers: tuple[str, ...] = KEY_FOOTERS if self.terminal.is_terminal else ("Ctrl-C saves and stops",)
        if self.hint or self.is_closing:
            footers = (self.hint,)
        shown_help = KEY_HELP if self.shows_help and self.terminal.is_terminal and not self.is_closing else ()
        return Extras(footers, bool(self.hint), self.notes, shown_help, self.machine.load())

    def taken_lines(self) -> list[str]:
        """What is to be printed above the panel now."""
        return [self.lines.popleft() for _ in range(len(self.lines))]

    def leave(self) -> None:
        """Give the terminal back, with the cursor below the panel."""
        self.terminal.release()
        self.place.leave(self.taken_lines())
        self.is_left, self.is_urgent = True, True
