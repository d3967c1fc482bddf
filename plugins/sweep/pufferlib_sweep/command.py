"""`puffer sweep ENV`: train many times with other settings, and say which are best."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.files import read_toml
from pufferlib.config.run_config import SWEEP_TABLE
from pufferlib.errors import ConfigError
from pufferlib_sweep.settings import CHANGEABLE, SweepConfig

if TYPE_CHECKING:
    from pufferlib_sweep.plan import Plan

HELP = """\
Train many times with other settings, and find the best. Each trial is a `puffer train` in a
process of its own; all flags of `puffer train` hold for every trial, and what a flag gives is not
searched. What is searched otherwise: the usual settings around the env's preset, and the tables
[sweep.<setting>] of the preset and of --config FILE; see docs/sweeps.md.

  puffer sweep ocean-breakout --sweep.trials 40
  puffer sweep ocean-squared --train.total-timesteps 1e6 --sweep.parallel 4 --sweep.method tpe
  puffer sweep --sweep.resume runs/ocean-squared/20260101-120000-sweep --sweep.trials 80
  puffer sweep report runs/ocean-squared/20260101-120000-sweep

--run-dir is the sweep's directory: trials' runs lie below it, best.toml and index.html in it. The
same command once more goes on with it.
"""
REPORT_HELP = """\
usage: puffer sweep report DIR

Print what the sweep in DIR has found so far; write best.toml, trials.csv, index.html and its pictures.
"""
EXTRA = {"config": "A TOML file with the tables of a run, and [sweep]."}
RESUME = f"{SWEEP_TABLE}.resume"
FAILED = 1


@dataclass(kw_only=True)
class Shown(SweepConfig):
    """The table [sweep] as the help page shows it."""

    resume: str = ""
    """Go on with the sweep in that directory, under the settings that it began with."""


def run(argv: list[str]) -> int:
    """The command. Returns the exit code: 0, 1 where no trial had a score, or 130 after Ctrl-C (143 after SIGTERM)."""
    arguments = scan(argv)
    if arguments.positional[:1] == ["report"]:
        return report_command(arguments)
    if arguments.wants_help:
        return show_help(arguments)
    arguments.at_most(1, "puffer sweep")
    resume = arguments.take(RESUME)
    run_dir, tag = arguments.take("run_dir") or "", arguments.take("tag") or ""
    if resume is not None and run_dir:
        raise ConfigError("--run-dir and --sweep.resume exclude each other: a sweep that is resumed goes on where it is")
    plan = resumed_plan(arguments, Path(resume)) if resume is not None else new_plan(arguments)
    from pufferlib_sweep.session import train_session

    return work(plan, train_session(plan, resume or run_dir, tag))


def new_plan(arguments: Arguments) -> Plan:
    """The plan that the command line says. Raises ConfigError or EnvNotFoundError."""
    from pufferlib_sweep.plan import make_plan

    file = arguments.take("config")
    named = arguments.positional[0] if arguments.positional else None
    env_name = named or (read_toml(file).get("env_name") if file else None)
    if not isinstance(env_name, str):
        raise ConfigError("which environment? as in `puffer sweep ocean-breakout`; `puffer list` shows all")
    return make_plan(env_name, arguments.flags, file)


def resumed_plan(arguments: Arguments, directory: Path) -> Plan:
    """The plan of the sweep in that directory, with the sweep's own settings as given now. Raises ConfigError."""
    from pufferlib_sweep.plan import sweep_schema
    from pufferlib_sweep.session import read_plan

    plan = read_plan(directory)
    if arguments.positional and arguments.positional[0] != plan.env_name:
        raise ConfigError(f"--{RESUME} {directory}: the sweep is of {plan.env_name}, not of {arguments.positional[0]}")
    changes: dict[str, Any] = {}
    for given in arguments.flags:
        name = given.key.partition(".")[2]
        if not given.key.startswith(f"{SWEEP_TABLE}."):
            raise ConfigError(f"{given.label}: what trials have in common cannot change within a sweep; leave it out")
        value = sweep_schema().convert(given)
        if name not in CHANGEABLE and value != getattr(plan.sweep, name):
            raise ConfigError(f"{given.label}: cannot change within a sweep; it has {getattr(plan.sweep, name)!r}")
        changes[name] = value
    return replace(plan, sweep=replace(plan.sweep, **changes))


def work(plan: Plan, session: Any) -> int:
    """Run the trials and report. Returns the exit code."""
    from pufferlib_sweep.report import write_report
    from pufferlib_sweep.runner import FAILING, INTERRUPTED
    from pufferlib_sweep.show import Screen

    screen = Screen(plan, session.study, session.directory)
    screen.begin(session.space)
    with screen:
        why = session.run(screen.trial_ended, screen.look)
    screen.end(why)
    go_on = f"go on with: puffer sweep --{RESUME} {session.directory}"
    if why == INTERRUPTED:
        print(f"stopped; all finished trials are kept\n{go_on}")
        return 128 + (session.stop_signal or signal.SIGINT)
    if why == FAILING:
        print(f"puffer: {screen.common_failure()}\n{go_on}", file=sys.stderr)
        return FAILED
    return 0 if write_report(session.directory, plan, session.study) else FAILED


def report_command(arguments: Arguments) -> int:
    """`puffer sweep report DIR`. Returns the exit code."""
    from pufferlib_sweep.report import write_report
    from pufferlib_sweep.session import load_study, read_plan

    if arguments.wants_help:
        print(REPORT_HELP, end="")
        return 0
    arguments.refuse_flags()
    arguments.at_most(2, "puffer sweep report")
    if len(arguments.positional) < 2:
        raise ConfigError("which sweep? as in `puffer sweep report runs/ocean-squared/20260101-120000-sweep`")
    directory = Path(arguments.positional[1])
    plan = read_plan(directory)
    return 0 if write_report(directory, plan, load_study(plan, directory)) else FAILED


def show_help(arguments: Arguments) -> int:
    """Every setting of the sweep and of the trials."""
    from pufferlib.cli.help import print_run_settings

    print_run_settings(arguments, "puffer sweep", HELP, EXTRA, {SWEEP_TABLE: Shown()})
    return 0
