"""Groups of runs: those that differ only in their seed, or those that share a setting."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pufferlib.analysis.index import Run
from pufferlib.analysis.query import value_of
from pufferlib.analysis.settings import OF_NO_EFFECT, differing, effective
from pufferlib.analysis.text import plain_value
from pufferlib.config.values import near
from pufferlib.errors import ConfigError

BY_RUN = "run"
"""`--group-by run`: each run by itself."""
MOST_IN_LABEL = 3
LONGEST_LABEL = 44


@dataclass(frozen=True)
class Group:
    """Runs that are shown as one, and what they are called."""

    label: str
    runs: list[Run]

    @property
    def title(self) -> str:
        """The label, with the number of runs where there are several."""
        return f"{self.label} ({len(self.runs)} seeds)" if len(self.runs) > 1 else self.label


def make_groups(runs: Sequence[Run], by: str = "") -> list[Group]:
    """By default runs that differ only in their seed; by=run: each alone; by a setting: those with the same value.

    Raises ConfigError for a setting that no run has.
    """
    if by == BY_RUN:
        return named([[run] for run in runs])
    if by:
        return by_setting(runs, by)
    return named(list(split(runs, fingerprint).values()))


def by_setting(runs: Sequence[Run], key: str) -> list[Group]:
    """Those with the same value of a setting or column, such as policy."""
    values = {id(run): value_of(run.summary(), key) for run in runs}
    if all(value is None for value in values.values()):
        known = sorted({*(k for run in runs for k in run.settings), BY_RUN})
        raise ConfigError(f"--group-by {key}: no such setting{near(key, known)}")
    short = key.rpartition(".")[2]
    groups = split(runs, lambda run: plain_value(values[id(run)]) if values[id(run)] is not None else "none")
    return [Group(f"{short}={value}", members) for value, members in groups.items()]


def split(runs: Iterable[Run], key: Callable[[Run], str]) -> dict[str, list[Run]]:
    """By `key`, in the order in which the keys come."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(key(run), []).append(run)
    return found


def fingerprint(run: Run) -> str:
    """The same text for runs of one experiment. A run whose settings are not known is alone."""
    if run.problem:
        return str(run.path)
    kept = {k: v for k, v in effective(run).items() if k not in OF_NO_EFFECT and not k.startswith("loggers.")}
    return json.dumps([run.env, kept], sort_keys=True, default=str)


def named(groups: Sequence[list[Run]]) -> list[Group]:
    """Each under the settings that tell it from the others; where these are too many, under its tag or its first run's name."""
    leaders = [group[0] for group in groups]
    names = labels(leaders)
    is_clear = len(set(names)) == len(groups) and max(map(len, names), default=0) <= LONGEST_LABEL
    tags = [tag if (tag := group[0].tag) and all(run.tag == tag for run in group) else "" for group in groups]
    if not is_clear:
        names = tags if all(tags) and len(set(tags)) == len(tags) else [run.name for run in leaders]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in leaders]
    return [Group(name, group) for name, group in zip(names, groups, strict=True)]


def labels(leaders: Sequence[Run]) -> list[str]:
    """What tells each of the runs from the others: env, then settings. [] where nothing does, or too much."""
    if len(leaders) == 1:
        run = leaders[0]
        return [run.name if run.problem else f"{run.env}, {run.policy}"]
    keys = differing(leaders)
    has_envs = len({run.env for run in leaders}) > 1
    if (not keys and not has_envs) or len(keys) > MOST_IN_LABEL:
        return []
    shorts = [key.rpartition(".")[2] for key in keys]
    shown = [short if shorts.count(short) == 1 and short != "name" else key for key, short in zip(keys, shorts, strict=True)]
    return [
        ", ".join(
            [run.env] * has_envs
            + [f"{name}={plain_value(effective(run).get(key, 'none'))}" for key, name in zip(keys, shown, strict=True)]
        )
        for run in leaders
    ]
