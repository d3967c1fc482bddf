"""Which runs, and in what order: filters and sorting by settings and metrics.

A key is a column (env, name, state, steps, last, best, ...), a setting (train.learning_rate, or learning_rate where one table
alone has it) or a metric (perf, environment/perf, losses/entropy, SPS), in this order.
"""

from __future__ import annotations

import fnmatch
import operator
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pufferlib.analysis.index import Run, Summary
from pufferlib.config.values import literal, near
from pufferlib.errors import ConfigError
from pufferlib.train.best import PREFIX

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, "!=": operator.ne, "==": operator.eq, ">": operator.gt, "<": operator.lt,
    "=": operator.eq,
}  # fmt: skip
CONDITION = re.compile(r"\s*([\w./:-]+?)\s*(>=|<=|!=|==|>|<|=)\s*(.+?)\s*", re.DOTALL)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
COLUMNS: dict[str, Callable[[Summary], Any]] = {
    "env": lambda s: s.run.env, "name": lambda s: s.run.name, "tag": lambda s: s.run.tag, "policy": lambda s: s.run.policy,
    "state": lambda s: s.state, "steps": lambda s: s.steps, "last": lambda s: s.last, "best": lambda s: s.best,
    "sps": lambda s: s.speed, "age": lambda s: time.time() - s.run.started, "started": lambda s: s.run.started,
    "checkpoints": lambda s: s.checkpoints,
}  # fmt: skip
PREFIXES = (PREFIX, "losses/", "time/", "schedule/")


@dataclass(frozen=True)
class Condition:
    """One --where."""

    text: str
    key: str
    operator: str
    value: Any

    def holds(self, found: Any) -> bool:
        """Whether a run with this value meets it. One without a value meets nothing; < and > compare numbers only."""
        if found is None:
            return False
        if is_number(found) and is_number(self.value):
            return OPERATORS[self.operator](found, self.value)
        if self.operator not in ("=", "==", "!="):
            return False
        return (str(found).lower() == str(self.value).lower()) == (self.operator != "!=")


def parse_condition(text: str) -> Condition:
    """`train.learning_rate>1e-3` taken apart. Raises ConfigError."""
    found = CONDITION.fullmatch(text)
    if found is None:
        raise ConfigError(f"--where {text!r}: expected KEY, one of {' '.join(OPERATORS)}, and a value, as in train.gamma>=0.99")
    key, sign, value = found.groups()
    return Condition(text, key, sign, literal(value.strip("\"'")))


def choose(runs: Iterable[Run], env: str = "", tag: str = "", policy: str = "", since: str = "") -> list[Run]:
    """The runs with that env, tag and policy (a part of the name, or a pattern with * ? [...]), begun since then."""
    begun = parse_since(since) if since else 0.0
    wanted = ((env, "env"), (tag, "tag"), (policy, "policy"))
    return [
        run for run in runs if run.started >= begun and all(fits(pattern, getattr(run, name)) for pattern, name in wanted)
    ]  # fmt: skip


def fits(pattern: str, name: str) -> bool:
    """Whether a name has that part or fits that pattern, upper and lower case alike."""
    pattern, name = pattern.lower(), name.lower()
    return fnmatch.fnmatchcase(name, pattern) if any(char in pattern for char in "*?[") else pattern in name


def parse_since(text: str) -> float:
    """Seconds since 1970 of `90m`, `12h`, `3d`, `2w` ago, or of a date. Raises ConfigError."""
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip()):
        return time.time() - float(found[1]) * UNITS[found[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        raise ConfigError(
            f"--since {text}: expected 90m, 12h, 3d, 2w, or a date such as 2026-01-31 or 2026-01-31T12:00"
        ) from None


def where(summaries: Sequence[Summary], conditions: Iterable[Condition]) -> list[Summary]:
    """Those that meet all conditions. Raises ConfigError for a key that no run has."""
    kept = list(summaries)
    for condition in conditions:
        values = values_of(summaries, condition.key, f"--where {condition.text}")
        keep = {id(summary) for summary, value in zip(summaries, values, strict=True) if condition.holds(value)}
        kept = [summary for summary in kept if id(summary) in keep]
    return kept


def sort(summaries: Sequence[Summary], key: str, reverse: bool = False) -> list[Summary]:
    """Largest number first, text from a to z; those without a value last. Raises ConfigError for a key that no run has."""
    pairs = list(zip(values_of(summaries, key, f"--sort {key}"), summaries, strict=True))
    known = [pair for pair in pairs if pair[0] is not None]
    if all(is_number(value) for value, _ in known):
        known.sort(key=lambda pair: pair[0], reverse=not reverse)
    else:
        known.sort(key=lambda pair: str(pair[0]).lower(), reverse=reverse)
    return [summary for _, summary in known] + [summary for value, summary in pairs if value is None]


def values_of(summaries: Sequence[Summary], key: str, label: str) -> list[Any]:
    """Each run's value of that key, None where it has none. Raises ConfigError, with a near match, if no run has one."""
    values = [value_of(summary, key) for summary in summaries]
    if summaries and all(value is None for value in values):
        known = {*COLUMNS, *(k for s in summaries for k in (*s.run.settings, *s.metrics, *s.episodes))}
        if key.lower() not in COLUMNS:
            raise ConfigError(f"{label}: no run has {key!r}{near(key, sorted(known))}")
    return values


def value_of(summary: Summary, key: str) -> Any:
    """A column, a setting or a metric of a run, or None."""
    key = key.strip()
    if key.lower() in COLUMNS:
        return COLUMNS[key.lower()](summary)
    settings, metrics = summary.run.settings, summary.metrics
    spelt = key.removeprefix("--").replace("-", "_")
    if spelt in settings:
        return settings[spelt]
    if key in metrics:
        return metrics[key]
    for prefix in PREFIXES:
        if prefix + key in metrics:
            return metrics[prefix + key]
    within = [name for name in settings if name.rpartition(".")[2] == spelt]
    return settings[within[0]] if len(within) == 1 else None


def is_number(value: Any) -> bool:
    """Whether it can be compared by size."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
