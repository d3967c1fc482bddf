"""The pictures of a sweep's report. Each function draws one PNG; False, and no file, where there is nothing to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from pufferlib.atomic import replacing
from pufferlib_sweep.pareto import pareto_front
from pufferlib_sweep.results import TrialResult, best_first
from pufferlib_sweep.show import short
from pufferlib_sweep.space import SearchSpace

if TYPE_CHECKING:
    from optuna import Study

BLUE, ORANGE, GREY = "#1f77b4", "#d95f02", "#999999"
LEAST_FOR_IMPORTANCE = 5
"""Complete trials; with fewer any share would be noise."""
COLOURED = 5
"""The best trials that have colours of their own among the curves."""
THOUSANDS = 10_000
"""From here on numbers are spelled with k and M."""
COLUMNS = 4
"""Of the small pictures, one for each setting."""


def scored(trials: Sequence[TrialResult]) -> list[TrialResult]:
    """The trials that a picture of scores can show."""
    return [trial for trial in trials if trial.score is not None and trial.cost is not None]


def figure_of(width: float, height: float, title: str) -> Figure:
    """An empty picture."""
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    return figure


def save(figure: Figure, path: Path) -> bool:
    """Write it in one rename."""
    with replacing(path) as file:
        figure.savefig(file, format="png")
    return True


def draw_pareto(path: Path, trials: Sequence[TrialResult], metric: str, unit: str, goal: str, title: str) -> bool:
    """Score against cost, with the front of trials that no cheaper one beats."""
    shown = scored(trials)
    if not shown:
        return False
    sign = 1.0 if goal == "maximize" else -1.0
    costs, scores = np.array([t.cost for t in shown], float), np.array([t.score for t in shown], float)
    figure = figure_of(7, 4.6, f"{title}: score against cost")
    axes = figure.add_subplot()
    for state, filled in (("complete", True), ("stopped", False)):
        rows = [index for index, trial in enumerate(shown) if trial.state == state]
        if rows:
            face = BLUE if filled else "none"
            axes.scatter(costs[rows], scores[rows], s=34, facecolors=face, edgecolors=BLUE, alpha=0.8, label=f"{state} trials")
    front = pareto_front(sign * scores, costs)
    axes.plot(costs[front], scores[front], drawstyle="steps-post", color=ORANGE, linewidth=1.6, label="front")
    axes.scatter(costs[front], scores[front], s=40, color=ORANGE, zorder=3)
    for index in front:
        axes.annotate(
            str(shown[index].number), (costs[index], scores[index]), xytext=(4, 5), textcoords="offset points", fontsize=8
        )
    if costs.min() > 0 and costs.max() > 5 * costs.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.set_xlabel(unit)
    axes.set_ylabel(metric)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return save(figure, path)


def draw_history(path: Path, trials: Sequence[TrialResult], metric: str, goal: str, title: str) -> bool:
    """Scores in the order of the trials, the best so far, and where trials failed."""
    shown = scored(trials)
    if not shown:
        return False
    numbers, scores = [t.number for t in shown], np.array([t.score for t in shown], float)
    best = np.maximum.accumulate(scores) if goal == "maximize" else np.minimum.accumulate(scores)
    figure = figure_of(7, 3.8, f"{title}: scores in the order of the trials")
    axes = figure.add_subplot()
    axes.plot(numbers, best, drawstyle="steps-post", color=ORANGE, linewidth=1.6, label="best so far")
    axes.scatter(numbers, scores, s=30, color=BLUE, alpha=0.8, label="trials")
    failed = [trial.number for trial in trials if trial.state == "failed"]
    if failed:
        axes.scatter(
            failed, [0.02] * len(failed), marker="x", s=30, color=GREY, transform=axes.get_xaxis_transform(), label="failed"
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("trial")
    axes.set_ylabel(metric)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return save(figure, path)


def draw_curves(path: Path, trials: Sequence[TrialResult], metric: str, unit: str, goal: str, title: str) -> bool:
    """Score over cost within each trial."""
    shown = [trial for trial in trials if len(trial.curve) > 1]
    if not shown:
        return False
    best = [trial.number for trial in best_first(shown, goal)[:COLOURED]]
    figure = figure_of(7, 4.2, f"{title}: learning curves")
    axes = figure.add_subplot()
    for trial in shown:
        costs, scores = zip(*trial.curve, strict=True)
        if trial.number not in best:
            axes.plot(costs, scores, color=GREY, alpha=0.45, linewidth=0.9)
    for rank, number in enumerate(best):
        costs, scores = zip(*next(trial.curve for trial in shown if trial.number == number), strict=True)
        axes.plot(costs, scores, color=colormaps["tab10"](rank), linewidth=1.6, label=f"trial {number}")
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.set_xlabel(unit)
    axes.set_ylabel(metric)
    axes.grid(alpha=0.3)
    if best:
        axes.legend(fontsize=8)
    return save(figure, path)


def draw_importance(path: Path, trials: Sequence[TrialResult], study: Study, space: SearchSpace, title: str) -> bool:
    """The share of the scores' variance that each setting explains, by fANOVA (Hutter et al. 2014)."""
    scores = [trial.score for trial in trials if trial.state == "complete"]
    if len(scores) < LEAST_FOR_IMPORTANCE or len({*scores}) < 2 or len(space) < 2:
        return False
    import optuna

    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    names = {parameter.optuna_name: parameter.name for parameter in space.values()}
    shares = optuna.importance.get_param_importances(study, evaluator=evaluator, params=list(names))
    ordered = sorted(shares.items(), key=lambda item: item[1])
    figure = figure_of(7, 0.8 + 0.34 * len(ordered), f"{title}: what the score depends on")
    axes = figure.add_subplot()
    bars = axes.barh([names[name] for name, _ in ordered], [share for _, share in ordered], color=BLUE)
    axes.bar_label(bars, labels=[f"{share:.0%}" for _, share in ordered], padding=3, fontsize=8)
    axes.set_xlabel(f"share of the variance over {len(scores)} trials")
    axes.margins(x=0.12)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    return save(figure, path)


def draw_slices(path: Path, trials: Sequence[TrialResult], space: SearchSpace, metric: str, goal: str, title: str) -> bool:
    """Score over each setting, later trials darker."""
    shown = scored(trials)
    if not shown:
        return False
    rows = math.ceil(len(space) / COLUMNS)
    columns = min(COLUMNS, len(space))
    figure = figure_of(2.7 * columns, 2.3 * rows + 0.5, f"{title}: {metric} over each setting; later trials are darker")
    numbers, scores = [t.number for t in shown], np.array([t.score for t in shown], float)
    first = None
    for place, parameter in enumerate(space.values(), 1):
        axes = first = figure.add_subplot(rows, columns, place, sharey=first)
        units = [parameter.to_unit(trial.settings[parameter.name]) for trial in shown]
        axes.scatter(units, scores, c=numbers, cmap="Blues", vmin=min(numbers) - len(numbers), edgecolors="#0004", s=24)
        best = best_first(shown, goal)
        if best:
            axes.axvline(parameter.to_unit(best[0].settings[parameter.name]), color=ORANGE, linewidth=1.2)
        places = ticks(space, parameter.name, 3)
        axes.set_xticks([u for u, _ in places], [text for _, text in places], fontsize=7)
        axes.set_xlim(-0.06, 1.06)
        axes.set_title(parameter.name, fontsize=8)
        axes.tick_params(axis="y", labelsize=7)
        axes.grid(alpha=0.3)
    return save(figure, path)


def draw_parallel(path: Path, trials: Sequence[TrialResult], space: SearchSpace, metric: str, goal: str, title: str) -> bool:
    """All settings of each trial as one line, coloured by score."""
    shown = scored(trials)
    if not shown:
        return False
    scores = np.array([t.score for t in shown], float)
    places = positions(scores)
    good = places if goal == "maximize" else 1 - places
    names = [*space, metric]
    figure = figure_of(1.25 * len(names) + 1.5, 4.6, f"{title}: all settings, yellow where {metric} is best, violet where worst")
    axes = figure.add_subplot()
    colours = colormaps["viridis"]
    for index in np.argsort(good):
        line = [space[name].to_unit(shown[index].settings[name]) for name in space] + [places[index]]
        axes.plot(range(len(names)), line, color=colours(good[index]), alpha=0.35 + 0.6 * good[index], linewidth=1 + good[index])
    for x, name in enumerate(names):
        axes.axvline(x, color="black", linewidth=0.8)
        labels = (
            ticks(space, name, 4) if name in space else [(p, short(float(v))) for p, v in ((0, scores.min()), (1, scores.max()))]
        )
        for u, text in labels:
            axes.annotate(text, (x, u), xytext=(3, 0), textcoords="offset points", fontsize=7, va="center", bbox=BEHIND)
    axes.set_xticks(range(len(names)), [name.replace(".", ".\n") for name in names], fontsize=7)
    axes.set_yticks([])
    axes.set_xlim(-0.2, len(names) - 0.5)
    axes.spines[:].set_visible(False)
    return save(figure, path)


def plain(value: float, place: int | None = None) -> str:
    """A cost on its axis: seconds as they are, many steps with k and M."""
    return EngFormatter(sep="")(value) if abs(value) >= THOUSANDS else f"{value:g}"


BEHIND: dict[str, Any] = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
"""Keeps labels readable over the lines."""


def positions(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values as places in [0, 1], evenly."""
    low, high = float(values.min()), float(values.max())
    return np.full(len(values), 0.5) if low == high else (values - low) / (high - low)


def ticks(space: SearchSpace, name: str, count: int) -> list[tuple[float, str]]:
    """Places in [0, 1] of a setting's axis, and what stands there."""
    parameter = space[name]
    choices = getattr(parameter, "choices", None)
    if choices is not None:
        return [(parameter.to_unit(choice), str(choice)) for choice in choices]
    found = {}
    for k in range(count):
        value = parameter.from_unit(k / (count - 1))
        found[parameter.to_unit(value)] = rounded(value) if isinstance(value, float) else short(value)
    return sorted(found.items())


def rounded(value: float) -> str:
    """Three digits, or as many as tell it from a whole number."""
    digits = next((n for n in range(3, 9) if float(f"{value:.{n}g}") != round(value) or value == round(value)), 9)
    return f"{value:.{digits}g}"
