"""The learning curve of a run as one picture: curve.png in its directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pufferlib.atomic import replacing

PANELS = (
    ("score and return", ("environment/score", "environment/episode_return")),
    ("perf (0 to 1)", ("environment/perf",)),
    ("episode length", ("environment/episode_length",)),
    ("steps per second", ("SPS",)),
    ("value loss", ("losses/value_loss",)),
    ("policy loss", ("losses/policy_loss",)),
    ("entropy", ("losses/entropy",)),
    ("approximate KL", ("losses/approx_kl",)),
    ("explained variance", ("losses/explained_variance",)),
)
COLUMNS = 3
MOST_POINTS = 2000
FEW_POINTS = 30
"""Fewer are marked one by one."""


def draw_curves(rows: Sequence[Mapping[str, Any]], path: str | Path, title: str = "") -> bool:
    """Draw the metrics that `rows` hold over steps into a PNG. False, and no file, where there is nothing to draw."""
    drawn = [(name, [(key, points(rows, key)) for key in keys]) for name, keys in PANELS]
    drawn = [(name, [(key, xy) for key, xy in lines if xy[0]]) for name, lines in drawn]
    drawn = [(name, lines) for name, lines in drawn if lines]
    if not drawn:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    height = -(-len(drawn) // COLUMNS)
    figure = Figure(figsize=(4.2 * COLUMNS, 2.7 * height + 0.5), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    for place, (name, lines) in enumerate(drawn, 1):
        axes = figure.add_subplot(height, COLUMNS, place)
        for key, (steps, values) in lines:
            label = key.rsplit("/", 1)[-1].replace("_", " ")
            axes.plot(steps, values, label=label, linewidth=1.4, marker="." if len(steps) < FEW_POINTS else "")
        axes.set_title(name, fontsize=10)
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.tick_params(labelsize=8)
        if name == "steps per second":
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        if name.startswith("perf"):
            axes.set_ylim(-0.03, 1.03)
        if len(lines) > 1:
            axes.legend(fontsize=8)
    figure.supxlabel("agent-steps", fontsize=9)
    with replacing(path) as file:
        figure.savefig(file, format="png")
    return True


def points(rows: Sequence[Mapping[str, Any]], key: str) -> tuple[list[float], list[float]]:
    """Steps and values of one metric, thinned evenly to MOST_POINTS with the last one kept."""
    known = [row for row in rows if isinstance(row.get(key), (int, float)) and "global_step" in row]
    found = [(float(row["global_step"]), float(row[key])) for row in known]
    stride = -(-len(found) // MOST_POINTS) or 1
    kept = found[(len(found) - 1) % stride :: stride] if found else []
    return [step for step, _ in kept], [value for _, value in kept]
