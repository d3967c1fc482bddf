"""The live panel of a training run as lines of text, laid out by hand: a drawing takes less than a millisecond or two.

It fits the terminal: from 80 columns and 24 rows on everything is there, smaller ones lose the least important things first.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from pufferlib.train.progress import History, Progress, clock, losses, number, ordered, time_shares

Span = tuple[str, str]
"""Text and its style."""
WIDEST = 120
MOST_ROWS = 9
"""Lines of a column; what does not fit stands in metrics.jsonl."""
LEAST_ROWS = 3
GAP = 3
"""Cells between columns."""
SHORT = {"n": "episodes", "episode_return": "return", "episode_length": "length", "explained_variance": "expl. variance"}
"""What the panel calls metrics whose own name says too little, or does not fit in 80 columns."""
SPEED_CELLS = 12
NOTHING = History()


class Glyphs(NamedTuple):
    """What the panel is drawn with."""

    corners: str
    across: str
    down: str
    done: str
    levels: str
    arrows: str
    more: str


UNICODE = Glyphs("╭╮╰╯", "─", "│", "━", "▁▂▃▄▅▆▇█", "↘ ↗", "…")
ASCII = Glyphs("++++", "-", "|", "#", "_.-=*#", "v ^", "~")


class Extras(NamedTuple):
    """What the panel shows beside the run's numbers."""

    footers: Sequence[str] = ()
    """For the lower border: the first that fits."""
    alert: bool = False
    """The footer must be noticed."""
    notes: Sequence[str] = ()
    help: Sequence[tuple[str, str]] = ()
    """Keys and what they do."""
    machine: Sequence[tuple[str, str]] = ()


def draw_panel(run: Progress, extras: Extras, width: int, height: int, *, ascii_only: bool = False) -> list[list[Segment]]:
    """The panel, at most `width` cells wide and `height` lines high."""
    glyphs = ASCII if ascii_only else UNICODE
    width = min(width, WIDEST)
    inner = width - 4
    if inner < 16 or height < 5:
        line = [(f"{run.share:4.0%} {run.step:,} of {run.total:,} steps", "bold")]
        return [segments(fitted(line, max(width, 1), glyphs))]
    lines = [border([run.title], width, glyphs)]
    body = contents(run, extras, inner, height - 2, glyphs)[: height - 2]
    frame = (glyphs.down, "blue")
    lines += [[frame, (" ", ""), *fitted(line, inner, glyphs), (" ", ""), frame] for line in body]
    lines.append(border(extras.footers, width, glyphs, "bold yellow" if extras.alert else "dim", lower=True))
    return [segments(line) for line in lines]


def contents(run: Progress, extras: Extras, width: int, height: int, glyphs: Glyphs) -> list[list[Span]]:
    """All between the borders, most important first where there is no room for all."""
    head = heading(run, width, glyphs)
    foot: list[list[Span]] = [[("checkpoint ", "dim"), (run.checkpoint or "none yet", "")]]
    foot += [[(printable(note), "")] for note in extras.notes]
    foot += [[(f"{key:<8}", "bold cyan"), (text, "")] for key, text in extras.help]
    score = course(run, width, glyphs)
    rows = height - len(head) - len(foot) - 3  # two empty lines, and the columns' titles
    with_score = bool(score) and rows - 2 >= LEAST_ROWS
    rows = min(rows - 2 if with_score else rows, MOST_ROWS)
    body: list[list[Span]] = [[]]
    if with_score:
        body += [score, []]
    if rows < LEAST_ROWS:
        return [*head, *([score] if score else []), *foot]
    return [*head, *body, *columns(run, extras, width, rows, glyphs), [], *foot]


def heading(run: Progress, width: int, glyphs: Glyphs) -> list[list[Span]]:
    """How far it is, and how fast."""
    left = f"{clock(run.left_s)} left"
    end = f" {run.share:4.0%}  {left:>12}"
    cells = max(width - len(end), 0)
    done = round(run.share * cells)
    speed = run.histories.get("SPS")
    line = spark(list(speed.recent)[-SPEED_CELLS:], SPEED_CELLS, glyphs) if speed and width >= 60 else ""
    per_second = number_of(run.row.get("SPS", 0))
    return [
        [(glyphs.done * done, "green"), (glyphs.across * (cells - done), "dim"), (end, "bold")],
        apart(
            [(f"{run.step:,}", "bold"), (f" of {run.total:,} steps", "")],
            [(line, "green"), (f"  {per_second} steps/s", "bold green")], width,
        ),
        apart(
            [(f"epoch {number(run.row.get('epoch', 0))}   learning rate {number(run.row.get('learning_rate'))}", "dim")],
            [(f"elapsed {clock(run.elapsed_s)}", "dim")], width,
        ),
    ]  # fmt: skip


def course(run: Progress, width: int, glyphs: Glyphs) -> list[Span]:
    """The statistic that matters most, from the start until now."""
    for name, value in ordered(run.episodes)[:1]:
        history = run.histories.get(name)
        if history is not None and len(history.points) > 1:
            label, end = f"{label_of(name)} ", f" {number(value)}"
            cells = width - cell_len(label) - len(end)
            if cells >= 8:
                drawn = spark(history.points, cells, glyphs)
                return [(label, "bold cyan"), (drawn, "cyan"), (" " * (cells - cell_len(drawn)), ""), (end, "bold")]
    return []


def columns(run: Progress, extras: Extras, width: int, rows: int, glyphs: Glyphs) -> list[list[Span]]:
    """Episode statistics, losses, and where the time goes, side by side; in a narrow terminal only the first of them."""
    count = max(1, min(3, (width + GAP) // (22 + GAP)))
    each = (width - GAP * (count - 1)) // count
    episodes = [(name, value, run.histories.get(name, NOTHING)) for name, value in ordered(run.episodes)]
    made = [
        column("episodes", "cyan", [entry(*episode, each, glyphs) for episode in episodes], rows),
        column("losses", "magenta", [entry(name, value, None, each, glyphs) for name, value in losses(run.row)], rows),
        column("time", "yellow", usage(run, extras, each, rows, glyphs), rows),
    ][:count]  # fmt: skip
    deepest = max(len(lines) for lines in made)
    joined: list[list[Span]] = []
    for k in range(deepest):
        line: list[Span] = []
        for lines in made:
            line += [*([(" " * GAP, "")] if line else []), *fitted(lines[k] if k < len(lines) else [], each, glyphs)]
        joined.append(line)
    return joined


def column(title: str, style: str, entries: list[list[Span]], rows: int) -> list[list[Span]]:
    """A title and at most `rows` lines."""
    if len(entries) > rows:
        entries = [*entries[: rows - 1], [(f"and {len(entries) - rows + 1} more", "dim")]]
    return [[(title, f"bold {style}")], *entries]


def entry(name: str, value: Any, history: History | None, width: int, glyphs: Glyphs) -> list[Span]:
    """A name and its value, with a history also an arrow where it goes."""
    shown = number(value)
    arrow: list[Span] = []
    if history is not None:
        trend = history.trend if name != "n" else 0
        arrow = [(f" {glyphs.arrows[trend + 1]}", "green" if trend > 0 else "red")]
    room = width - cell_len(shown) - length(arrow) - 1
    label = label_of(name)
    if cell_len(label) > room:
        label = set_cell_size(label, max(room - 1, 0)) + glyphs.more
    return apart([(label, "")], [(shown, "bold"), *arrow], width)


def usage(run: Progress, extras: Extras, width: int, rows: int, glyphs: Glyphs) -> list[list[Span]]:
    """The parts of the time as bars, then the machine."""
    shares = time_shares(run.row)
    longest = max((cell_len(name) for name, _ in shares), default=0)
    cells = max(width - longest - 6, 0)
    lines: list[list[Span]] = []
    for name, share in shares:
        bar = glyphs.done * round(share * cells)
        lines.append([(f"{name:<{longest}} ", ""), (f"{bar:<{cells}}", "yellow"), (f"{share:>5.0%}", "bold")])
    room = rows - len(lines) - len(extras.machine)
    if extras.machine and room >= 1:
        lines += [*([[]] if lines and room >= 2 else []), [("machine", "bold blue")]]
        lines += [apart([(name, "")], [(value, "bold")], width) for name, value in extras.machine]
    return lines


# ---------------------------------------------------------------- parts


def border(texts: Sequence[str], width: int, glyphs: Glyphs, style: str = "bold", *, lower: bool = False) -> list[Span]:
    """The upper or the lower edge, with the first of the texts that fits in it, else the last one cut."""
    left, right = (glyphs.corners[k] for k in ((2, 3) if lower else (0, 1)))
    room = width - 6
    text = printable(next((text for text in texts if cell_len(text) <= room), texts[-1] if texts else ""))
    if cell_len(text) > room:
        text = set_cell_size(text, room - 1) + glyphs.more
    words: list[Span] = [(f" {text} ", style)] if text else []
    return [(left + glyphs.across, "blue"), *words, (glyphs.across * (width - 3 - length(words)) + right, "blue")]


def spark(values: Sequence[float], cells: int, glyphs: Glyphs) -> str:
    """The values as bars between their least and their most, in at most `cells` cells."""
    if not values:
        return ""
    count = min(len(values), cells)
    bounds = [k * len(values) // count for k in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(bounds)]
    low, high = min(means), max(means)
    top = len(glyphs.levels) - 1
    return "".join(glyphs.levels[round((value - low) / (high - low) * top) if high > low else 0] for value in means)


def apart(left: list[Span], right: list[Span], width: int) -> list[Span]:
    """`left` at the left edge, `right` at the right one."""
    space = width - length(left) - length(right)
    return [*left, (" " * max(space, 1), ""), *right]


def fitted(line: Iterable[Span], width: int, glyphs: Glyphs) -> list[Span]:
    """Exactly `width` cells: filled up, or cut with a mark."""
    spans = list(line)
    missing = width - length(spans)
    if missing >= 0:
        return [*spans, (" " * missing, "")]
    kept: list[Span] = []
    room = width - 1
    for text, style in spans:
        kept.append((set_cell_size(text, min(cell_len(text), room)), style))
        room -= cell_len(kept[-1][0])
    return [*kept, (glyphs.more, "dim")]


def length(spans: Iterable[Span]) -> int:
    """In cells."""
    return sum(cell_len(text) for text, _ in spans)


def printable(text: str) -> str:
    """The text on one line, without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def label_of(name: str) -> str:
    """A metric's name as it is shown."""
    return SHORT.get(name, printable(name.replace("_", " ")))


def number_of(value: Any) -> str:
    """A speed: whole steps; `-` where there is none."""
    return f"{value:,.0f}" if isinstance(value, (int, float)) and math.isfinite(value) else "-"


@functools.lru_cache(maxsize=64)
def style_of(name: str) -> Style:
    """A parsed style."""
    return Style.parse(name)


def segments(line: Iterable[Span]) -> list[Segment]:
    """For rich."""
    return [Segment(text, style_of(style) if style else None) for text, style in line if text]
