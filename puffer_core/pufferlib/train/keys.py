"""Keys pressed in the terminal while a program works in its foreground.

A key arrives as it is pressed, without Enter and without being shown; Ctrl-C and Ctrl-Z stay what they are. The terminal is
only touched while this process is in the foreground: a background job that reads or changes a terminal is stopped by the system.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

if sys.platform == "win32":
    import msvcrt
else:
    import termios

ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?")
"""What arrows, function keys and Alt send: no keys of ours."""
POLL_S = 0.05
"""Between two looks at a Windows console, which cannot be waited for."""


def open_keys(stdin: TextIO | None = None) -> Keys:
    """The keys of the terminal that `stdin` (sys.stdin) is; from a pipe or a file nothing is ever read."""
    stdin = stdin or sys.stdin
    try:
        if stdin is None or not stdin.isatty():
            return Keys()
        return WindowsKeys() if sys.platform == "win32" else TerminalKeys(stdin.fileno())
    except (OSError, ValueError):  # closed, or a stand-in without a file descriptor
        return Keys()


class Keys:
    """No keys: there is no terminal to read."""

    is_terminal = False

    def wait(self, seconds: float) -> str:
        """The keys pressed, in lower case, as soon as there is one; "" after `seconds` without any."""
        time.sleep(seconds)
        return ""

    def release(self) -> None:
        """Give the terminal back as it was found. May be called any number of times; the next `wait` takes it again."""


class TerminalKeys(Keys):
    """Of a POSIX terminal. One thread at a time may call its methods, with SIGTTIN and SIGTTOU blocked: see `shielded`."""

    is_terminal = True

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.before: list[Any] | None = None
        """The terminal's modes as they were found, while they are changed."""

    def wait(self, seconds: float) -> str:
        """As Keys.wait."""
        if not in_foreground(self.descriptor):
            self.before = None  # the shell has the terminal now, and brings its modes along
            return super().wait(seconds)
        try:
            self.take()
            if not select.select([self.descriptor], [], [], seconds)[0]:
                return ""
            pressed = os.read(self.descriptor, 1024)
        except (OSError, termios.error):  # moved to the background just now, or the terminal is gone
            pressed = b""
        if not pressed:
            return super().wait(seconds)
        return ESCAPES.sub("", pressed.decode(errors="ignore")).lower()

    def take(self) -> None:
        """Have keys come one by one and unseen."""
        modes = termios.tcgetattr(self.descriptor)
        if modes[3] & termios.ICANON:
            self.before = [*modes[:6], list(modes[6])]
            modes[3] &= ~(termios.ICANON | termios.ECHO)
            modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self.descriptor, termios.TCSANOW, modes)

    def release(self) -> None:
        """As Keys.release."""
        if self.before is not None and in_foreground(self.descriptor):
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.descriptor, termios.TCSANOW, self.before)
        self.before = None


class WindowsKeys(Keys):
    """Of a Windows console, whose modes need no change."""

    is_terminal = True

    def wait(self, seconds: float) -> str:
        """As Keys.wait."""
        pressed = ""
        if sys.platform == "win32":
            end = time.monotonic() + seconds
            while not msvcrt.kbhit() and time.monotonic() < end:
                time.sleep(min(POLL_S, seconds))
            while msvcrt.kbhit():
                key = msvcrt.getwch()
                if key in "\x00\xe0":  # the first of two codes: an arrow or a function key
                    msvcrt.getwch()
                else:
                    pressed += key.lower()
        return pressed


def shielded() -> None:
    """Let this thread get an error, not stop the process, where it touches a terminal that it is just losing."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})


def in_foreground(descriptor: int) -> bool | None:
    """Whether this process is among those that the terminal's user talks to now. None: it cannot be known.

    A terminal need not be that of the process's own session: torchrun starts its ranks in new ones. Then the nearest ancestor
    whose terminal it is counts, where the system has /proc.
    """
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        pass
    with contextlib.suppress(OSError, ValueError):
        if launcher := launcher_at(os.fstat(descriptor).st_rdev):
            _, group, _, _, foreground = place_of(launcher)
            return group == foreground
    return None


@functools.lru_cache(maxsize=8)
def launcher_at(device: int) -> int:
    """The nearest ancestor whose controlling terminal is that device; 0 if there is none, or no /proc."""
    process = os.getppid()
    with contextlib.suppress(OSError, ValueError):
        while process > 0:
            parent, _, _, terminal, _ = place_of(process)
            if terminal == device:
                return process
            process = parent
    return 0


def place_of(process: int) -> list[int]:
    """Parent, process group, session, terminal and the terminal's foreground group, by /proc."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return [int(field) for field in fields[1:6]]


class CtrlZ:
    """While open, SIGTSTP (Ctrl-Z) first calls `leave`, then stops the process, and calls `back` once it goes on.

    Both are called from a signal handler of the main thread. Elsewhere than in the main thread, on Windows, and where the signal
    is ignored or taken, nothing is changed.
    """

    def __init__(self, leave: Any, back: Any) -> None:
        self.leave, self.back = leave, back
        self.is_open = False

    def open(self) -> None:
        """Begin."""
        if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
                signal.signal(signal.SIGTSTP, self.stop)
                self.is_open = True

    def close(self) -> None:
        """End. May be called any number of times."""
        if sys.platform != "win32" and self.is_open:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            self.is_open = False

    def stop(self, number: int, frame: Any) -> None:
        """The signal handler."""
        if sys.platform != "win32":
            self.leave()
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)  # returns when the process goes on
            signal.signal(signal.SIGTSTP, self.stop)
            self.back()
