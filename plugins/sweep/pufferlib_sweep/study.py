"""The Optuna study behind a sweep: its storage, which trials count, and those that a killed process left behind.

What a trial keeps in `user_attrs`, all of it plain JSON:

    settings    its values by dotted name              score, cost, steps, metric   of a trial that was not a failure
    curve       [[cost, score], ...], at most 20       curve_steps                  the agent-steps at each
    failure     the reason in one line                 run_dir, seconds             where it ran, and how long by the clock
    owner       the process that runs it               not_counted                  why it is no result, such as "interrupted"
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pufferlib.errors import ConfigError, PluginError
from pufferlib_sweep.history import NOT_COUNTED
from pufferlib_sweep.process import end_orphan

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

log = logging.getLogger(__name__)
BEAT_S = 60.0
"""How often a process says that it still works at a trial."""
STALE_S = 10 * BEAT_S
"""A trial of another machine that nobody has said this of for so long is given up."""
LOCK_S = 60.0
"""How long SQLite waits for another process."""
STUDY_FILE = "study.db"
MOST_TRIES = 3
SURPLUS = "surplus"
Attributes = Mapping[str, Any]
Goal = Literal["maximize", "minimize"]


def open_storage(where: str, directory: Path) -> BaseStorage:
    """Optuna's storage of that URL or *.journal file; empty: an SQLite file in the directory. Raises ConfigError."""
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend, JournalRedisBackend

    if where.endswith(".journal"):
        Path(where).parent.mkdir(parents=True, exist_ok=True)
        return JournalStorage(JournalFileBackend(where))
    url = where or f"sqlite:///{directory.resolve() / STUDY_FILE}"
    try:
        if url.startswith("redis://"):
            return JournalStorage(JournalRedisBackend(url))
        options = {"connect_args": {"timeout": LOCK_S}} if url.startswith("sqlite:") else {}
        return RDBStorage(url, engine_kwargs=options)
    except ImportError as error:
        raise PluginError(f"--sweep.storage {where}: {error}") from error
    except Exception as error:  # sqlalchemy and the databases' drivers each have their own
        text = str(error).partition("\n")[0]
        raise ConfigError(f"--sweep.storage {url}: {type(error).__name__}: {text}") from error


def open_study(where: str, directory: Path, name: str, goal: Goal, sampler: BaseSampler) -> tuple[Study, bool]:
    """The study of that name, made if there is none, and whether it was made now. Raises ConfigError."""
    import optuna

    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory), quiet():
        storage = open_storage(where, directory)
        try:
            return optuna.create_study(storage=storage, sampler=sampler, study_name=name, direction=goal), True
        except optuna.exceptions.DuplicatedStudyError:
            return optuna.load_study(study_name=name, storage=storage, sampler=sampler), False


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """One process at a time, where the system can lock a folder: two that make a database at once break it."""
    handle = None
    try:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            handle = os.open(directory, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Optuna's own messages about each trial stay away; the sweep prints its own. Warnings pass."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@dataclass(frozen=True)
class Owner:
    """A process that runs trials, as other processes can recognise it."""

    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    started: str = field(default_factory=lambda: start_of(os.getpid()))

    def attribute(self, group: int = 0) -> dict[str, Any]:
        """For `user_attrs`. group: the process group of the trial's run, 0 if it has none here."""
        return {"host": self.host, "pid": self.pid, "started": self.started, "group": group, "alive": time.time()}

    def has_lost(self, attribute: Attributes | None, since: float) -> bool:
        """Whether nobody works at a trial any more that a process called its own, or nobody did since `since`."""
        if attribute is None:
            return time.time() - since > STALE_S
        if attribute["host"] != self.host:
            return time.time() - float(attribute["alive"]) > STALE_S
        return start_of(int(attribute["pid"])) != str(attribute["started"])


def start_of(pid: int) -> str:
    """When a process of this machine began, which tells it from a later one of the same number. Empty: there is none."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # state, parent, ..., start
    except OSError:
        return "unknown"
    return "" if fields[0] in "ZX" else fields[19]


def counts(trial: FrozenTrial) -> bool:
    """Whether it is one of the sweep's trials: begun, and not given up to be tried again."""
    return trial.state.name != "WAITING" and NOT_COUNTED not in trial.user_attrs


def set_aside(study: Study, frozen: FrozenTrial, why: str, *, again: bool = True) -> bool:
    """End a running trial that came to no end of its own. Returns False where somebody else has done so.

    why: interrupted, lost (its process was killed) or surplus. again: it does not count, and its values are tried anew
    """
    import optuna
    from optuna.trial import TrialState

    try:
        study._storage.set_trial_user_attr(frozen._trial_id, "failure", why)
        if again or why == SURPLUS:
            study._storage.set_trial_user_attr(frozen._trial_id, NOT_COUNTED, why)
        study.tell(frozen.number, state=TrialState.FAIL)
    except (optuna.exceptions.UpdateFinishedTrialError, ValueError):
        return False
    if again and frozen.params:
        study.enqueue_trial(frozen.params, user_attrs={"repeats": frozen.number, "tries": tries_of(frozen) + 1})
    return True


def tries_of(trial: FrozenTrial) -> int:
    """How often its values were tried, this time included."""
    return int(trial.user_attrs.get("tries", 1))


def set_lost_aside(study: Study, owner: Owner) -> list[int]:
    """End the trials whose process was killed, so that they are tried again. Returns their numbers.

    What is lost for the third time may be what kills the process, by taking all memory, say: it has failed.
    """
    from optuna.trial import TrialState

    lost = []
    for frozen in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        attribute = frozen.user_attrs.get("owner")
        since = frozen.datetime_start.timestamp() if frozen.datetime_start else 0.0
        if not owner.has_lost(attribute, since):
            continue
        if attribute and attribute["host"] == owner.host and attribute["group"]:
            end_orphan(int(attribute["group"]))
        if set_aside(study, frozen, "lost: its process was killed", again=tries_of(frozen) < MOST_TRIES):
            lost.append(frozen.number)
    return lost
