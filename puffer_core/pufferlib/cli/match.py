"""`puffer match A B`: two policies play against each other; who is better, by how much and how sure that is."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pufferlib.cli.eval import find_config
from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.run_config import Schema, Setting
from pufferlib.config.values import Kind
from pufferlib.errors import ConfigError

if TYPE_CHECKING:
    from pufferlib.config.run_config import RunConfig
    from pufferlib.self_play.match import MatchResult, Side, Tally

HELP = """\
usage: puffer match A B [flags]

Let two sides play a two-player game, seats shared out evenly, and print wins, draws, losses and the difference of Elo ratings.
A and B are run directories or checkpoints (also a run's snapshots/STEP.pt), `random`, or `module:function`, which takes
observations and action masks and gives actions; B may also be `bot`, the game's own. At least one of them is a run.

  --games N             an even number, so that both begin as often (100)
  --seed S              the same seed gives the same games (1)
  --deterministic       policies take the likeliest action instead of sampling
  --draw-margin X       a game is a draw where the sides' returns differ by no more (0.5)
  --device DEVICE       of the policies: auto, cpu, cuda, cuda:N, mps (cpu)
  --env.NAME VALUE      a setting of the game, over those of the first run named

  puffer match runs/ocean-connect4/a runs/ocean-connect4/b --games 1000
  puffer match runs/ocean-connect4/a bot --env.bot-depth 4
"""
SETTINGS = {
    "games": Setting(Kind("int", low=1, high=10**9), 100),
    "seed": Setting(Kind("int", low=0, high=2**31 - 1), 1),
    "deterministic": Setting(Kind("bool"), False),
    "draw_margin": Setting(Kind("float", low=0), 0.5),
    "device": Setting(Kind("text"), "cpu"),
}
SCHEMA = Schema(SETTINGS, frozenset({"env"}))
WORDS = ("random", "bot")


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv, switches=("deterministic",))
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    names, options = read_request(arguments)
    config = game_of(names, arguments)
    from pufferlib.self_play.match import play_match
    from pufferlib.train.device import choose_device

    options["device"] = str(choose_device(options["device"]))
    env_kwargs = {name: value for name, value in config.env.items() if name != "opponent"}
    a, b = (find_side(name, config, options["device"]) for name in names)
    print_result(names, config.env_name, play_match(config.env_name, a, b, env_kwargs=env_kwargs, **options))
    return 0


def read_request(arguments: Arguments) -> tuple[list[str], dict[str, Any]]:
    """The two sides' names and the options. Raises ConfigError."""
    arguments.at_most(2, "puffer match")
    if len(arguments.positional) < 2:
        raise ConfigError("who plays whom? `puffer match RUN_A RUN_B`; see --help")
    options = {key: setting.default for key, setting in SETTINGS.items()}
    options.update({given.key: SCHEMA.convert(given) for given in arguments.flags if not given.key.startswith("env.")})
    if options["games"] % 2:
        raise ConfigError(f"--games must be an even number, so that both begin as often, got {options['games']}")
    return arguments.positional, options


def is_run(name: str) -> bool:
    """Whether a side is a run or a checkpoint."""
    return name not in WORDS and (Path(name).exists() or ":" not in name)


def game_of(names: list[str], arguments: Arguments) -> RunConfig:
    """The game, with the settings of the first run. Raises ConfigError where there is none, or two of different games."""
    own = [given for given in arguments.flags if given.key.startswith("env.")]
    found = {name: find_config(name, own)[0] for name in names if is_run(name) and must_exist(name)}
    if not found:
        raise ConfigError(f"{' and '.join(names)}: at least one side must be a run, which says what game is played")
    first, *others = found
    for other in others:
        if found[other].env_name != found[first].env_name:
            raise ConfigError(f"{other} is a run of {found[other].env_name}, {first} one of {found[first].env_name}")
    return found[first]


def must_exist(name: str) -> bool:
    """True. Raises ConfigError for a path that leads nowhere."""
    if not Path(name).exists():
        raise ConfigError(f"{name}: no such run directory or checkpoint; `random`, `bot` and `module:function` play as well")
    return True


def find_side(name: str, config: RunConfig, device: str) -> Side:
    """What plays under that name in the game as it is, without a run's wrappers."""
    if name in WORDS:
        return name
    if is_run(name):
        import pufferlib

        env = pufferlib.make(config.env_name, num_envs=1, num_workers=1, backend="serial", **config.env)
        try:
            policy: Side = pufferlib.load_policy(name, env=env, device=device)
        finally:
            env.close()
        return policy
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{name}: cannot be imported: {error}") from None
    if not callable(found):
        raise ConfigError(f"{name}: must be a function of observations and action masks, got {found!r}")
    side: Side = found
    return side


def print_result(names: list[str], env_name: str, result: MatchResult) -> None:
    """The table."""
    print(f"{env_name}\nA  {names[0]}\nB  {names[1]}\n")
    print(f"{'':12}{'games':>8}{'wins':>8}{'draws':>8}{'losses':>8}{'score':>8}")
    print_tally("A", result.total)
    for side, tally in enumerate(result.by_side):
        if tally.games and tally.games < result.total.games:
            print_tally(f"A as side {side}", tally)
    estimate, low, high = result.elo_difference
    print(f"\nElo A - B   {points(estimate)}   95 %: [{points(low)}, {points(high)}]")


def print_tally(label: str, tally: Tally) -> None:
    """One row."""
    print(f"{label:12}{tally.games:>8}{tally.wins:>8}{tally.draws:>8}{tally.losses:>8}{tally.score:>8.3f}")


def points(value: float) -> str:
    """A difference of ratings, whole."""
    return f"{value:+.0f}" if math.isfinite(value) else "-inf" if value < 0 else "+inf"
