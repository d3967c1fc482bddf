"""A terminal for tests: programs run in it as a user's shell would run them, and its screen can be read."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

PATIENCE_S = 100.0
"""Nothing is expected to take as long, but on a busy machine."""


class Terminal:
    """A pseudo-terminal, which is the controlling one of the program in it, and the screen that a user would see."""

    def __init__(self, *argv, columns=80, rows=24, environment=None):
        import pty

        import pyte

        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        """All that was ever written to it."""
        self.code = None
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            kept = {
                name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
            }
            try:
                kept.update(
                    {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", **(environment or {})}
                )
                os.execvpe(argv[0], argv, kept)
            finally:
                os._exit(127)
        self.resize(columns, rows)

    def resize(self, columns, rows):
        """As when the user drags the window's corner."""
        import termios

        termios.tcsetwinsize(self.end, (rows, columns)) if hasattr(termios, "tcsetwinsize") else self._ioctl(columns, rows)
        self.screen.resize(rows, columns)

    def _ioctl(self, columns, rows):
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def text(self):
        """The screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def modes(self):
        """How the terminal treats keys now."""
        import termios

        return termios.tcgetattr(self.end)

    @property
    def is_cooked(self):
        """Whether keys wait for Enter and are shown."""
        import termios

        wanted = termios.ICANON | termios.ECHO
        return self.modes[3] & wanted == wanted

    def press(self, keys):
        """Type."""
        os.write(self.end, keys.encode())

    def read(self, seconds=0.1):
        """Show what comes within that time. Returns False once the program has closed the terminal."""
        if select.select([self.end], [], [], seconds)[0]:
            try:
                came = os.read(self.end, 65536)
            except OSError:  # Linux's way to say that the other end is closed
                return False
            self.raw += came
            self.stream.feed(came)
            return bool(came)
        return True

    def until(self, wanted):
        """Wait for a text on the screen, or for a function to be true."""
        end = time.monotonic() + PATIENCE_S
        while not (wanted in self.text if isinstance(wanted, str) else wanted()):
            assert time.monotonic() < end, f"in vain: {wanted}\n{self.text}"
            if not self.read():
                assert wanted in self.text if isinstance(wanted, str) else wanted(), f"ended before {wanted}\n{self.text}"

    def wait(self):
        """Until the program ends. Returns its exit code."""
        while self.code is None and self.read():
            pass
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def close(self):
        """End all that runs in it."""
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.end)  # hangs up on what is left


@pytest.fixture
def terminal():
    """Makes terminals: `terminal("puffer", "train", ...)`."""
    pytest.importorskip("pty", reason="pseudo-terminals are POSIX's")
    pytest.importorskip("pyte", reason="the screens of terminals are read with pyte")
    opened = []

    def make(*argv, **how):
        opened.append(Terminal(*map(str, argv), **how))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def watched(terminal):
    """A terminal in which a program uses the dashboard as training does; see watched.py."""
    return lambda *words, **how: terminal(sys.executable, Path(__file__).with_name("watched.py"), *words, **how)
