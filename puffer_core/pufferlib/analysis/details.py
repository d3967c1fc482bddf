"""One run in detail: what it changed, how it ended, its checkpoints and files; and which of several runs is best."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pufferlib.analysis.index import Run, Summary, iso
from pufferlib.analysis.settings import SettingRow, changed_settings, listed
from pufferlib.analysis.text import duration, plain_value, printable, short, table
from pufferlib.atomic import SUFFIX
from pufferlib.train.best import PREFIX

SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
MOST_FILES = 20


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint. worth: the mean of the metric over the 100 episodes before it or a few more, None where none ended."""

    step: int
    path: Path
    size: int
    worth: float | None
    is_best: bool


def checkpoints_of(run: Run, metric: str = "") -> tuple[list[Checkpoint], str | None]:
    """A run's checkpoints, newest first, and the name of what they are worth."""
    ranking = run.ranking(metric)
    paths = {int(path.stem): path for path in run.directory.checkpoints()}
    best = ranking.best(paths)[:1]
    found = [Checkpoint(step, path, size_of(path), ranking.value(step), step in best) for step, path in paths.items()]
    return found, ranking.name


def best_run(runs: Iterable[Run], metric: str = "") -> dict[str, Any] | None:
    """The run whose best checkpoint is worth most, of equals the newer run, in facts; None if none has such a checkpoint."""
    found: list[tuple[float, dict[str, Any]]] = []
    for run in runs:
        checkpoints, name = checkpoints_of(run, metric)
        for one in checkpoints:
            if one.is_best and one.worth is not None:
                sign = -1.0 if (metric or run.best_metric).startswith("-") else 1.0
                facts = {"run": str(run.path), "checkpoint": str(one.path), "step": one.step, "metric": name, "value": one.worth}
                found.append((sign * one.worth, facts))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def details(run: Run) -> dict[str, Any]:
    """Everything that `puffer runs show` tells, as plain values."""
    changed, remark = changed_settings(run)
    checkpoints, worth = checkpoints_of(run)
    rows = run.rows()
    return {
        **run.summary().as_json(),
        "command": [str(word) for word in listed(run.record.get("command"))],
        "resumed": [
            {"step": part.get("step"), "started": part.get("started")}
            for part in listed(run.record.get("resumed")) if isinstance(part, Mapping)
        ],
        "platform": str(run.record.get("platform", "")),
        "versions": {str(k): str(v) for k, v in tables(run.record.get("versions")).items()},
        "changed": {row.key: {"value": row.value, "usual": row.usual} for row in changed},
        "remark": remark,
        "last_row": rows[-1] if rows else {},
        "checkpoints": [{**asdict(one), "path": str(one.path)} for one in checkpoints],
        "checkpoint_metric": worth,
        "files": files_of(run.path),
    }  # fmt: skip


def details_lines(run: Run) -> list[str]:
    """The text of `puffer runs show`."""
    summary, facts = run.summary(), details(run)
    changed, remark = changed_settings(run)
    head = {
        "run": str(run.path),
        "env": f"{run.env}, policy {run.policy}" + (f", tag {run.tag}" if run.tag else ""),
        "state": progress(summary),
        "started": started(run),
        "command": shlex.join(facts["command"]) or "not recorded",
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()) or "not recorded",
        "machine": facts["platform"] or "not recorded",
        **({"problem": run.problem} if run.problem else {}),
    }
    lines = [f"{key:10}{printable(value)}" for key, value in head.items()]
    lines += ["", *(changed_lines(changed, remark) if not run.problem else ["settings are not known"])]
    lines += ["", *metric_lines(summary, facts["last_row"])]
    lines += ["", *checkpoint_lines(run)]
    lines += ["", *table(["file", "bytes"], [[name, f"{size:,}"] for name, size in list(facts["files"].items())[:MOST_FILES]])]
    more = len(facts["files"]) - MOST_FILES
    return [*lines, *[f"and {more} more"] * (more > 0)]


def progress(summary: Summary) -> str:
    """`finished, 303,104 of 300,000 steps`."""
    total = summary.run.total_steps
    of = f" of {total:,}" if total is not None else ""
    time_s = summary.metrics.get("uptime")
    spent = f", {duration(time_s)} of training" if time_s else ""
    return f"{summary.state}, {summary.steps:,}{of} steps{spent}"


def started(run: Run) -> str:
    """When the run began, and how often it went on."""
    times = len(listed(run.record.get("resumed")))
    again = f", resumed {'once' if times == 1 else f'{times} times'}" if times else ""
    return f"{iso(run.started).replace('T', ' ')[:16]}, {duration(time.time() - run.started)} ago{again}"


def changed_lines(changed: Sequence[SettingRow], remark: str) -> list[str]:
    """What the run changed."""
    if not changed:
        lines = ["every setting is as `puffer train` with this env and policy has it"]
    else:
        rows = [[row.key, plain_value(row.value), "-" if row.usual is None else plain_value(row.usual)] for row in changed]
        lines = table(["changed settings", "here", "usual"], rows)
    return [*lines, *[printable(remark)] * bool(remark)]


def metric_lines(summary: Summary, last: Mapping[str, float]) -> list[str]:
    """Episode statistics over the last 100 episodes, beside the last row as it is."""
    if not last:
        return ["no metrics yet"]
    keys = [key for key in {**last, **summary.metrics} if not key.startswith("time/")]
    rows = [[key.removeprefix(PREFIX), short(last.get(key)), short(summary.metrics.get(key))] for key in keys]
    return [*table(["metrics", "last row", "end"], rows), "end: means over the last 100 episodes; SPS over the whole training"]


def checkpoint_lines(run: Run) -> list[str]:
    """The checkpoints and which is best."""
    found, worth = checkpoints_of(run)
    if not found:
        return ["no checkpoints"]
    rows = [[one.path.name, worth_text(one), size_text(one.size)] for one in found]
    best = [f"best: {one.path}" for one in found if one.is_best]
    return [*table(["checkpoint", worth or "score", "size"], rows), *best]


def worth_text(one: Checkpoint) -> str:
    """0.644, with a star at the best."""
    return short(one.worth) + (" *" if one.is_best else "  ")


def files_of(folder: Path) -> dict[str, int]:
    """Every file in the run's folder and its size in bytes, without half-written ones."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != SUFFIX)
    return {path.relative_to(folder).as_posix(): size_of(path) for path in found}


def size_of(path: Path) -> int:
    """Bytes; 0 for a file that is gone by now."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def size_text(size: int) -> str:
    """1.2 MB."""
    return next((f"{size / scale:.1f} {unit}" for unit, scale in SIZES if size >= scale), f"{size} B")


def tables(value: Any) -> Mapping[str, Any]:
    """`value` if it is a table."""
    return value if isinstance(value, Mapping) else {}
