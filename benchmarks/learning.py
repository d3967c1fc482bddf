"""Train the shipped presets over several seeds and hold them against targets.toml.

python benchmarks/learning.py [NAME ...] [--seeds 10] [--out docs/results]

Writes one curve a target as PNG and one row a target into OUT/README.md's table, between its two markers; rows of targets that
were not run stay as they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib
import tomllib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from common import HERE, machine

BEGIN, END = "<!-- learning: begin -->", "<!-- learning: end -->"
COLUMNS = (
    "what",
    "metric",
    "target",
    "seeds that reach it",
    "mean, min over seeds",
    "steps to reach it",
    "seconds a run",
    "steps/s",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def train(target: dict[str, Any], seed: int, folder: Path) -> tuple[list[dict[str, Any]], float]:
    """Run the command line once. Returns its rows of metrics and its seconds."""
    settings = {
        "train.seed": seed,
        "train.device": "cpu",
        "train.total-timesteps": target["steps"],
        "train.log-interval-s": 0,
        "run-dir": folder,
    }
    flags = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    command = [str(Path(sys.executable).parent / "puffer"), "train", target["env"], *flags, *target.get("flags", [])]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    seconds = time.perf_counter() - start
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()], seconds


def smoothed(rows: list[dict[str, Any]], metric: str, window: float) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and the mean of the metric over the episodes that ended in the `window` steps before each."""
    rows = [row for row in rows if row.get("environment/n")]
    steps = np.array([row["global_step"] for row in rows], float)
    counts = np.array([row["environment/n"] for row in rows], float)
    sums = np.concatenate([[0], np.cumsum(counts * np.array([row[f"environment/{metric}"] for row in rows]))])
    totals = np.concatenate([[0], np.cumsum(counts)])
    first = np.searchsorted(steps, steps - window)
    last = np.arange(1, len(steps) + 1)
    return steps, (sums[last] - sums[first]) / (totals[last] - totals[first])


def measure(name: str, target: dict[str, Any], seeds: int, out: Path) -> str:
    """Train all seeds, draw the curve, and return the table's row."""
    metric, goal, window = target["metric"], target["at_least"], target["steps"] / 10
    curves, finals, reached, seconds = [], [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(1, seeds + 1):
            rows, took = train(target, seed, Path(scratch) / str(seed))
            steps, values = smoothed(rows, metric, window)
            within = goal <= values[-1] <= target.get("below", np.inf)
            print(f"{name} seed {seed}: {metric} {values[-1]:.4f} {'ok' if within else 'MISSED'}, {took:.1f} s", flush=True)
            curves.append((steps, values))
            finals.append(values[-1])
            seconds.append(took)
            below = np.flatnonzero(values < goal)  # reached for good: early on only the shortest episodes have ended
            reached.append(steps[0] if not len(below) else steps[below[-1] + 1] if below[-1] + 1 < len(steps) else np.inf)
    draw(name, metric, target, curves, out / f"{name}.png")
    ok = sum(goal <= value <= target.get("below", np.inf) for value in finals)
    bound = f"in [{goal}, {target['below']}]" if "below" in target else f">= {goal}"
    when = f"{np.median(reached):,.0f}" if np.isfinite(np.median(reached)) and "below" not in target else "-"
    cells = (
        f"[{name}]({name}.png)",
        metric,
        f"{bound} in {target['steps']:,}",
        f"{ok} of {seeds}",
        f"{np.mean(finals):.3f}, {min(finals):.3f}",
        when,
        f"{np.median(seconds):.1f}",
        f"{target['steps'] / np.median(seconds):,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def draw(name: str, metric: str, target: dict[str, Any], curves: list[tuple[np.ndarray, np.ndarray]], path: Path) -> None:
    """Every seed's curve, thin, their mean, bold, and the target, dashed."""
    figure, axes = plt.subplots(figsize=(6, 3.5), dpi=100)
    grid = np.linspace(0, target["steps"], 200)
    for steps, values in curves:
        axes.plot(steps, values, color="tab:blue", alpha=0.3, linewidth=0.8)
    mean = np.mean([np.interp(grid, steps, values) for steps, values in curves], axis=0)
    axes.plot(grid, mean, color="tab:blue", linewidth=2, label=f"mean of {len(curves)} seeds")
    axes.axhline(target["at_least"], color="black", linestyle="--", linewidth=0.8, label="target")
    if "below" in target:
        axes.axhline(target["below"], color="black", linestyle=":", linewidth=0.8, label="upper limit")
    title = target["env"] if target["env"].endswith(name) else f"{target['env']} ({name})"
    axes.set(title=title, xlabel="agent-steps", ylabel=metric)
    every = np.concatenate([values for _, values in curves])
    if every.min() >= 0 and 0.3 <= every.max() <= 1:
        axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def update_table(path: Path, rows: dict[str, str], order: list[str]) -> None:
    """Put new rows into the table between the markers of a Markdown page, in the order of targets.toml."""
    page = path.read_text()
    before, rest = page.split(BEGIN)
    table, after = rest.split(END)
    old = {line.split("]", 1)[0].removeprefix("| ["): line for line in table.splitlines() if line.startswith("| [")}
    lines = [({**old, **rows})[name] for name in order if name in {**old, **rows}]
    body = "\n".join([machine(), "", HEAD, *lines])
    path.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}")


def main() -> None:
    """Measure what was asked for and write it down as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results")
    given = parser.parse_args()
    targets = tomllib.loads((HERE / "targets.toml").read_text())
    for name in given.names or targets:
        target = {"env": f"ocean-{name}", **targets[name]}
        row = measure(name, target, given.seeds, given.out)
        print(row, flush=True)
        update_table(given.out / "README.md", {name: row}, list(targets))


if __name__ == "__main__":
    main()
