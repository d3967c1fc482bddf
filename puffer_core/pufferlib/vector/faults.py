"""What went wrong in a worker, in words, and as the exception that the parent raises; how long one waits before it is wrong."""

from __future__ import annotations

import re
import signal
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import pufferlib.errors
from pufferlib.errors import ActionError, ConfigError, PufferError, WorkerError, WorkerTimeoutError

LOOK_S = 0.1
"""How often somebody who waits looks for dead workers."""
CHECK_S = 1.0
"""While batches keep coming, dead and hanging workers are looked for this often."""
WARN_AFTER_S = 30.0
"""A worker that has not answered for so long is worth a warning, where no hang limit is set."""
START_S = 60.0
"""What a worker gets to start and to import what it needs, before its time counts."""
BUILD_FACTOR = 10
"""Building envs may take so many times the hang limit of a step."""
STOP_S = 2.5
"""What workers get to close their envs; then they are killed."""

PLAIN_KINDS: dict[str, type[Exception]] = {"TypeError": TypeError, "ValueError": ValueError}
"""Raised as they are when an env is built: wrong arguments, as without workers."""

HARMLESS = (ActionError.__name__, ConfigError.__name__)
"""What the caller did wrong, and not the env."""


@dataclass(frozen=True)
class Seat:
    """Which envs a worker has."""

    worker: int
    first_env: int
    num_envs: int

    @property
    def envs(self) -> str:
        last = self.first_env + self.num_envs - 1
        return f"env {self.first_env}" if self.num_envs == 1 else f"envs {self.first_env}-{last}"


@dataclass(frozen=True)
class Failure:
    """An exception in a worker, as text: it can always be sent. `kind` names the exception to raise in the parent."""

    kind: str
    text: str
    place: str

    @property
    def harmless(self) -> bool:
        """Whether the env can go on."""
        return self.kind in HARMLESS

    def exception(self) -> Exception:
        """What the parent raises: the library's own type where it was one, else WorkerError."""
        kind: type[Exception] = PLAIN_KINDS.get(self.kind) or getattr(pufferlib.errors, self.kind)
        return kind(self.text)


def describe(error: BaseException, seat: Seat, pid: int | str, place: str) -> Failure:
    """An exception that `place` ("step", "reset", "__init__" ...) raised in the worker of `seat`.

    pid: the process id, and on a cluster the node as well, as in "4711 on node-3"
    """
    who = f"worker {seat.worker}, pid {pid}"
    kind = next((cls.__name__ for cls in type(error).__mro__ if getattr(pufferlib.errors, cls.__name__, None) is cls), "")
    text = _safe_text(error)
    if kind in HARMLESS:
        return Failure(kind, text, place)
    if kind:
        named = re.match(r"env \d+ ", text)
        text = f"{named.group()}({who}) {text[named.end() :]}" if named else f"{seat.envs} ({who}) in {place}(): {text}"
        return Failure(kind, text, place)  # the library's own errors say all; what an env raised, they quote
    kind = type(error).__name__ if place == "__init__" and type(error) in PLAIN_KINDS.values() else WorkerError.__name__
    return Failure(
        kind,
        f"{seat.envs} ({who}) raised {type(error).__name__}: {text} in {place}(); its traceback follows\n{trace_of(error)}",
        place,
    )


def trace_of(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:  # its own __str__ may raise
        return "".join(traceback.format_tb(error.__traceback__))


def ended(seat: Seat, pid: int | None, code: int | None, doing: str, hint: str = "") -> WorkerError:
    """A worker process that is gone. `doing`: what it was about, as in "in step()"."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in {s.value for s in signal.Signals} else f"signal {-code}"
        how = f"was killed by {name} (exit code {code})"
        if name == "SIGKILL":
            hint = hint or "the system does that when memory runs out: try fewer envs or workers"
    else:
        how = f"ended with exit code {code}"
    return WorkerError(f"worker {seat.worker} (pid {pid}, {seat.envs}) {how} {doing}{f'; {hint}' if hint else ''}")


def late(name: str, doing: str, waited_s: float, hang_timeout_s: float | None) -> WorkerTimeoutError:
    """A worker, named as in "worker 1 (pid 4711, env 1)", that has not answered within its limit."""
    setting = "" if hang_timeout_s is None else f" (hang_timeout_s={hang_timeout_s:g})"
    return WorkerTimeoutError(f"{name} has not answered for {waited_s:g} seconds, {doing}{setting}")


def warn_of_hang(names: Iterable[str], doing: str) -> None:
    """For where there is no limit."""
    warnings.warn(
        f"{', '.join(names)} has not answered for {WARN_AFTER_S:g} seconds, {doing}; still waiting: set hang_timeout_s to make "
        f"that an error",
        RuntimeWarning,
        stacklevel=3,
    )


def _safe_text(error: BaseException) -> str:
    if isinstance(error, PufferError) and error.args:
        return str(error.args[0])
    try:
        return str(error)
    except Exception as other:
        return f"<its text cannot be made: {type(other).__name__}>"
