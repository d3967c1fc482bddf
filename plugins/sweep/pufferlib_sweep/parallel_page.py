"""parallel.html: all settings of all trials as lines between axes, to explore in a browser, with no other file or network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pufferlib.atomic import replacing
from pufferlib_sweep.pictures import positions, scored, ticks
from pufferlib_sweep.results import TrialResult
from pufferlib_sweep.show import short
from pufferlib_sweep.space import SearchSpace

TEMPLATE = Path(__file__).with_name("parallel.html")
TICKS = 5


def write_parallel(
    path: Path, trials: Sequence[TrialResult], space: SearchSpace, metric: str, cost: str, goal: str, title: str
) -> bool:
    """Write the page; cost names that axis with its unit. False, and no file, where no trial has a score."""
    shown = scored(trials)
    if not shown:
        return False
    scores, costs = np.array([t.score for t in shown], float), np.array([t.cost for t in shown], float)
    places = positions(scores)
    axes: list[dict[str, Any]] = [{"name": name, "ticks": ticks(space, name, TICKS)} for name in space]
    axes += [number_axis(cost, costs), number_axis(metric, scores)]
    lines = [
        {
            "number": trial.number,
            "state": trial.state,
            "at": [space[name].to_unit(trial.settings[name]) for name in space] + [spent, place],
            "text": [short(trial.settings[name]) for name in space] + [short(trial.cost), short(trial.score)],
            "good": place if goal == "maximize" else 1 - place,
        }
        for trial, spent, place in zip(shown, positions(costs).tolist(), places.tolist(), strict=True)
    ]
    data = json.dumps({"title": title, "axes": axes, "lines": lines}).replace("</", "<\\/")
    with replacing(path, "w") as file:
        file.write(TEMPLATE.read_text(encoding="utf-8").replace("/*DATA*/null", data))
    return True


def number_axis(name: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    """An axis from the least to the most of some numbers."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return {"name": name, "ticks": [(0.5, short(low))]}
    return {"name": name, "ticks": [(k / (TICKS - 1), short(low + (high - low) * k / (TICKS - 1))) for k in range(TICKS)]}
