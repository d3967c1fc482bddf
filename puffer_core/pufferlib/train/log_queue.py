"""One logger behind a bounded queue, in a thread of its own: nothing that a service does stops training or slows it.

| what happens | what the queue does |
|---|---|
| writing raises | says so once, and tries again after 0.5 s, 1 s, 2 s ... 30 s, for 5 minutes; then the row counts as lost |
| writing raises ValueError, TypeError or the like | the row itself is at fault: lost at once |
| writing takes long, or for ever | rows wait, up to MOST_WAITING; then the oldest is lost |
| training ends | rows that wait are written, within a time that `Loggers.close` sets; the rest is lost |

`Journal` is what a run's directory remembers of a logger: which run of the service it writes to, and what that run has.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from pufferlib.train.loggers import Logger

log = logging.getLogger(__name__)
MOST_WAITING = 4096
"""More than an hour at a row a second, some 10 MB."""
FIRST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_AT_THE_END_S = 0.5, 30.0, 2.0
GIVE_UP_S = 300.0
OWN_FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, NotImplementedError)
"""What another try would not mend, unless it is an OSError too, as the errors of some network libraries are."""


class Item(NamedTuple):
    """One thing to write: a row of numbers, or a file."""

    kind: Literal["row", "video", "checkpoint"]
    step: int
    content: Any


class Journal:
    """RUN/loggers/<name>.jsonl, appended to line by line, so that a kill at any moment tears at most the last line.

    state: what the logger's `start` returned when the run began, None in a new run
    step: of the last row that the logger has written, -1 before the first. files: the names of the files it has written
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: dict[str, Any] | None = None
        self.step = -1
        self.files: set[str] = set()
        self._is_torn = False
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            self._is_torn = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            return
        if isinstance(entry, dict):
            self.state = entry.get("run", self.state)
            self.step = max(self.step, int(entry.get("step", self.step)))
            self.files.update(name for name in [entry.get("file")] if name)

    def begin(self, state: Mapping[str, Any]) -> None:
        """Open the file; the state is on the disk itself before any row is written. Raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a", encoding="utf-8", buffering=1)
        if self._is_torn:
            self._file.write("\n")
        if self.state != state:
            self.state = dict(state)
            self._append({"run": self.state})
            os.fsync(self._file.fileno())

    def wrote(self, item: Item) -> None:
        """Remember it. Raises OSError."""
        if item.kind == "row":
            self.step = max(self.step, item.step)
            self._append({"step": item.step})
        else:
            self.files.add(name_of(item))
            self._append({"file": name_of(item)})

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")

    def close(self) -> None:
        """No more lines."""
        self._file.close()


class LogQueue:
    """Hands `logger`, which has been started, what comes, one by one and in order.

    journal: is open. backlog: rows of a resumed run that an earlier process may not have got rid of
    written, lost: how many rows and files were; left_out: numbers that were NaN or infinite. error: the last one, in words
    """

    def __init__(self, name: str, logger: Logger, journal: Journal, backlog: Iterable[Item] = ()) -> None:
        self.name, self.logger, self.journal = name, logger, journal
        self.known_step = journal.step if logger.newest_step is None else logger.newest_step
        self.written = {"row": 0, "file": 0}
        self.lost = {"row": 0, "file": 0}
        self.error = ""
        self._backlog = deque(item for item in backlog if item.step > self.known_step)
        self._waiting: deque[Item] = deque()
        self._current: Item | None = None
        self._changed = threading.Condition()
        self._deadline: float | None = None
        self._has_warned = self._has_warned_of_journal = False
        self._thread = threading.Thread(target=self._work, name=f"logger {name}", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ what the training thread calls: nothing here waits

    def put(self, item: Item) -> None:
        """Have it written. A row that the service has already, and a file that it has, are passed over."""
        if item.step <= self.known_step if item.kind == "row" else name_of(item) in self.journal.files:
            return
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                self._lose(self._waiting.popleft(), f"{MOST_WAITING} rows wait already")
            self._waiting.append(item)
            self._changed.notify()

    def end(self, deadline: float) -> None:
        """No more comes; write what waits until `deadline` (time.monotonic()), then let the logger close."""
        with self._changed:
            self._deadline = deadline
            self._changed.notify()

    # ------------------------------------------------------------ the end

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, within so many seconds."""
        self._thread.join(max(seconds, 0.0))
        return not self._thread.is_alive()

    def left(self) -> int:
        """Rows and files that wait or are being written."""
        return len(self._backlog) + len(self._waiting) + (self._current is not None)

    def abandon(self) -> None:
        """Wait no longer for a thread that does not end: what is left is lost."""
        with self._changed:
            current = [self._current] if self._current else []
            for item in (*current, *self._backlog, *self._waiting):
                self._lose(item, self.error or "the logger did not answer in time")
            self._backlog.clear()
            self._waiting.clear()
            self._current = None

    def report(self) -> str:
        """`3 of 120 rows could not be written: why`, or "" if all is well."""
        parts = [
            f"{self.lost[kind]} of {self.written[kind] + self.lost[kind]} {kind}s" for kind in ("row", "file") if self.lost[kind]
        ]
        return f"{' and '.join(parts)} could not be written: {self.error}" if parts else ""

    # ------------------------------------------------------------ the thread

    def _work(self) -> None:
        while (item := self._next()) is not None:
            self._write(item)
        try:
            self.logger.close()
        except BaseException as error:  # some packages exit: in this thread that must end nothing else
            log.warning("logger %s failed to close: %s", self.name, describe(error))
        self.journal.close()

    def _next(self) -> Item | None:
        """The next thing to write, as soon as there is one; None at the end."""
        with self._changed:
            while not (self._backlog or self._waiting or self._deadline is not None):
                self._changed.wait()
            source = self._backlog or self._waiting
            self._current = source.popleft() if source else None
            return self._current

    def _write(self, item: Item) -> None:
        began, pause = time.monotonic(), FIRST_PAUSE_S
        while True:
            try:
                deliver(self.logger, item)
            except BaseException as error:
                self.error = describe(error)
                is_hopeless = isinstance(error, OWN_FAULTS) and not isinstance(error, OSError)
                is_hopeless = is_hopeless or (item.kind != "row" and not Path(item.content).exists())
                self._warn(item, "is left out" if is_hopeless else "will be tried again")
                if is_hopeless or time.monotonic() - began > GIVE_UP_S or not self._pause(pause):
                    with self._changed:
                        if self._current is not None:  # else `abandon` has counted it
                            self._lose(item, self.error)
                            self._current = None
                    return
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                self._remember(item)
                with self._changed:
                    if self._current is not None:
                        self.written[counted(item)] += 1
                        self._current = None
                return

    def _warn(self, item: Item, what_now: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "logger %s: the %s of step %d could not be written and %s (training goes on; said only once): %s",
                self.name, item.kind, item.step, what_now, self.error,
            )  # fmt: skip

    def _pause(self, seconds: float) -> bool:
        """Sleep, less when the end has come. Whether there is time for another try."""
        with self._changed:
            if self._deadline is None:
                self._changed.wait(seconds)  # the end wakes it
            elif time.monotonic() < self._deadline:
                seconds = min(seconds, LONGEST_PAUSE_AT_THE_END_S, self._deadline - time.monotonic())
                self._changed.wait_for(lambda: False, max(seconds, 0.0))
            return self._deadline is None or time.monotonic() < self._deadline

    def _remember(self, item: Item) -> None:
        try:
            self.journal.wrote(item)
        except (OSError, ValueError) as error:  # ValueError: closed
            if not self._has_warned_of_journal:
                self._has_warned_of_journal = True
                log.warning("logger %s: %s cannot be written, a resumed run may log rows twice: %s", self.name,
                            self.journal.path, describe(error))  # fmt: skip

    def _lose(self, item: Item, why: str) -> None:
        self.lost[counted(item)] += 1
        self.error = why


def deliver(logger: Logger, item: Item) -> None:
    """Call the method that the item is for."""
    if item.kind == "row":
        logger.log(dict(item.content), item.step)
    elif item.kind == "video":
        logger.log_video(Path(item.content).absolute(), item.step)
    else:
        logger.log_checkpoint(Path(item.content).absolute(), item.step)


def counted(item: Item) -> str:
    return "row" if item.kind == "row" else "file"


def name_of(item: Item) -> str:
    """Of a file, in the journal. A checkpoint's name may be used again and again."""
    step = f"{item.step}/" if item.kind == "checkpoint" else ""
    return f"{item.kind}/{step}{Path(item.content).name}"


def describe(error: BaseException) -> str:
    """Type and first line."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
