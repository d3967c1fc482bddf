"""The report of a sweep: a table on the terminal; best.toml, trials.csv, pictures and index.html in its directory."""

from __future__ import annotations

import csv
import html
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from pufferlib.atomic import replacing
from pufferlib.config.files import dump_toml
from pufferlib_sweep.parallel_page import write_parallel
from pufferlib_sweep.pictures import draw_curves, draw_history, draw_importance, draw_parallel, draw_pareto, draw_slices
from pufferlib_sweep.plan import Plan
from pufferlib_sweep.results import TrialResult, best_first, results_of
from pufferlib_sweep.show import UNITS, WIDTH, short
from pufferlib_sweep.space import SearchSpace

if TYPE_CHECKING:
    from optuna import Study

log = logging.getLogger(__name__)
SHOWN = 4
"""Trials in the table on the terminal: as many as 80 columns hold."""
LISTED = 20
"""Trials in the table of index.html."""


def write_report(directory: Path, plan: Plan, study: Study) -> bool:
    """Print and write the report. False, and nothing written, where no trial has a score yet."""
    trials = results_of(study)
    ranked = best_first(trials, plan.sweep.goal)
    metric = study.user_attrs.get("metric", plan.sweep.metric)
    print(summary(trials))
    if not ranked:
        print("no trial has a score, so none is best")
        return False
    Console(width=WIDTH).print(best_table(ranked[:SHOWN], metric, UNITS[plan.sweep.cost]))
    write_best(directory / "best.toml", plan, ranked[0], metric, len(trials))
    write_csv(directory / "trials.csv", trials)
    pictures = draw_all(directory, plan, study, trials, metric)
    with replacing(directory / "index.html", "w") as file:
        file.write(index_page(plan, trials, ranked, metric, pictures))
    best = ranked[0]
    print(f"best      trial {best.number}: {metric} {short(best.score)}, cost {short(best.cost)} {UNITS[plan.sweep.cost]}")
    print(f"report    {directory / 'index.html'}")
    print(f"use it    puffer train {plan.env_name} --config {directory / 'best.toml'}", flush=True)
    return True


def summary(trials: Sequence[TrialResult]) -> str:
    """How many trials ended, and how; why some failed."""
    states = [trial.state for trial in trials]
    words = [f"{states.count(state)} {state}" for state in ("complete", "stopped", "failed", "running") if state in states]
    return f"{len(trials)} trials: {', '.join(words)}"


def best_table(trials: Sequence[TrialResult], metric: str, unit: str) -> Table:
    """The best trials as columns, best first; a row for each setting."""
    table = Table(title="best trials", title_justify="left", header_style="bold")
    table.add_column("trial", no_wrap=True)
    for trial in trials:
        table.add_column(str(trial.number), justify="right", style="bold" if trial is trials[0] else None, no_wrap=True)
    table.add_row(metric, *(short(trial.score) for trial in trials))
    table.add_row(f"cost ({unit})", *(short(trial.cost) for trial in trials))
    table.add_section()
    for name in trials[0].settings:
        table.add_row(name, *(short(trial.settings.get(name, "")) for trial in trials))
    return table


def write_best(path: Path, plan: Plan, best: TrialResult, metric: str, count: int) -> None:
    """The settings of the best trial as a preset: what the user gave, and what the sweep found."""
    tables = plan.trial_tables(best.settings)
    kept: dict[str, Any] = {"env_name": plan.env_name}
    for name in [*plan.given, *best.settings]:
        table, _, key = name.partition(".")
        kept.setdefault(table, {})[key] = tables[table].get(key, "auto")
    head = (
        f"# Trial {best.number}, the best of {count} of a sweep: {metric} {short(best.score)}, "
        f"cost {short(best.cost)} {UNITS[plan.sweep.cost]}.\n# puffer train {plan.env_name} --config {path.name}\n\n"
    )
    with replacing(path, "w") as file:
        file.write(head + dump_toml(kept))


def write_csv(path: Path, trials: Sequence[TrialResult]) -> None:
    """All trials, a row each."""
    rows = [trial.row() for trial in trials]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path, "w") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw_all(directory: Path, plan: Plan, study: Study, trials: Sequence[TrialResult], metric: str) -> dict[str, str]:
    """Draw what there is to draw: file name -> what it shows. The trials are over by then, so a failure is only a warning."""
    space, goal = SearchSpace.from_tables(plan.space), plan.sweep.goal
    unit = f"cost ({'seconds of training' if plan.sweep.cost == 'seconds' else 'agent-steps'})"
    short_unit, title = f"cost ({UNITS[plan.sweep.cost]})", plan.env_name
    drawers: dict[str, tuple[str, Callable[..., bool], tuple[Any, ...]]] = {
        "pareto.png": (
            "Score against cost; the line joins trials that no cheaper one beats",
            draw_pareto,
            (metric, unit, goal, title),
        ),
        "history.png": ("Scores in the order of the trials, and the best so far", draw_history, (metric, goal, title)),
        "curves.png": ("Learning curves of the trials, the best ones in colour", draw_curves, (metric, unit, goal, title)),
        "importance.png": (
            "How much of the scores' variance each setting explains (fANOVA)",
            draw_importance,
            (study, space, title),
        ),
        "slices.png": ("Score over each setting", draw_slices, (space, metric, goal, title)),
        "parallel.png": (
            "All settings of all trials, yellow where the score is best",
            draw_parallel,
            (space, metric, goal, title),
        ),
        "parallel.html": ("The same to explore", write_parallel, (space, metric, short_unit, goal, title)),
    }
    drawn = {}
    for name, (text, draw, arguments) in drawers.items():
        try:
            if draw(directory / name, trials, *arguments):
                drawn[name] = text
        except Exception as error:
            log.warning("no %s: %s: %s", name, type(error).__name__, error)
    return drawn


STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
th, td { padding: 2px 9px; text-align: right; vertical-align: bottom; border-bottom: 1px solid #8884; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tr.best { font-weight: 600; }
img { max-width: 100%; background: white; border-radius: 4px; }
figure { margin: 1.5em 0; }
figcaption { margin-bottom: .4em; }
"""


def index_page(
    plan: Plan, trials: Sequence[TrialResult], ranked: Sequence[TrialResult], metric: str, pictures: Mapping[str, str]
) -> str:
    """index.html: it links the other files, and needs nothing else."""
    unit, best = UNITS[plan.sweep.cost], ranked[0]
    names = list(best.settings)
    columns = ["trial", metric, f"cost ({unit})", "steps", *names]
    rows = [table_row("th", columns)]
    for trial in ranked[:LISTED]:
        values = [trial.settings.get(name, "") for name in names]
        cells = [trial.number, trial.score, trial.cost, trial.steps, *values]
        rows.append(table_row("td", [short(cell) for cell in cells], "best" if trial is best else ""))
    figures = [
        f'<figure><figcaption>{html.escape(text)}</figcaption><a href="{name}"><img src="{name}" alt=""></a></figure>'
        for name, text in pictures.items()
        if name.endswith(".png")
    ]
    explore = ' <a href="parallel.html">parallel.html</a>: the same to explore.' if "parallel.html" in pictures else ""
    failed = [trial for trial in trials if trial.failure]
    reasons = "".join(f"<li>trial {trial.number}: {html.escape(trial.failure)}</li>" for trial in failed)
    return "\n".join([
        "<!doctype html>", '<html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Sweep of {html.escape(plan.env_name)}</title>",
        f"<style>\n{STYLE}</style>", f"<h1>Sweep of {html.escape(plan.env_name)}</h1>",
        f"<p>{summary(trials)}, by {plan.sweep.method}. Best: trial {best.number}, {html.escape(metric)} {short(best.score)}, "
        f"cost {short(best.cost)} {unit}.</p>",
        f'<p><a href="best.toml">best.toml</a>: <code>puffer train {html.escape(plan.env_name)} --config best.toml</code>. '
        f'<a href="trials.csv">trials.csv</a>: all trials.{explore}</p>',
        f"<p>The best {LISTED}:</p>" if len(ranked) > LISTED else "", "<table>", *rows, "</table>", *figures,
        f"<h2>Failed trials</h2><ul>{reasons}</ul>" if failed else "", "</html>", "",
    ])  # fmt: skip


def table_row(tag: str, cells: Sequence[str], kind: str = "") -> str:
    """One row of an HTML table. Names in its head may break after a dot."""
    attribute = f' class="{kind}"' if kind else ""
    texts = [html.escape(str(cell)) for cell in cells]
    if tag == "th":
        texts = [text.replace(".", ".<wbr>") for text in texts]
    return f"<tr{attribute}>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"
