"""The `puffer` command: it only gathers the commands, one file each, and imports the one that is asked for.

PUFFERLIB_TRACEBACK=1 shows where an error message came from.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pufferlib.errors import (
    CallbackError,
    ConfigError,
    EnvError,
    NonFiniteError,
    PufferError,
    RankError,
    RenderError,
    WorkerError,
)

USAGE, FAILED, INTERRUPTED = 2, 1, 130
"""Exit codes: the request was wrong; the work failed; Ctrl-C."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
"""No space, no right: the user's to mend, so a message will do."""


class Command(NamedTuple):
    """A command: `target` is a function, or `module:function`, that takes the arguments and gives the exit code."""

    target: str | Callable[[list[str]], int]
    summary: str


BUILT_IN = {
    "train": Command("pufferlib.cli.train:run", "train a policy on an environment"),
    "eval": Command("pufferlib.cli.eval:run", "measure returns, or record a video"),
    "play": Command("pufferlib.cli.play:run", "play in a window, alone or in turn with a policy"),
    "match": Command("pufferlib.cli.match:run", "let two policies play a two-player game against each other"),
    "export": Command("pufferlib.cli.export:run", "write a run's policy as ONNX, TorchScript, torch.export or flat weights"),
    "runs": Command("pufferlib.cli.runs:run", "look at the runs on disk: list, show, compare, best, aggregate, report"),
    "plot": Command("pufferlib.cli.plot:run", "draw learning curves, with the spread over seeds"),
    "list": Command("pufferlib.cli.list_envs:run", "list the environments"),
    "plugins": Command("pufferlib.cli.plugins:run", "list the plugins, what they register and what failed to load"),
    "bench": Command("pufferlib.cli.bench:run", "measure an environment's steps per second"),
    "profile": Command("pufferlib.cli.profile:run", "show where the time of training goes, and write a trace"),
    "autotune": Command("pufferlib.cli.autotune:run", "find the fastest back end, workers and batch size here"),
    "check": Command("pufferlib.cli.check:run", "check that an environment or a plugin keeps its contract"),
    "new": Command("pufferlib.cli.new:run", "make a new game or a new plugin, ready to build, test and train"),
}
HEAD = "usage: puffer COMMAND ...   (train and watch agents at millions of environment steps per second)\n"
EXAMPLES = """\
  puffer train ocean-breakout                     train with the tuned preset
  puffer play runs/ocean-breakout/...             watch the policy; take over with the keyboard
  puffer COMMAND --help                           all settings of a command
"""


def commands() -> dict[str, Command]:
    """The built-in commands and those of plugins."""
    from pufferlib.plugins import registry

    extra = {spec.name: Command(spec.target, spec.summary) for spec in registry().commands() if spec.name not in BUILT_IN}
    return {**BUILT_IN, **extra}


def page() -> str:
    """What `puffer` and `puffer --help` print."""
    known = commands()
    width = max(len(name) for name in known)
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in known.items()]
    return "\n".join([HEAD, "commands:", *lines, "", "examples:", EXAMPLES])


def find(name: str) -> Command:
    """The command of that name. Raises ConfigError with the plugin that has it, else the near match."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    from pufferlib.config.values import near
    from pufferlib.plugins import registry
    from pufferlib.plugins.hints import COMMANDS, provider

    known = commands()
    if name not in known:
        installed = {plugin.name for plugin in registry().plugins() if plugin.status == "ok"}
        hint = provider(name, installed) if name in COMMANDS else None
        mend = f"; install it with: {hint}" if hint else near(name, known)
        raise ConfigError(f"{name}: no such command{mend} (commands: {', '.join(known)})")
    return known[name]


def load(target: str | Callable[[list[str]], int]) -> Callable[[list[str]], int]:
    """The function that `module:function` names; a function itself as it is."""
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    function: Callable[[list[str]], int] = getattr(importlib.import_module(module), attribute)
    return function


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 (it failed), 2 (the request was wrong) or 130 (Ctrl-C)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # for `puffer train my_module:my-env`; last, so that no file here hides a package
    try:
        return dispatch(arguments)
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED)
    except (CallbackError, EnvError, WorkerError, NonFiniteError, RankError, RenderError) as error:
        return complain(str(error), FAILED)
    except PufferError as error:
        return complain(str(error), USAGE)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        return complain(str(error), FAILED)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "pufferlib":
            raise
        return complain(f"this command needs the package {error.name!r}: pip install {error.name}", FAILED)
    finally:
        if argv is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process ends now; another Ctrl-C would only add a traceback


def dispatch(arguments: list[str]) -> int:
    """Find the command and run it."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(page(), end="")
        return 0
    if arguments[0] in ("-V", "--version"):
        from pufferlib import __version__

        print(f"pufferlib {__version__}")
        return 0
    if arguments[0].startswith("-"):
        raise ConfigError(f"{arguments[0]}: a command comes first, as in `puffer train ENV`; `puffer --help` lists them")
    return load(find(arguments[0]).target)(arguments[1:])


def complain(message: str, code: int) -> int:
    """Say on stderr what went wrong; give the exit code back."""
    if os.environ.get("PUFFERLIB_TRACEBACK"):
        traceback.print_exc()
    print(f"puffer: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
