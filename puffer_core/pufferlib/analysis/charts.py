"""Learning curves as inline SVG that follows the page's colours, light or dark, and carries its values for a script to show."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pufferlib.analysis.rows import Row
from pufferlib.analysis.series import Curve, Floats, curve, smooth
from pufferlib.analysis.text import short
from pufferlib.train.curves import PANELS

WIDTH, HEIGHT = 420.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 10.0, 12.0, 26.0
MOST_POINTS = 400
WINDOW = 0.05
"""The share of the rows that a moving average spans."""
TICKS = 5
OUTLIERS = 1.0
"""Percent of the values at each end that need not fit into the picture."""
COLOURS = ("#0072b2", "#d55e00")
INK, GRID = "#626d7d", "#e8ebf0"
"""Where a program does not apply the page's style."""


@dataclass(frozen=True)
class Line:
    """One metric: what was logged and its moving average, float64[points] each."""

    name: str
    x: Floats
    raw: Floats
    smoothed: Floats


def run_charts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """(title, SVG) of every panel of the run's learning curve that has values."""
    found = []
    for title, keys in PANELS:
        lines = [line_of(key, curve(rows, key)) for key in keys]
        lines = [line for i, line in enumerate(lines) if len(line.x) and not any(same(line, other) for other in lines[:i])]
        if lines:
            found.append((title, chart(title, lines)))
    return found


def line_of(key: str, one: Curve) -> Line:
    """A metric, smoothed and thinned."""
    smoothed = smooth(one.y, one.weights, 1 - 1 / max(1.0, WINDOW * len(one.y)))
    kept = np.unique(np.linspace(0, max(len(one.x) - 1, 0), min(len(one.x), MOST_POINTS)).round().astype(int))
    return Line(key.rpartition("/")[2].replace("_", " "), one.x[kept], one.y[kept], smoothed[kept])


def same(line: Line, other: Line) -> bool:
    """Whether one would hide the other, as a score that is the return does."""
    return np.array_equal(line.x, other.x) and np.array_equal(line.raw, other.raw)


def chart(title: str, lines: Sequence[Line]) -> str:
    """The SVG. Its attribute data-lines holds all values and their places, for the page's script."""
    (x0, x1), (y0, y1) = x_limits(lines), y_limits(lines, from_zero=title == "steps per second")

    def px(x: Floats) -> Floats:
        return np.asarray(LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT), np.float64)

    def py(y: Floats) -> Floats:
        return np.asarray(HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM), np.float64)

    name = "c" + "".join(char for char in title if char.isalnum())
    box = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" font-size="11" fill="{INK}" role="img"'
    label = f'aria-label="{html.escape(title)} over agent-steps"'
    frame = f'x="{LEFT}" y="{TOP - 4}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM + 8}"'
    parts = [
        f'<svg {box} {label} data-lines="{values_attribute(lines, px, py)}">',
        f'<clipPath id="{name}"><rect {frame}/></clipPath>',
    ]
    for tick in ticks(y0, y1):
        y = float(py(np.array(tick)))
        parts.append(f'<line class="grid" stroke="{GRID}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{short(tick)}</text>')
    for tick in ticks(x0, x1):
        x = float(px(np.array(tick)))
        anchor = "end" if x > WIDTH - 24 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{short(tick)}</text>')
    parts.append(f'<g clip-path="url(#{name})">')
    for i, line in enumerate(lines):
        if len(line.x) == 1:
            place = f'cx="{px(line.x)[0]:.1f}" cy="{py(line.raw)[0]:.1f}"'
            parts.append(f'<circle class="line{i}" fill="{COLOURS[i % 2]}" {place} r="3"/>')
            continue
        if not np.array_equal(line.smoothed, line.raw):
            parts.append(polyline(f"raw line{i}", i, 1.0, 0.28, points(px(line.x), py(line.raw))))
        parts.append(polyline(f"line{i}", i, 2.0, 1.0, points(px(line.x), py(line.smoothed))))
    return "".join([*parts, "</g>", *legend(lines), "</svg>"])


def polyline(classes: str, i: int, width: float, opacity: float, places: str) -> str:
    """The i-th line."""
    look = f'fill="none" stroke="{COLOURS[i % 2]}" stroke-width="{width}" opacity="{opacity}"'
    return f'<polyline class="{classes}" {look} points="{places}"/>'


def legend(lines: Sequence[Line]) -> list[str]:
    """The names of the lines, where there are several."""
    if len(lines) < 2:
        return []
    looks = [f'class="name line{i}" fill="{COLOURS[i % 2]}" x="{LEFT + 8}" y="{TOP + 10 + 15 * i}"' for i in range(len(lines))]
    return [f"<text {look}>{html.escape(line.name)}</text>" for look, line in zip(looks, lines, strict=True)]


def values_attribute(lines: Sequence[Line], px: Callable[[Floats], Floats], py: Callable[[Floats], Floats]) -> str:
    """JSON for the script, safe within quotes."""
    content = [
        {
            "name": line.name,
            "steps": [round(x) for x in line.x.tolist()],
            "px": np.round(px(line.x), 1).tolist(),
            "py": np.round(py(line.smoothed), 1).tolist(),
            "raw": [float(f"{value:.5g}") for value in line.raw],
            "smooth": [float(f"{value:.5g}") for value in line.smoothed],
        }
        for line in lines
    ]
    return html.escape(json.dumps(content, separators=(",", ":")), quote=True)


def points(x: Floats, y: Floats) -> str:
    """The points attribute of a polyline."""
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def x_limits(lines: Sequence[Line]) -> tuple[float, float]:
    """From 0 to the last step."""
    last = max(float(line.x[-1]) for line in lines)
    return 0.0, last or 1.0


def y_limits(lines: Sequence[Line], *, from_zero: bool = False) -> tuple[float, float]:
    """So that all averages and nearly all values fit."""
    raw = np.concatenate([line.raw for line in lines])
    smoothed = np.concatenate([line.smoothed for line in lines])
    low, high = np.percentile(raw, [OUTLIERS, 100 - OUTLIERS])
    low, high = min(low, smoothed.min()), max(high, smoothed.max())
    if from_zero:
        low = min(low, 0.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        low, high = low - (abs(low) or 1.0) * 0.5, high + (abs(high) or 1.0) * 0.5
    margin = 0.04 * (high - low)
    return float(low if from_zero and low == 0 else low - margin), float(high + margin)


def ticks(low: float, high: float) -> list[float]:
    """Some TICKS round numbers within the limits: 1, 2 or 5 times a power of ten apart."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step)
    return [round(i * step, 12) for i in range(first, math.floor(high / step) + 1)]
