"""Figures and tables for a terminal of 80 columns."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence

SCALES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
PERIODS = (("y", 365 * 86400), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
ELLIPSIS = "…"
GAP = "  "
LEAST_CUT = 8
"""A column is not cut to fewer characters."""


def short(value: float | None) -> str:
    """Three digits that count: 0.644, 12.3, 303k, 1.2M; - where there is nothing."""
    if value is None or not math.isfinite(value):
        return "-"
    for suffix, scale in SCALES:
        if abs(value) >= 0.9995 * scale:
            return f"{value / scale:.3g}{suffix}"
    return f"{value:.3g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.0e}"


def duration(seconds: float | None) -> str:
    """The largest whole unit: 45s, 12m, 3h, 5d, 2y."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    return next((f"{seconds // length:.0f}{unit}" for unit, length in PERIODS if seconds >= length), "0s")


def plain_value(value: object) -> str:
    """A setting as it is written in a flag or file; quotes only where an empty text would vanish."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return str(value) if abs(value) < 10_000 else f"{value:,}".replace(",", "_")
    return printable(str(value)) or '""'


def printable(text: str) -> str:
    """`text` without characters that would move a terminal's cursor or change its colours."""
    return "".join(char if char.isprintable() else "?" for char in text)


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, width: int = 0, uncut: Sequence[int] = ()
) -> list[str]:  # fmt: skip
    """Lines of a table. The first `left` columns are flush left, the others flush right.

    width: no line is longer; the columns on the left but `uncut` are cut, the longest first, to as little as LEAST_CUT. 0: never
    """
    cells = [[printable(cell) for cell in line] for line in [header, *rows]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width if width else 0
    flexible = [i for i in range(left) if i not in uncut]
    while excess > 0 and widths[longest := max(flexible, key=lambda i: widths[i])] > LEAST_CUT:
        widths[longest] -= 1
        excess -= 1
    lines = []
    for line in cells:
        words = [fit(cell, widths[i]) if i < left else f"{cell:>{widths[i]}}" for i, cell in enumerate(line)]
        lines.append(GAP.join(words).rstrip())
    return lines


def fit(text: str, width: int) -> str:
    """`text` in so many columns; one that is too long keeps its end, which tells runs of one hour apart."""
    return f"{text:<{width}}" if len(text) <= width else ELLIPSIS + text[len(text) - width + 1 :]


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns
