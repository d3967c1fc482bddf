"""Ctrl-C while training: the first one lets the step finish, the second ends at once.

The handlers stand only inside the `with` block. SIGTERM, which cluster schedulers send, counts like the first Ctrl-C.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

STEP_LIMIT_S = 5.0
"""A step that takes longer than this after the first Ctrl-C is broken off, so that the program ends within 10 s."""


class StepBrokenOff(KeyboardInterrupt):
    """The step did not finish in time after Ctrl-C, or a second Ctrl-C came."""


class StartUp:
    """A context manager for what comes before the first step: Ctrl-C is a KeyboardInterrupt, and is remembered.

    Somebody may swallow that exception: a bare `except` around an import in another package, or a destructor that Python was in.
    The `Interrupt` that begins afterwards then knows that it was asked to stop.
    """

    def __init__(self) -> None:
        self.requested = 0
        self.before: Any = None

    def __enter__(self) -> StartUp:
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self.requested = number
        raise KeyboardInterrupt


class Interrupt:
    """A context manager; `requested` is the number of the first signal that asked to stop, else 0.

    on_request: called when that signal arrives, from inside whatever the main thread is doing then, be it a print
    """

    def __init__(self, on_request: Callable[[], None] = lambda: None) -> None:
        self.requested = 0
        self.on_request = on_request
        self.before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """The shell's code for a program that this signal ended: 130 for Ctrl-C."""
        return 128 + self.requested

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():  # Python allows handlers nowhere else
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self.handle)
            start_up = self.before[signal.SIGINT]
            if isinstance(start_up, StartUp) and start_up.requested:
                self.requested = start_up.requested
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.finished_step()
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if self.requested:
            raise StepBrokenOff
        self.requested = number
        if sys.platform != "win32":
            self.before.setdefault(signal.SIGALRM, signal.signal(signal.SIGALRM, self.overdue))
            signal.setitimer(signal.ITIMER_REAL, STEP_LIMIT_S)
        self.on_request()

    def overdue(self, number: int, frame: FrameType | None) -> None:
        """The alarm's handler."""
        raise StepBrokenOff

    def finished_step(self) -> None:
        """The step is over in time: disarm the alarm."""
        if sys.platform != "win32" and signal.SIGALRM in self.before:
            signal.setitimer(signal.ITIMER_REAL, 0)
