"""Learning curves of one or several groups of runs: smoothed, with the spread over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pufferlib.analysis.aggregate import bootstrap, iqm
from pufferlib.analysis.groups import Group
from pufferlib.analysis.index import SPEED
from pufferlib.analysis.rows import Row
from pufferlib.analysis.series import Axis, Curve, Floats, curve, find_metric, on_one_grid, smooth
from pufferlib.atomic import replacing
from pufferlib.errors import ConfigError
from pufferlib.train.best import PREFIX

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Band = Literal["range", "interval", "none"]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Told apart by people who see few colours (Okabe and Ito 2008), without the yellow, which is faint on white."""
STROKES = ("-", "--", ":", "-.")
"""When the colours begin again."""
SUFFIXES = (".png", ".svg", ".pdf")
PANEL_INCHES = (8.0, 4.8)
SMALL_PANEL_INCHES = (5.6, 3.9)
DPI = 100
MOST_INSIDE = 4
"""More groups than that have their legend outside the axes."""
LONGEST_BESIDE = 34
"""Longer labels have their legend above the panels."""
MOST_RAW = 6
"""More runs than that are drawn without their unsmoothed lines."""
BAND_ALPHA = 0.18
"""Half of it where bands of many groups lie over each other."""
BAND_RESAMPLES = 1000
BANDS: dict[Band, str] = {"range": "least to most of the seeds", "interval": "95 % bootstrap interval of the line", "none": ""}
TIME_UNITS = (("hours", 3600.0, 7200.0), ("minutes", 60.0, 180.0), ("seconds", 1.0, 0.0))
"""Unit, its seconds, and from how long a training on it is used."""
LEADING = ("perf", "score", "episode_return")
"""What is drawn where no metric is named: the first of these that was logged."""


@dataclass(frozen=True)
class PlotOptions:
    """How curves are drawn. metrics: by name, one panel each; (): the first of LEADING. smooth: see `series.smooth`."""

    metrics: tuple[str, ...] = ()
    axis: Axis = "steps"
    smooth: float = 0.9
    band: Band = "range"
    log_x: bool = False


def draw_groups(groups: Sequence[Group], options: PlotOptions) -> Figure:
    """One panel for each metric, one line for each group. Raises ConfigError where a metric is unknown or nothing was logged."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = {run.path: run.rows() for group in groups for run in group.runs}
    metrics = find_metrics(options, rows)
    columns = min(len(metrics), 2)
    lines = -(-len(metrics) // columns)
    width, height = PANEL_INCHES if len(metrics) == 1 else SMALL_PANEL_INCHES
    figure = Figure(figsize=(width * columns, height * lines), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    for place, metric in enumerate(metrics, 1):
        draw_panel(figure.add_subplot(lines, columns, place), groups, rows, metric, options)
    add_legend(figure, groups)
    figure.supxlabel(caption(groups, options), fontsize=8, color="0.35")
    return figure


def find_metrics(options: PlotOptions, rows: Mapping[Path, Sequence[Row]]) -> list[str]:
    """The keys to draw. Raises ConfigError."""
    keys = dict.fromkeys(key for run in rows.values() for row in run for key in row)
    if options.metrics:
        return list(dict.fromkeys(find_metric(name, keys) for name in options.metrics))
    found = next((PREFIX + name for name in LEADING if PREFIX + name in keys), None) or (SPEED if SPEED in keys else None)
    if found is None:
        raise ConfigError(f"nothing to draw: {', '.join(map(str, rows))} logged no rows yet" if not keys else "which --metric?")
    return [found]


def draw_panel(
    axes: Axes, groups: Sequence[Group], rows: Mapping[Path, Sequence[Row]], metric: str, options: PlotOptions
) -> None:  # fmt: skip
    """One metric of all groups."""
    curves = [[curve(rows[run.path], metric, options.axis) for run in group.runs] for group in groups]
    unit, length = time_unit(curves) if options.axis == "time" else ("", 1.0)
    curves = [[prepare(one, length, options.log_x) for one in group] for group in curves]
    alpha = BAND_ALPHA if len(groups) <= MOST_INSIDE else BAND_ALPHA / 2
    with_raw = sum(len(group) for group in curves) <= MOST_RAW
    for i, (group, members) in enumerate(zip(groups, curves, strict=True)):
        look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "linestyle": STROKES[i // len(COLOURS) % len(STROKES)]}
        draw_group(axes, group, [one for one in members if len(one.x)], options, look, with_raw, alpha)
    dress(axes, metric, unit, options)


def draw_group(
    axes: Axes, group: Group, curves: Sequence[Curve], options: PlotOptions, look: Mapping[str, Any], with_raw: bool, alpha: float
) -> None:  # fmt: skip
    """The line of a group, its band, and what was logged, faint, behind. Artists carry their part as gid."""
    if options.smooth and with_raw:
        for one in curves:
            axes.plot(one.x, one.y, color=look["color"], linewidth=0.7, alpha=0.25, gid="raw", zorder=1)
    if not curves:  # still named, so that nobody looks for it in vain
        axes.plot([], [], **look, linewidth=2, label=f"{group.label}: nothing logged", gid="line")
        return
    smoothed = [one._replace(y=smooth(one.y, one.weights, options.smooth)) for one in curves]
    x, values = on_one_grid(smoothed)
    if not len(x):  # runs without a step in common: each by itself
        for one in smoothed:
            axes.plot(one.x, one.y, **look, linewidth=1.2, label=group.title, gid="line", zorder=3)
        return
    if len(values) > 1 and options.band != "none":
        low, high = spread(values, options.band)
        axes.fill_between(x, low, high, color=look["color"], alpha=alpha, linewidth=0, gid="band", zorder=2)
    marker = "o" if len(x) == 1 else ""
    axes.plot(x, iqm(values, axis=0), **look, linewidth=2, marker=marker, label=group.title, gid="line", zorder=3)


def spread(values: Floats, band: Band) -> tuple[Floats, Floats]:
    """The lower and the upper edge of the band. values: float64[runs, points]"""
    if band == "range":
        return values.min(axis=0), values.max(axis=0)
    found = [
        bootstrap([column], lambda parts: iqm(parts[0]), resamples=BAND_RESAMPLES) or (np.nan, np.nan) for column in values.T
    ]
    edges = np.array(found, np.float64)
    return edges[:, 0], edges[:, 1]


def prepare(one: Curve, length: float, log_x: bool) -> Curve:
    """x in its unit; on a logarithmic axis without what cannot be shown there."""
    kept = one.x > 0 if log_x else np.ones(len(one.x), bool)
    return Curve(one.x[kept] / length, one.y[kept], one.weights[kept])


def time_unit(curves: Sequence[Sequence[Curve]]) -> tuple[str, float]:
    """The unit in which the longest training is a handy number, and its seconds."""
    longest = max((float(one.x[-1]) for group in curves for one in group if len(one.x)), default=0.0)
    return next((unit, length) for unit, length, least in TIME_UNITS if longest >= least)


def dress(axes: Axes, metric: str, unit: str, options: PlotOptions) -> None:
    """Labels with units, ticks as 100k and 1M, a grid."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axes.set_ylabel("agent-steps per second" if metric == SPEED else metric.removeprefix(PREFIX).replace("_", " "), fontsize=11)
    axes.set_xlabel(f"training time ({unit})" if options.axis == "time" else "agent-steps", fontsize=11)
    if options.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if options.axis == "steps" or options.log_x:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if metric == SPEED:
        axes.set_ylim(bottom=0)
    if max(map(abs, axes.get_ylim())) >= 10_000:
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.tick_params(labelsize=10)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def add_legend(figure: Figure, groups: Sequence[Group]) -> None:
    """Of one group a title; of a few a legend in the panel; of many, or with several panels, one outside."""
    if len(groups) == 1:
        figure.suptitle(groups[0].title, fontsize=12)
        return
    handles, labels = figure.axes[0].get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    if len(groups) <= MOST_INSIDE and len(figure.axes) == 1:
        figure.axes[0].legend(found.values(), found.keys(), fontsize=10, framealpha=0.85)
        return
    if max(map(len, found), default=0) > LONGEST_BESIDE:
        figure.legend(found.values(), found.keys(), fontsize=9, frameon=False, loc="outside upper center", ncols=2)
    else:
        figure.legend(found.values(), found.keys(), fontsize=9, frameon=False, loc="outside right upper")


def caption(groups: Sequence[Group], options: PlotOptions) -> str:
    """What the line, the band and the smoothing are, in one line."""
    parts = [f"smoothed by {options.smooth:g} (debiased, episodes count alike)"] if options.smooth else ["not smoothed"]
    if any(len(group.runs) > 1 for group in groups):
        largest = max(len(group.runs) for group in groups)
        parts.append(f"line: {'interquartile mean' if largest > 3 else 'mean'} of the seeds")
        if options.band != "none":
            parts.append(f"band: {BANDS[options.band]}")
    return "; ".join(parts)


def check_picture(path: str | Path, flag: str = "--out") -> Path:
    """The path of a picture that can be written. Raises ConfigError for an unknown suffix or a missing folder."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{flag} {path}: its name must end in {', '.join(SUFFIXES)}")
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise ConfigError(f"{flag} {path}: " + ("is a folder" if target.is_dir() else f"there is no folder {target.parent}"))
    return target


def save_picture(figure: Figure, path: Path) -> None:
    """Write the picture in one rename."""
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.lower().removeprefix("."))
