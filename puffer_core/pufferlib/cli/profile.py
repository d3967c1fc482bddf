"""`puffer profile ENV`: where the time of training goes, how far it is from the floor, and a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.files import read_toml
from pufferlib.config.run_config import RunConfig, Setting
from pufferlib.config.values import Kind, from_text
from pufferlib.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from pufferlib.train.profiling import Report

HELP = """\
usage: puffer profile ENV [flags]

Train for a few rollouts with the settings that `puffer train ENV` would use, and print where the time of one goes. The floor is
the same network in a bare PyTorch loop on observations of the same shapes, measured in turn with it. Nothing is saved but a trace
of one rollout and its updates, for chrome://tracing or ui.perfetto.dev.

  --iterations N        rollouts to measure, after two to warm up (5)
  --out FILE            the trace (profile-ENV.json, here)
  --config FILE         settings, as for puffer train
  --train.*, --vec.*, --policy.*, --env.*
                        as for puffer train; see `puffer train ENV --help`

  puffer profile ocean-breakout
  puffer profile ocean-memory --policy.name lstm --vec.num-envs 256 --iterations 10
"""
ITERATIONS = Setting(Kind("int", low=1, high=10_000), 5)


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    config, iterations, out = read_request(arguments)

    from rich.console import Console

    from pufferlib.train.profiling import profile
    from pufferlib.train.run import build_trainer

    trainer = build_trainer(config)
    try:
        report = profile(trainer, out, iterations)
        shape = (
            f"{trainer.env.num_agents:,} rows x {trainer.config.horizon} steps, minibatches of {trainer.config.minibatch_size:,}"
        )
        print(f"{config.env_name}, {config.policy.name} on {trainer.device}, {torch_threads()} threads of torch: {shape}")
    finally:
        trainer.close()
    Console(highlight=False).print(table(report))
    for line in summary(report):
        print(line)
    return 0


def read_request(arguments: Arguments) -> tuple[RunConfig, int, Path]:
    """The run's settings, how many iterations, and where the trace goes. Raises ConfigError or EnvNotFoundError."""
    from pufferlib.config.resolve import resolve
    from pufferlib.train.run_dir import plain

    arguments.at_most(1, "puffer profile")
    file, given, out = (arguments.take(name) for name in ("config", "iterations", "out"))
    env_name = arguments.positional[0] if arguments.positional else read_toml(file).get("env_name") if file else None
    if not isinstance(env_name, str):
        raise ConfigError("which environment? as in `puffer profile ocean-breakout`; `puffer list` shows all")
    try:
        iterations = ITERATIONS.default if given is None else from_text(ITERATIONS.kind, given)
    except ValueError as error:
        raise ConfigError(f"--iterations: {error}") from None
    path = Path(out or f"profile-{plain(env_name)}.json")
    if not path.parent.is_dir():
        raise ConfigError(f"--out {path}: there is no folder {path.parent}")
    return resolve(env_name, arguments.flags, file), iterations, path


def table(report: Report) -> Table:
    """One row per part that took any time, the largest share first, and their sum."""
    from rich.table import Table

    from pufferlib.train.profiling import PARTS

    whole = sum(report.parts.values())
    found = Table("part", "", show_edge=False, show_footer=False)
    found.add_column("ms", justify="right")
    found.add_column("of all", justify="right")
    for part, spent in sorted(report.parts.items(), key=lambda entry: (entry[0] == "other", -entry[1])):
        if spent:
            found.add_row(part, PARTS[part], f"{1e3 * spent:,.2f}", f"{spent / whole:.1%}")
    found.add_section()
    found.add_row("all", "one rollout and its updates", f"{1e3 * whole:,.2f}", "100.0%")
    return found


def summary(report: Report) -> list[str]:
    """Speeds, the ratio to the floor, and the trace."""

    def speed(spent: float) -> str:
        return f"{1e3 * spent:,.2f} ms, {report.steps / spent:,.0f} steps/s"

    return [
        "",
        f"training  {speed(report.wall)}",
        f"floor     {speed(report.floor)}: the same network in a bare PyTorch loop",
        f"ratio     training runs at {report.floor / report.wall:.2f} times the speed of the floor",
        f"trace     {report.trace}",
    ]


def torch_threads() -> Any:
    """Of this process."""
    import torch

    return torch.get_num_threads()
