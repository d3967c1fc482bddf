"""The rows of a metrics.jsonl, from its end: a list of many long runs asks for little more than their last rows.

Only finite numbers are kept of a row. A line that is torn, or without a step, is left out, and so is one after which a later line
is of the same or an earlier step: that is of the process that went on.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pufferlib.train.best import EPISODES, PREFIX

Row = dict[str, float]
STEP = "global_step"
EPISODES_OF_ROW = PREFIX + "n"
NUMBER_TYPES = frozenset({int, float})
BLOCK_BYTES = 1 << 15
"""Read at a time: the last hundred episodes of most runs."""
START = b'{"global_step": '
"""Of a line as training writes it."""


def newest_first(path: Path, read: Callable[[bytes], Row] | None = None) -> Iterator[Row]:
    """The rows of the file, the last one first. read: what makes a row of a line, {} if it is none; by default `whole`."""
    read = read or whole
    least = math.inf
    for line in lines_backwards(path):
        row = read(line)
        if row and row[STEP] < least:
            least = row[STEP]
            yield row


def lines_backwards(path: Path) -> Iterator[bytes]:
    """The lines of a file, the last one first; none of a file that cannot be read."""
    try:
        with path.open("rb") as file:
            end, rest = file.seek(0, os.SEEK_END), b""
            while end:
                start = max(end - BLOCK_BYTES, 0)
                file.seek(start)
                rest, *lines = (file.read(end - start) + rest).split(b"\n")  # the first may have begun before
                yield from reversed(lines)
                end = start
            yield rest
    except OSError:
        return


def whole(line: bytes) -> Row:
    """All that a line says."""
    try:
        row = json.loads(line.decode("utf-8", "replace"))
    except json.JSONDecodeError:
        return {}
    found = numbers(row) if isinstance(row, dict) else {}
    return found if STEP in found else {}


def numbers(row: Mapping[str, Any]) -> Row:
    """The finite numbers of a row."""
    if NUMBER_TYPES.issuperset(map(type, row.values())) and math.isfinite(sum(row.values())):
        return dict(row)  # all of them, as in every row that training writes
    return {
        key: value for key, value in row.items() if type(value) in (int, float) and math.isfinite(value)
    }  # fmt: skip


def only(keys: Iterable[str]) -> Callable[[bytes], Row]:
    """Reads the step and these keys of a line as `whole` does, in a tenth of its time where the line is as training writes it."""
    needles = [(key, f'"{key}": '.encode()) for key in keys]

    def read(line: bytes) -> Row:
        is_usual = line.startswith(START) and line.endswith(b"}") and line.find(b"{", 1) < 0  # one object, to its end
        try:
            row = {STEP: float(line[len(START) : line.find(b",")])} if is_usual else {}
            for key, needle in needles if is_usual else ():
                if (at := line.find(needle)) >= 0:
                    at += len(needle)
                    row[key] = float(line[at : line.find(b",", at)])  # the last ends at the brace, which is at -1
        except ValueError:  # null
            row = {}
        if row and math.isfinite(sum(row.values())):
            return row
        every = whole(line)
        return {key: every[key] for key in (STEP, *(key for key, _ in needles)) if key in every}

    return read


def end_of(path: Path) -> list[Row]:
    """The last rows in which episodes ended, newest first: as many as EPISODES episodes of each statistic in them need."""
    count = only([EPISODES_OF_ROW])

    def read(line: bytes) -> Row:
        row = count(line)
        return whole(line) if row.get(EPISODES_OF_ROW) else row

    found: list[Row] = []
    weights: dict[str, float] = {}
    for row in newest_first(path, read):
        episodes = row.get(EPISODES_OF_ROW, 0.0)
        if episodes <= 0:
            continue
        found.append(row)
        for key in row:
            if key.startswith(PREFIX) and key != EPISODES_OF_ROW:
                weights[key] = weights.get(key, 0.0) + episodes
        if weights and min(weights.values()) >= EPISODES:
            break
    return found


def last_episodes(end: Iterable[Row]) -> Row:
    """Means of the episode statistics over the last EPISODES episodes, or a few more, as rows are not divided. end: `end_of`"""
    totals: Row = {}
    weights: Row = {}
    for row in end:
        episodes = row[EPISODES_OF_ROW]
        for key, value in row.items():
            if key.startswith(PREFIX) and key != EPISODES_OF_ROW and weights.get(key, 0.0) < EPISODES:
                totals[key] = totals.get(key, 0.0) + value * episodes
                weights[key] = weights.get(key, 0.0) + episodes
    return {key: totals[key] / weights[key] for key in totals}
