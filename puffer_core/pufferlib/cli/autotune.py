"""`puffer autotune ENV`: the fastest back end, number of envs, workers and batch size here, as a `[vec]` table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pufferlib.cli.flags import scan
from pufferlib.config.env_arguments import env_arguments
from pufferlib.config.run_config import Schema, Setting
from pufferlib.config.values import Kind
from pufferlib.errors import ConfigError
from pufferlib.plugins import registry

if TYPE_CHECKING:
    from pufferlib.tuning import Trial, Tuning

HELP = """\
usage: puffer autotune ENV [flags]

Try back ends, numbers of envs and workers, and batch sizes with random actions and a model that takes a given time, and print
the best as the [vec] table of a config file.

  --model-ms MS           what the policy takes for one batch (1)
  --model-us-per-row US   what it takes for each row of a batch beside that (0)
  --model-on WHERE        device: the CPU rests meanwhile; cpu: it is busy (device)
  --num-envs N,N,...      numbers of envs to try (native envs: 256,1024,4096; others: 8,32,64)
  --backends NAME,...     back ends to try (serial, and threads for native envs or processes for others)
  --seconds S             of one window (0.3)
  --rounds N              windows of each candidate; those far behind drop out after each (3)
  --env.NAME VALUE        a setting of the environment

  puffer autotune ocean-breakout --model-ms 2
"""
OPTIONS = {
    "model_ms": Kind("float", low=0, high=1e5),
    "model_us_per_row": Kind("float", low=0, high=1e5),
    "model_on": Kind("text", choices=("device", "cpu")),
    "num_envs": Kind("text"),
    "backends": Kind("text"),
    "seconds": Kind("float", low=0.01, high=600),
    "rounds": Kind("int", low=1, high=1000),
}


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    arguments.at_most(1, "puffer autotune")
    if not arguments.positional:
        raise ConfigError("which environment? as in `puffer autotune ocean-breakout`; `puffer list` shows all")
    spec = registry().find_env(arguments.positional[0])
    found = env_arguments(spec)
    own = {key: Setting(kind) for key, kind in OPTIONS.items()}
    schema = Schema({**own, **found.settings}, frozenset({"env"} if found.is_open else ()))
    values = {given.key: schema.convert(given) for given in arguments.flags}
    options = {key: value for key, value in values.items() if key in OPTIONS}
    if "num_envs" in options:
        options["num_envs"] = [_count(word) for word in options["num_envs"].split(",")]
    if "backends" in options:
        options["backends"] = options["backends"].split(",")
    env = {key.partition(".")[2]: value for key, value in values.items() if key.startswith("env.")}
    show(spec.name, tune(spec.name, {**options, **env}))
    return 0


def tune(name: str, settings: dict[str, Any]) -> Tuning:
    """`pufferlib.autotune` under a progress bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from pufferlib.tuning import autotune

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def report(done: int, total: int, trial: Trial) -> None:
            text = f"{trial.backend}, {trial.num_envs} envs, {trial.num_workers} workers"
            progress.update(task, completed=done, total=total, description=text)

        return autotune(name, report=report, **settings)


def show(name: str, tuning: Tuning) -> None:
    """Print the table, how sure it is, and the snippet."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{name}, random actions, model: {tuning.model}", title_justify="left")
    table.add_column("back end")
    for column in ("envs", "workers", "batch size", "agent-steps/s", "slowest - fastest window"):
        table.add_column(column, justify="right")
    for trial in tuning.trials:
        rate, spread = f"{trial.median:,.0f}", f"{trial.low:,.0f} - {trial.high:,.0f} ({len(trial.rates)})"
        if not trial.rates:
            rate, spread = "failed", trial.error
        counts = str(trial.num_envs), str(trial.num_workers), str(trial.batch_size)
        style = "bold" if trial is tuning.best else "dim" if trial not in tuning.as_good else None
        table.add_row(trial.backend, *counts, rate, spread, style=style)
    Console().print(table)
    others = len(tuning.as_good)
    if others:
        print(f"\nThe windows of {others} other{'s' if others > 1 else ''} overlap with the best one's: more --seconds may tell.")
    print(f"\n{tuning.toml()}", end="")


def _count(word: str) -> int:
    if not word.strip().isdigit():
        raise ConfigError(f"--num-envs must be whole numbers with commas between, such as 64,256, got {word!r}")
    return int(word)
