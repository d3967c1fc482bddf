"""`puffer runs aggregate`: groups of runs, their final scores by env, and the statistics over them as a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pufferlib.analysis.aggregate import Aggregate, Estimate, Floats, aggregate, probability_of_improvement
from pufferlib.analysis.groups import Group, make_groups
from pufferlib.analysis.index import Run, Summary
from pufferlib.analysis.lookup import Shelf
from pufferlib.analysis.series import find_metric
from pufferlib.analysis.settings import differing
from pufferlib.analysis.tables import letter
from pufferlib.analysis.text import printable, short, table
from pufferlib.errors import ConfigError
from pufferlib.train.best import PREFIX

NORMALISED = PREFIX + "perf"
"""From 0 to 1 in every env, so that envs may be put together."""
SEEDS = "seeds"
"""`--group-by seeds`."""
MOST_COLUMNS = 3
MOST_PAIRS = 15
FEW_RUNS = 5
STATISTICS = ("IQM", "median", "mean", "optimality gap")


@dataclass(frozen=True)
class Scored:
    """A group with the final scores of its runs by env, float64[runs]; NaN where a run has none."""

    group: Group
    scores: dict[str, Floats]
    result: Aggregate | None
    """None: no run has a score."""


@dataclass(frozen=True)
class AggregateTable:
    """All groups, the probabilities of improvement of pairs of them by their places, and what a reader has to know."""

    metric: str
    groups: list[Scored]
    pairs: dict[tuple[int, int], Estimate]
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """Plain values for --json."""
        return {
            "metric": self.metric,
            "groups": [
                {
                    "label": one.group.label,
                    "runs": [str(run.path) for run in one.group.runs],
                    "scores": {env: values.tolist() for env, values in one.scores.items()},
                    "statistics": asdict(one.result) if one.result else None,
                }
                for one in self.groups
            ],
            "probability_of_improvement": [
                {"better": self.groups[a].group.label, "than": self.groups[b].group.label, **asdict(estimate)}
                for (a, b), estimate in self.pairs.items()
            ],
            "notes": self.notes,
        }


def selected_groups(shelf: Shelf, names: Sequence[str], by: str = "") -> list[Group]:
    """One group for each of the names, `LABEL=RUNS,RUNS` or `RUNS`; one name alone is split by a setting, or into seeds.

    Raises ConfigError.
    """
    groups = []
    for name in names:
        label, equals, rest = name.partition("=")
        if not equals or "/" in label or Path(name).exists():
            label, rest = name, name
        groups.append(Group(label, shelf.all(part for part in rest.split(",") if part)))
    if not by:
        return groups
    if len(groups) > 1:
        raise ConfigError(f"--group-by {by} splits one GROUP, got {len(groups)}: name one folder or pattern")
    return make_groups(groups[0].runs, "" if by == SEEDS else by)


def aggregate_table(groups: Sequence[Group], metric: str, resamples: int, seed: int) -> AggregateTable:
    """The statistics. metric: an episode statistic or another key, its value at each run's end.

    Raises ConfigError for a metric that no run has, or that several envs do not share the scale of.
    """
    summaries = [[run.summary() for run in group.runs] for group in groups]
    every = list(itertools.chain.from_iterable(summaries))
    key = find_metric(metric, (key for summary in every for key in summary.metrics))
    envs = sorted({summary.run.env for summary in every})
    if key != NORMALISED and len(envs) > 1:
        raise ConfigError(f"--metric {metric} is not on one scale over {', '.join(envs)}; perf is, from 0 to 1")
    scored = []
    for group, members in zip(groups, summaries, strict=True):
        scores = scores_of(members, key)
        has_any = any(np.isfinite(values).any() for values in scores.values())
        scored.append(Scored(group, scores, aggregate(scores, resamples=resamples, seed=seed) if has_any else None))
    pairs = {}
    for a, b in itertools.combinations(range(len(scored)), 2):
        estimate = probability_of_improvement(scored[a].scores, scored[b].scores, resamples=resamples, seed=seed)
        if estimate is not None:
            pairs[a, b] = estimate
    return AggregateTable(key.removeprefix(PREFIX), scored, pairs, list(notes(scored, every)))


def scores_of(summaries: Sequence[Summary], key: str) -> dict[str, Floats]:
    """The metric at each run's end, by env; NaN where a run has not logged it."""
    found: dict[str, list[float]] = {}
    for summary in summaries:
        found.setdefault(summary.run.env, []).append(summary.metrics.get(key, np.nan))
    return {env: np.array(values, np.float64) for env, values in found.items()}


def notes(scored: Sequence[Scored], summaries: Sequence[Summary]) -> Iterable[str]:
    """What makes the figures weaker than they look."""
    for i, one in enumerate(scored):
        name, runs = letter(i), one.group.runs
        lacking = sum(int((~np.isfinite(values)).sum()) for values in one.scores.values())
        if lacking:
            yield f"{name}: {lacking} of {len(runs)} runs have no such score, and do not count"
        counts = {env: int(np.isfinite(values).sum()) for env, values in one.scores.items()}
        if one.result and min(count for count in counts.values() if count) == 1:
            single = ", ".join(env for env, count in counts.items() if count == 1)
            yield f"{name}: no intervals, there is a single run of {single}"
        elif one.result and min(count for count in counts.values() if count) < FEW_RUNS:
            yield f"{name}: of fewer than {FEW_RUNS} runs a bootstrap interval is too narrow"
        if len(set(counts.values())) > 1:
            yield f"{name}: {', '.join(f'{count} of {env}' for env, count in counts.items())}; in the IQM each run counts alike"
        mixed = mixed_settings(runs)
        if mixed:
            yield f"{name}: its runs differ in {', '.join(mixed)}; --group-by seeds keeps such runs apart"
    unfinished = sum(summary.state != "finished" for summary in summaries)
    if unfinished:
        yield f"{unfinished} of {len(summaries)} runs are not finished; their scores are of where they stand"


def mixed_settings(runs: Sequence[Run]) -> list[str]:
    """The settings that runs of one env differ in, besides their seed."""
    found: dict[str, None] = {}
    for env in dict.fromkeys(run.env for run in runs):
        found.update(dict.fromkeys(differing([run for run in runs if run.env == env])))
    return list(found)


def aggregate_lines(found: AggregateTable) -> list[str]:
    """The text: groups are letters, explained above, MOST_COLUMNS of them side by side."""
    lines = []
    for i, one in enumerate(found.groups):
        envs = sorted(one.scores)
        count = one.result.n if one.result else 0
        where = envs[0] if len(envs) == 1 else f"{len(envs)} envs"
        lines.append(printable(f"{letter(i)}  {one.group.label}  (n={count}, {where})"))
    for start in range(0, len(found.groups), MOST_COLUMNS):
        part = range(start, min(start + MOST_COLUMNS, len(found.groups)))
        columns = [statistics(found.groups[i].result, found.metric) for i in part]
        rows = [[name, *(column[k] for column in columns)] for k, name in enumerate(STATISTICS)]
        lines += ["", *table([found.metric, *map(letter, part)], rows)]
    pairs = list(found.pairs.items())
    if pairs:
        rows = [[f"{letter(a)} better than {letter(b)}", estimate_text(estimate)] for (a, b), estimate in pairs[:MOST_PAIRS]]
        lines += ["", *table(["probability of improvement", ""], rows)]
        lines += [f"and {len(pairs) - MOST_PAIRS} more pairs, see --json"] * (len(pairs) > MOST_PAIRS)
    episodes = "Scores are means over a run's last 100 episodes. "
    return [*lines, "", f"{episodes}[95 %]: bootstrap over runs within each env", *map(printable, found.notes)]


def statistics(result: Aggregate | None, metric: str) -> list[str]:
    """The cells of one group, in the order of STATISTICS."""
    if result is None:
        return ["-"] * len(STATISTICS)
    gap = estimate_text(result.optimality_gap) if PREFIX + metric == NORMALISED else "-"
    return [*map(estimate_text, (result.iqm, result.median, result.mean)), gap]


def estimate_text(estimate: Estimate) -> str:
    """0.644 [0.61, 0.67], or 0.644 where there is no interval."""
    if estimate.interval is None:
        return short(estimate.value)
    low, high = estimate.interval
    return f"{short(estimate.value)} [{short(low)}, {short(high)}]"
