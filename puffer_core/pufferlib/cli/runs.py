"""`puffer runs`: what the runs on disk are and how far they came, side by side, over seeds, and as a page.

Only directories are read: no torch, no env, and matplotlib only where a picture is drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.cli.flags import Arguments, scan
from pufferlib.cli.plot import CURVES, SWITCHES, Request, draw, plot_options, read_options
from pufferlib.config.run_config import Setting
from pufferlib.config.values import Kind, near
from pufferlib.errors import ConfigError

if TYPE_CHECKING:
    from pufferlib.analysis.index import Run

HELP = """\
usage: puffer runs [list] [flags]
       puffer runs show RUN
       puffer runs best [flags]
       puffer runs compare RUN RUN... [flags]
       puffer runs aggregate GROUP... [flags]
       puffer runs report RUN [--out FILE]

Look at the runs on disk. RUN is a run's path, a unique part of its name, or `latest`. Where several are taken, it may also be a
pattern such as 'ocean-pong/*', or a folder, for all the runs in it.

all:
  --root DIR            where runs are looked for, at any depth (runs)
  --json                for scripts (list, show, best, compare, aggregate)

list and best:
  --env, --tag, --policy PATTERN    a part of the name, or with * ? [...]
  --where CONDITION     as in "train.learning_rate>1e-3", "perf>=0.9" or "state=finished"; may be given several times
  --since WHEN          begun in the last 90m, 12h, 3d, 2w, or since a date such as 2026-01-31
  --metric NAME         the episode statistic of the columns last and best; -NAME: the least is best (the run's own)
  --trials              list: all trials of a sweep, which has one line otherwise, that of its best (--json has all runs)
  --sort KEY            a column, a setting or a metric; the largest first (age, the newest first)
  --reverse             the other way round
  --limit N             no more than so many
  --print WHAT          best: only the path of the run, or of the checkpoint: run, checkpoint

compare: what differs, metrics side by side, and a picture of the curves; runs that differ only in their seed are one column
  --out FILE            the picture: .png, .svg, .pdf, or none (compare.png)
  --metric --x --smooth --band --group-by --log-x    as `puffer plot` has them

aggregate: interquartile mean, median, mean, optimality gap and probability of improvement over seeds and envs, with 95 %
intervals. GROUP is a folder, a pattern or a run, also NAME=GROUP,GROUP. One GROUP alone is split by --group-by
  --metric NAME         an episode statistic (perf)
  --group-by KEY        one group for each value of a setting; seeds: runs that differ only in their seed
  --resamples N         of the bootstrap (10000)
  --seed S              of the bootstrap (0)

report: a page about one run that opens from the disk, with no network
  --out FILE            (report.html in the run directory)

  puffer runs --env breakout --where "perf>0.5" --sort perf
  puffer runs compare adam muon --metric perf --out optimizers.png
  puffer runs aggregate adam=runs/adam muon=runs/muon
  puffer eval "$(puffer runs best --env ocean-pong --print checkpoint)"
"""
ROOT = {"root": Setting(Kind("text"), "runs")}
JSON = {"json": Setting(Kind("bool"), False)}
FILTERS = {
    "env": Setting(Kind("text"), ""),
    "tag": Setting(Kind("text"), ""),
    "policy": Setting(Kind("text"), ""),
    "where": Setting(Kind("texts"), []),
    "since": Setting(Kind("text"), ""),
    "metric": Setting(Kind("text"), ""),
}
ORDER = {
    "sort": Setting(Kind("text"), ""),
    "reverse": Setting(Kind("bool"), False),
    "limit": Setting(Kind("int", low=1), 0),
}
LIST = {**ROOT, **FILTERS, **ORDER, **JSON, "trials": Setting(Kind("bool"), False)}
BEST = {**ROOT, **FILTERS, **JSON, "print": Setting(Kind("text", choices=("run", "checkpoint")), "")}
COMPARE = {**CURVES, **JSON, "out": Setting(Kind("text"), "compare.png")}
AGGREGATE = {
    **ROOT,
    **JSON,
    "metric": Setting(Kind("text"), "perf"),
    "group_by": Setting(Kind("text"), ""),
    "resamples": Setting(Kind("int", low=100, high=10_000_000), 10_000),
    "seed": Setting(Kind("int", low=0), 0),
}
REPORT = {**ROOT, "out": Setting(Kind("text"), "")}
NO_PICTURE = "none"
FAILED = 1


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv, switches=("json", "reverse", "trials", *SWITCHES))
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    name = arguments.positional.pop(0) if arguments.positional else "list"
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise ConfigError(f"puffer runs {name}: no such command{near(name, COMMANDS)} ({known})")
    function, settings = COMMANDS[name]
    return function(arguments, read_options(settings, arguments))


def select(options: dict[str, Any], *, quiet: bool) -> list[Run]:
    """The runs that pass the filters but --where. Unless `quiet`, folders that are left out are told on stderr.

    Raises ConfigError.
    """
    import sys

    from pufferlib.analysis.index import find_all
    from pufferlib.analysis.query import choose
    from pufferlib.analysis.text import printable

    found = find_all(options["root"])
    for path, reason in found.skipped if not quiet else []:
        print(printable(f"left out: {path}: {reason}"), file=sys.stderr)
    return choose(found.runs, options["env"], options["tag"], options["policy"], options["since"])


def list_runs(arguments: Arguments, options: dict[str, Any]) -> int:
    """`puffer runs`: 1 where nothing is left."""
    from pufferlib.analysis.index import dump
    from pufferlib.analysis.query import parse_condition, sort, where
    from pufferlib.analysis.sweeps import best_trials
    from pufferlib.analysis.tables import list_lines

    arguments.at_most(0, "puffer runs list")
    conditions = [parse_condition(text) for text in options["where"]]
    runs = select(options, quiet=options["json"])
    if options["reverse"] and not options["sort"]:
        runs.reverse()
    found = [run.summary(options["metric"]) for run in runs]  # whose figures are read when they are asked for
    if conditions:
        found = where(found, conditions)
    sweeps: dict[Path, tuple[str, int]] = {}
    if not options["trials"] and not options["json"]:
        found, sweeps = best_trials(found, Path(options["root"]))
    if options["sort"]:
        found = sort(found, options["sort"], options["reverse"])
    shown = found[: options["limit"] or None]
    if options["json"]:
        print(dump([summary.as_json() for summary in shown]))
        return 0
    if not shown:
        print(f"no runs below {options['root']} that fit")
        return FAILED
    print("\n".join(list_lines(shown, len(found), time.time(), options["sort"], sweeps)))
    return 0


def show(arguments: Arguments, options: dict[str, Any]) -> int:
    """`puffer runs show RUN`."""
    from pufferlib.analysis.details import details, details_lines
    from pufferlib.analysis.index import dump
    from pufferlib.analysis.lookup import Shelf

    found = Shelf(options["root"]).one(only_run(arguments, "show"))
    print(dump(details(found)) if options["json"] else "\n".join(details_lines(found)))
    return 0


def best(arguments: Arguments, options: dict[str, Any]) -> int:
    """`puffer runs best`: tab-separated, one fact a line; 1 where no run has a checkpoint that episodes went before."""
    from pufferlib.analysis.details import best_run
    from pufferlib.analysis.index import dump
    from pufferlib.analysis.query import parse_condition, where

    arguments.at_most(0, "puffer runs best")
    conditions = [parse_condition(text) for text in options["where"]]
    runs = select(options, quiet=True)
    if conditions:
        runs = [summary.run for summary in where([run.summary(options["metric"]) for run in runs], conditions)]
    envs = sorted({run.env for run in runs})
    if len(envs) > 1:
        raise ConfigError(f"scores of several envs cannot be compared: choose one with --env ({', '.join(envs)})")
    facts = best_run(runs, options["metric"])
    if facts is None:
        raise ConfigError(f"no run below {options['root']} that fits has a checkpoint before which episodes ended")
    if options["print"]:
        print(facts[options["print"]])
    else:
        print(dump(facts) if options["json"] else "\n".join(f"{key}\t{value}" for key, value in facts.items()))
    return 0


def compare(arguments: Arguments, options: dict[str, Any]) -> int:
    """`puffer runs compare RUN RUN...`."""
    from pufferlib.analysis.groups import make_groups
    from pufferlib.analysis.index import dump
    from pufferlib.analysis.lookup import Shelf
    from pufferlib.analysis.plots import check_picture
    from pufferlib.analysis.tables import comparison, comparison_lines

    if not arguments.positional:
        raise ConfigError("which runs? `puffer runs compare RUN RUN...`; see `puffer runs --help`")
    if options["out"] != NO_PICTURE:
        check_picture(options["out"])
    runs = Shelf(options["root"]).all(arguments.positional)
    if len(runs) < 2:
        raise ConfigError(f"{arguments.positional[0]}: one run is compared with nothing; `puffer runs show` shows one")
    groups = make_groups(runs, options["group_by"])
    found = comparison(groups)
    print(dump(found) if options["json"] else "\n".join(comparison_lines(groups, found)))
    if options["out"] != NO_PICTURE and not options["json"]:
        print()
        draw(Request(groups, plot_options(options), options["out"]))
    return 0


def aggregate(arguments: Arguments, options: dict[str, Any]) -> int:
    """`puffer runs aggregate GROUP...`."""
    from pufferlib.analysis.index import dump
    from pufferlib.analysis.lookup import Shelf
    from pufferlib.analysis.scores import aggregate_lines, aggregate_table, selected_groups

    if not arguments.positional:
        raise ConfigError("which runs? `puffer runs aggregate GROUP...`, each a folder or pattern; see `puffer runs --help`")
    groups = selected_groups(Shelf(options["root"]), arguments.positional, options["group_by"])
    found = aggregate_table(groups, options["metric"], options["resamples"], options["seed"])
    print(dump(found.as_json()) if options["json"] else "\n".join(aggregate_lines(found)))
    return 0


def report(arguments: Arguments, options: dict[str, Any]) -> int:
    """`puffer runs report RUN`."""
    from pufferlib.analysis.lookup import Shelf
    from pufferlib.analysis.report import write_report

    found = Shelf(options["root"]).one(only_run(arguments, "report"))
    print(f"wrote {write_report(found, options['out'] or None)}")
    return 0


def only_run(arguments: Arguments, command: str) -> str:
    """The one RUN that the command takes. Raises ConfigError."""
    arguments.at_most(1, f"puffer runs {command}")
    if not arguments.positional:
        raise ConfigError(
            f"which run? `puffer runs {command} RUN`: a path, a part of a name, or `latest`; `puffer runs` lists all"
        )
    return arguments.positional[0]


COMMANDS: dict[str, tuple[Callable[[Arguments, dict[str, Any]], int], dict[str, Setting]]] = {
    "list": (list_runs, LIST),
    "show": (show, {**ROOT, **JSON}),
    "best": (best, BEST),
    "compare": (compare, COMPARE),
    "aggregate": (aggregate, AGGREGATE),
    "report": (report, REPORT),
}
