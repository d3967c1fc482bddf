"""`puffer plot RUN...`: learning curves of runs, those that differ only in their seed as one line with a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.run_config import Schema, Setting, merge
from pufferlib.config.values import Kind
from pufferlib.errors import ConfigError

if TYPE_CHECKING:
    from pufferlib.analysis.groups import Group
    from pufferlib.analysis.plots import PlotOptions

HELP = """\
usage: puffer plot RUN... [flags]

Draw learning curves. RUN is a run's path, a unique part of its name, `latest`, a pattern such as 'ocean-pong/*', or a folder, for
all the runs in it. Runs that differ only in their seed are one line, with a band from the least to the most of them.

  --metric NAME         what to draw: perf, score, SPS, losses/entropy, ...; several times for several panels (perf, else score)
  --x steps|time        over agent-steps, or over seconds of training (steps)
  --smooth BETA         of an exponential moving average that counts every episode alike; 0: none (0.9)
  --band KIND           over seeds: range, from the least to the most; interval, bootstrapped, 95 %; none (range)
  --group-by KEY        one line for each value of a setting, such as policy or train.learning_rate; run: one for each run
  --log-x               a logarithmic axis
  --out FILE            .png, .svg or .pdf (plot.png)
  --root DIR            where names are looked for (runs)

  puffer plot latest --metric perf --metric SPS
  puffer plot runs/ocean-pong --group-by train.learning_rate --out pong.png
"""
CURVES = {
    "metric": Setting(Kind("texts"), []),
    "x": Setting(Kind("text", choices=("steps", "time")), "steps"),
    "smooth": Setting(Kind("float", low=0, high=0.9999), 0.9),
    "band": Setting(Kind("text", choices=("range", "interval", "none")), "range"),
    "log_x": Setting(Kind("bool"), False),
    "root": Setting(Kind("text"), "runs"),
    "group_by": Setting(Kind("text"), ""),
}
"""What `puffer runs compare` takes as well."""
SETTINGS = {**CURVES, "out": Setting(Kind("text"), "plot.png")}
SWITCHES = ("log-x",)


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    groups: list[Group]
    options: PlotOptions
    out: str


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv, switches=SWITCHES)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    draw(read_request(arguments))
    return 0


def read_request(arguments: Arguments) -> Request:
    """Find the runs. Raises ConfigError."""
    from pufferlib.analysis.groups import make_groups
    from pufferlib.analysis.lookup import Shelf
    from pufferlib.analysis.plots import check_picture

    options = read_options(SETTINGS, arguments)
    if not arguments.positional:
        raise ConfigError("which runs? `puffer plot RUN...`; `puffer plot latest` draws the newest; see --help")
    check_picture(options["out"])
    runs = Shelf(options["root"]).all(arguments.positional)
    return Request(make_groups(runs, options["group_by"]), plot_options(options), options["out"])


def read_options(settings: dict[str, Setting], arguments: Arguments) -> dict[str, Any]:
    """The values of these settings. Raises ConfigError."""
    given, _ = merge(Schema(settings), [arguments.flags])
    return {key: setting.default for key, setting in settings.items()} | given


def plot_options(options: dict[str, Any]) -> PlotOptions:
    """Those of CURVES that say how curves are drawn."""
    from pufferlib.analysis.plots import PlotOptions

    return PlotOptions(tuple(options["metric"]), options["x"], options["smooth"], options["band"], options["log_x"])


def draw(request: Request) -> None:
    """Write the picture, and say so."""
    from pufferlib.analysis.plots import check_picture, draw_groups, save_picture

    path = check_picture(request.out)
    save_picture(draw_groups(request.groups, request.options), path)
    print(f"wrote {path}")
