"""Many runs as text: the list, and the comparison of groups."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pufferlib.analysis.groups import Group
from pufferlib.analysis.index import SPEED, Summary
from pufferlib.analysis.query import is_number, value_of
from pufferlib.analysis.settings import LABELS, SEED, differing, effective
from pufferlib.analysis.text import duration, plain_value, printable, short, table, terminal_width
from pufferlib.train.best import PREFIX

LEADING = ("score", "perf", "episode_return", "episode_length")
COMPARED = ("losses/entropy", "losses/explained_variance", "losses/value_loss", SPEED, "uptime", "global_step")
"""What is compared beside the episode statistics."""
LISTED = frozenset({"env", "name", "state", "steps", "last", "best", "sps", "age", "started"})
"""Keys of an order that the list shows anyway."""
MOST_COLUMNS = 5
"""Groups side by side in 80 columns."""


def list_lines(
    summaries: Sequence[Summary],
    total: int,
    now: float,
    ordered_by: str = "",
    sweeps: Mapping[Path, tuple[str, int]] | None = None,
) -> list[str]:
    """The table of `puffer runs`, with the key of the order as a column of its own unless it is one already.

    total: lines that there would be without a limit; now: seconds since 1970; sweeps: as of `best_trials`
    """
    sweeps = sweeps or {}
    key = ordered_by.strip()
    extra = [key] if key and key.lower() not in LISTED else []
    header = ["env", "name", "state", "steps", "last", "best", *extra, "SPS", "age"]
    rows = []
    for name, s in zip(unique_names([s.run.path for s in summaries]), summaries, strict=True):
        own, trials = sweeps.get(s.run.path, (name, 0))
        rows.append([
            s.run.env, own, f"best of {trials}" if trials else s.state, short(s.steps), short(s.last), short(s.best),
            *(cell(value_of(s, key)) for key in extra), short(s.speed), duration(now - s.run.started),
        ])  # fmt: skip
    lines = table(header, rows, left=3, width=terminal_width(), uncut=(2,))
    metrics = sorted({s.metric for s in summaries if s.metric})
    notes = [f"last, best: {' or '.join(metrics)}, means over 100 episodes"] if metrics else []
    notes += ["best of N: a sweep's best trial by last; --trials shows all"] if sweeps else []
    notes += [f"{len(summaries)} of {total} {'lines' if sweeps else 'runs'} shown"] if len(summaries) < total else []
    problems = [printable(f"{s.run.path}: {s.run.problem}") for s in summaries if s.run.problem]
    return [*lines, *[""] * bool(notes or problems), *notes, *problems]


def cell(value: Any) -> str:
    """A setting or a metric in the list."""
    return short(value) if value is None or is_number(value) else plain_value(value)


def unique_names(paths: Sequence[Path]) -> list[str]:
    """The folders' names; of those that are not unique, as trials of two sweeps, with as much of the path as it takes."""
    names = [path.name for path in paths]
    for depth in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        counts = Counter(names)
        if len(counts) == len(names):
            break
        names = ["/".join(path.parts[-depth:]) if counts[name] > 1 else name for path, name in zip(paths, names, strict=True)]
    return names


def comparison(groups: Sequence[Group]) -> dict[str, Any]:
    """What differs and how the groups did, as plain values: means over a group's runs, and deviations where n > 1."""
    leaders = [group.runs[0] for group in groups]
    keys = differing(leaders, ignored=(*LABELS, SEED))
    summaries = [[run.summary() for run in group.runs] for group in groups]
    names = metric_names([summary for group in summaries for summary in group])
    return {
        "groups": [
            {"label": group.label, "runs": [str(run.path) for run in group.runs], "states": [s.state for s in members]}
            for group, members in zip(groups, summaries, strict=True)
        ],
        "settings": {key: [effective(run).get(key) for run in leaders] for key in keys},
        "metrics": {name: [spread_of(members, name) for members in summaries] for name in names},
    }


def metric_names(summaries: Sequence[Summary]) -> list[str]:
    """Episode statistics, the ones that every user looks for first, then COMPARED; those that some run has."""
    known = dict.fromkeys(key for summary in summaries for key in summary.metrics)
    episodes = [key for key in known if key.startswith(PREFIX)]
    first = [PREFIX + name for name in LEADING if PREFIX + name in episodes]
    return [*first, *(key for key in episodes if key not in first), *(key for key in COMPARED if key in known)]


def spread_of(summaries: Sequence[Summary], name: str) -> dict[str, float | int | None]:
    """The mean over runs that have the metric, their standard deviation and number."""
    values = [summary.metrics[name] for summary in summaries if name in summary.metrics]
    return {
        "mean": fmean(values) if values else None,
        "std": stdev(values) if len(values) > 1 else None,
        "n": len(values),
    }


def comparison_lines(groups: Sequence[Group], found: Mapping[str, Any]) -> list[str]:
    """The comparison in 80 columns: groups are letters, explained above; more than MOST_COLUMNS are further down."""
    letters = [letter(i) for i in range(len(groups))]
    lines = []
    for name, group in zip(letters, groups, strict=True):
        lines.append(printable(f"{name}  {group.title}"))
        lines += [printable(f"     {run.path}  seed {run.settings.get('train.seed', '?')}") for run in group.runs]
    for start in range(0, len(groups), MOST_COLUMNS):
        part = slice(start, start + MOST_COLUMNS)
        settings = [
            [key, *(plain_value("-" if value is None else value) for value in values[part])]
            for key, values in found["settings"].items()
        ]
        if settings:
            lines += ["", *table(["settings that differ", *letters[part]], settings)]
        metrics = [[name.removeprefix(PREFIX), *map(spread_text, values[part])] for name, values in found["metrics"].items()]
        lines += ["", *table(["metrics", *letters[part]], metrics)]
    if not found["settings"] and len(groups) > 1:
        lines += ["", "no setting differs"]
    if any(len(group.runs) > 1 for group in groups):
        lines += ["", "mean ±standard deviation over seeds; episode statistics are means over the last 100 episodes"]
    return lines


def letter(i: int) -> str:
    """A to Z, then AA, AB."""
    alphabet = string.ascii_uppercase
    return alphabet[i] if i < len(alphabet) else letter(i // len(alphabet) - 1) + alphabet[i % len(alphabet)]


def spread_text(values: Mapping[str, Any]) -> str:
    """0.644 ±0.012, or 0.644 of a single run."""
    spread = f" ±{short(values['std'])}" if values["std"] is not None else ""
    return short(values["mean"]) + spread
