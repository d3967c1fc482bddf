"""Lines at the bottom of a terminal that are drawn over again and again, with ordinary output above them.

Only one thread may draw. What the program prints meanwhile is caught line by line (`Caught`) and handed to the next drawing.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.segment import ControlType, Segment
from rich.text import Text

Line = Sequence[Segment]


class InPlace:
    """The lines that stand at the bottom of `console`'s terminal, the cursor at the end of the last one."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.widths: list[int] = []
        """Cells of each line on the screen; [] while there are none."""
        self.screen = console.size

    def draw(self, lines: Sequence[Line], above: Iterable[str] = ()) -> None:
        """Put `lines` where the last ones stood, below `above`. In one write, so that nothing flickers."""
        widths, screen, above = [Segment.get_line_length(list(line)) for line in lines], self.console.size, list(above)
        parts: list[Segment] = [] if self.widths else [Control.show_cursor(False).segment]
        parts += self.over() if (widths, screen) == (self.widths, self.screen) and not above else self.erase(screen.width)
        parts += self.printed(above)
        for k, line in enumerate(lines):
            parts += [*([Segment("\n")] if k else []), *line]
        self.widths, self.screen = widths, screen
        self.write(parts)

    def leave(self, above: Iterable[str] = ()) -> None:
        """Let the lines stand as they are and go below them, where `above` is printed; the next drawing begins anew."""
        parts = [Segment("\n"), Control.show_cursor(True).segment] if self.widths else []
        self.widths = []
        self.write([*parts, *self.printed(above)])

    def over(self) -> list[Segment]:
        """To the first cell of the first line."""
        up = [(ControlType.CURSOR_UP, len(self.widths) - 1)] if len(self.widths) > 1 else []
        return [Control(ControlType.CARRIAGE_RETURN, *up).segment]

    def erase(self, width: int) -> list[Segment]:
        """There, with all lines erased. A terminal that has become narrower has broken them into more."""
        rows = sum(max(1, -(-cells // max(width, 1))) for cells in self.widths)
        if not rows:
            return []
        erase = (ControlType.ERASE_IN_LINE, 2)
        return [Control(ControlType.CARRIAGE_RETURN, erase, *[(ControlType.CURSOR_UP, 1), erase] * (rows - 1)).segment]

    def printed(self, lines: Iterable[str]) -> list[Segment]:
        """Ordinary output, with the colours that it brings along."""
        parts: list[Segment] = []
        for line in lines:
            if "\x1b" in line:
                parts += self.console.render(Text.from_ansi(line, no_wrap=True, overflow="ignore", end=""))
            else:
                parts.append(Segment(line))
            parts.append(Segment("\n"))
        return parts

    def write(self, parts: list[Segment]) -> None:
        """Everything in one write."""
        if parts:
            self.console.print(Ready(encodable(parts, self.console.encoding)), crop=False, end="")


class Ready:
    """Segments as a renderable."""

    def __init__(self, parts: list[Segment]) -> None:
        self.parts = parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return self.parts


def encodable(parts: list[Segment], encoding: str) -> list[Segment]:
    """The same where the terminal speaks Unicode; elsewhere what it cannot show becomes `?`."""
    if encoding.lower().startswith("utf"):
        return parts
    return [Segment(p.text.encode(encoding, "replace").decode(encoding), p.style, p.control) for p in parts]


class Caught:
    """Stands in for a text stream: whole lines go to `lines`, which is safe in signal handlers. The rest is the stream's."""

    def __init__(self, stream: TextIO, lines: deque[str]) -> None:
        self.stream, self.lines = stream, lines
        self.begun = ""

    def write(self, text: str) -> int:
        """Keep the text until its line ends."""
        *whole, self.begun = (self.begun + text).split("\n")
        self.lines.extend(whole)
        return len(text)

    def flush(self) -> None:
        """A line that has begun ends here."""
        if self.begun:
            self.lines.append(self.begun)
            self.begun = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Redirected:
    """sys.stdout, sys.stderr and the log handlers that write to them, caught into `lines` until `close`.

    A process that is forked meanwhile, such as a worker that takes a dead one's place, has them as they were.
    """

    def __init__(self, lines: deque[str]) -> None:
        self.streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
        self.caught = {name: Caught(stream, lines) for name, stream in self.streams.items() if stream is not None}
        self.handlers: list[logging.StreamHandler[Any]] = []
        for name, stand_in in self.caught.items():
            setattr(sys, name, stand_in)
            for handler in stream_handlers():
                if handler.stream is self.streams[name]:
                    handler.setStream(stand_in)
                    self.handlers.append(handler)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=functools.partial(put_back, weakref.ref(self)))  # and stays so for good

    def close(self) -> None:
        """Put the streams back, unless somebody else has changed them meanwhile. Once."""
        for stand_in in self.caught.values():
            stand_in.flush()
        self.put_back()

    def put_back(self) -> None:
        """As `close`, but a line that has begun is lost."""
        for name, stand_in in self.caught.items():
            if getattr(sys, name) is stand_in:
                setattr(sys, name, self.streams[name])
            for handler in self.handlers:
                if handler.stream is stand_in:
                    handler.setStream(self.streams[name])
        self.caught = {}


def put_back(redirected: weakref.ref[Redirected]) -> None:
    """Where it still is."""
    if found := redirected():
        found.put_back()


def stream_handlers() -> list[logging.StreamHandler[Any]]:
    """Of all loggers."""
    known = [logging.root, *logging.Logger.manager.loggerDict.values()]
    found = [handler for logger in known if isinstance(logger, logging.Logger) for handler in logger.handlers]
    return [handler for handler in found if isinstance(handler, logging.StreamHandler)]
