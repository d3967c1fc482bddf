"""The worker processes of one VecEnv: started, listened to, replaced and, whatever happened, ended."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.process
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing import connection as mp_connection
from multiprocessing.connection import Connection
from typing import Any

from pufferlib.errors import ConfigError, WorkerError, WorkerTimeoutError
from pufferlib.vector.faults import (
    BUILD_FACTOR,
    LOOK_S,
    START_S,
    STOP_S,
    WARN_AFTER_S,
    Failure,
    Seat,
    ended,
    late,
    warn_of_hang,
)
from pufferlib.vector.pickling import pack_maker
from pufferlib.vector.shared_memory import SharedBlock
from pufferlib.vector.vec_env import EnvFacts
from pufferlib.vector.worker import STOP, Place, run_worker

KILL_S = 1.0
"""What a killed process gets to end."""


class Hand:
    """One worker process and the parent's end of its pipe."""

    def __init__(self, place: Place, process: Any, connection: Connection) -> None:
        self.place, self.process, self.connection = place, process, connection
        self.pid: int = process.pid

    @property
    def seat(self) -> Seat:
        return self.place.seat

    @property
    def name(self) -> str:
        """For messages."""
        return f"worker {self.seat.worker} (pid {self.pid}, {self.seat.envs})"

    def is_over(self) -> bool:
        """Asked of the system: the sentinel stays open as long as a process lives that the worker has forked."""
        return not self.process.is_alive()

    def discard(self) -> None:
        """Free what a process that is over still holds here."""
        self.connection.close()
        with contextlib.suppress(ValueError):  # not even SIGKILL has ended it
            self.process.close()


class Crew:
    """All workers. `maker` is packed here for start methods that do not inherit it; nothing else happens before `start`."""

    def __init__(self, maker: Any, start_method: str | None, hang_timeout_s: float | None) -> None:
        self.start_method = choose_start_method(start_method)
        self.set_maker(maker)
        self.hang_timeout_s = hang_timeout_s
        self._limit_s = WARN_AFTER_S if hang_timeout_s is None else hang_timeout_s
        self.hands: list[Hand] = []
        self._owner = os.getpid()

    # ------------------------------------------------------------ start

    def set_maker(self, maker: Any) -> None:
        """What workers that start from now on make their envs with."""
        self._maker = maker if self.start_method == "fork" else pack_maker(maker, self.start_method)

    def start(self, places: Sequence[Place], flags_block: SharedBlock) -> list[EnvFacts]:
        """Start every worker; what their envs look like. Raises the first failure, with the others told to stop."""
        for place in places:
            self.hands.append(self._launch(place, flags_block))
        return self._await_facts(self.hands)

    def replace(self, worker: int, flags_block: SharedBlock) -> EnvFacts:
        """End a worker, if it has not ended, and start another in its place."""
        old = self.hands[worker]
        old.process.kill()
        old.process.join(KILL_S)
        old.discard()
        self.hands[worker] = self._launch(old.place, flags_block)
        return self._await_facts([self.hands[worker]])[0]

    def _launch(self, place: Place, flags_block: SharedBlock) -> Hand:
        context: Any = multiprocessing.get_context(self.start_method)
        ours, theirs = context.Pipe()
        inherited = [hand.connection for hand in self.hands if not hand.connection.closed]
        arguments = (place, self._maker, theirs, [*inherited, ours] if self.start_method == "fork" else [])
        name = f"pufferlib-worker-{place.seat.worker}"
        try:
            process = context.Process(target=run_worker, args=arguments, name=name)
            with _interrupts_held():
                process.start()
            # The crew ends its workers itself. multiprocessing would wait for them at exit, and in a forked copy of this
            # process as well.
            getattr(multiprocessing.process, "_children", set()).discard(process)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        with contextlib.suppress(OSError):  # one that has ended already is found where its facts are awaited
            flags_block.send(ours, process.pid)
        return Hand(place, process, ours)

    def _await_facts(self, hands: Sequence[Hand]) -> list[EnvFacts]:
        doing = "while it built its envs, in __init__()"
        facts: dict[int, EnvFacts] = {}
        since = {hand.seat.worker: time.monotonic() + START_S for hand in hands}
        """From when on each worker's time counts: from its first word, since starting a process is not the env's fault."""
        warned, limit = False, WARN_AFTER_S if self.hang_timeout_s is None else BUILD_FACTOR * self.hang_timeout_s
        while pending := [hand for hand in hands if hand.seat.worker not in facts]:
            ready = set(mp_connection.wait([x for hand in pending for x in (hand.connection, hand.process.sentinel)], LOOK_S))
            for hand in pending:
                worker = hand.seat.worker
                if hand.connection in ready:
                    said = self.read(worker, doing)
                    if isinstance(said, Failure):
                        raise said.exception()
                    if isinstance(said, EnvFacts):
                        facts[worker] = said
                    else:
                        since[worker] = min(since[worker], time.monotonic())
                elif hand.is_over():
                    raise self.death(hand, doing)
            slow = [hand.seat.worker for hand in pending if time.monotonic() - since[hand.seat.worker] > limit]
            if slow and self.hang_timeout_s is not None:
                self.hands[slow[0]].process.kill()
                raise self.timeout(slow[0], doing, limit)
            if slow and not warned:
                warned = True
                self.warn_of_hang(slow, doing)
        return [facts[hand.seat.worker] for hand in hands]

    # ------------------------------------------------------------ listen

    def receive(self, worker: int, doing: str) -> Any:
        """The next thing that a worker says. Raises WorkerError if it is gone, WorkerTimeoutError after the hang limit."""
        hand, begin, warned = self.hands[worker], time.monotonic(), False
        while not hand.connection.poll(LOOK_S):
            if hand.is_over() and not hand.connection.poll():
                raise self.death(hand, doing)
            if time.monotonic() - begin > self._limit_s:
                if self.hang_timeout_s is not None:
                    raise self.timeout(worker, doing, self._limit_s)
                if not warned:
                    warned = True
                    self.warn_of_hang([worker], doing)
        return self.read(worker, doing)

    def read(self, worker: int, doing: str) -> Any:
        """What a worker has begun to say."""
        hand = self.hands[worker]
        try:
            data = hand.connection.recv_bytes()
        except (EOFError, OSError):
            hand.process.join(KILL_S)
            raise self.death(hand, doing) from None
        try:
            return pickle.loads(data)
        except Exception as error:
            raise WorkerError(f"what {hand.name} sent {doing} cannot be unpickled: {type(error).__name__}: {error}") from error

    def send(self, worker: int, *message: Any) -> None:
        """To a worker that is gone nothing is sent; whoever waits for its answer hears of it."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.hands[worker].connection.send(message)

    def find_dead(self) -> list[int]:
        """Workers whose process has ended."""
        return [worker for worker, hand in enumerate(self.hands) if hand.is_over()]

    def death(self, hand: Hand, doing: str) -> WorkerError:
        """The error about a worker that is gone."""
        hand.process.join(KILL_S)
        hint = ""
        if self.start_method != "fork" and "__init__" in doing and hand.process.exitcode == 1:
            hint = _MAIN_GUARD
        return ended(hand.seat, hand.pid, hand.process.exitcode, doing, hint)

    def timeout(self, worker: int, doing: str, waited_s: float) -> WorkerTimeoutError:
        return late(self.hands[worker].name, doing, waited_s, self.hang_timeout_s)

    def warn_of_hang(self, workers: Sequence[int], doing: str) -> None:
        warn_of_hang([self.hands[worker].name for worker in workers], doing)

    # ------------------------------------------------------------ end

    def stop(self, order: Any, patience_s: float = STOP_S) -> list[Failure]:
        """End all workers: those that do not close their envs in time are killed. What went wrong in close().

        order: `Flags.order_one`. In a process that merely inherited the crew (a fork), nothing happens.
        """
        if os.getpid() != self._owner:
            return []
        hands, self.hands = self.hands, []
        failures: list[Failure] = []
        try:
            for hand in hands:
                order(hand.seat.worker, STOP)
            _await_ends(hands, patience_s, failures)
        finally:  # also when Ctrl-C is pressed again
            for hand in hands:
                if not hand.is_over():
                    hand.process.kill()
            for hand in hands:
                hand.process.join(KILL_S)
                hand.discard()
        return failures


def _await_ends(hands: Sequence[Hand], patience_s: float, failures: list[Failure]) -> None:
    """Wait for processes to end. Meanwhile read all that they say, so that none is stuck in saying it."""
    deadline = time.monotonic() + patience_s
    listening = {hand.connection for hand in hands}
    while (running := [hand for hand in hands if not hand.is_over()]) and time.monotonic() < deadline:
        mp_connection.wait([*listening, *(hand.process.sentinel for hand in running)], LOOK_S)
        listening = {connection for connection in listening if _hear_out(connection, failures)}
    for connection in listening:
        _hear_out(connection, failures)


def _hear_out(connection: Connection, failures: list[Failure]) -> bool:
    """Read what has come, and keep what went wrong in close(). False when the other end is closed."""
    try:
        while connection.poll():
            data = connection.recv_bytes()
            with contextlib.suppress(Exception):  # an info that cannot be unpickled, and that nobody wants any more
                said = pickle.loads(data)
                if isinstance(said, Failure) and said.place == "close":
                    failures.append(said)
    except (EOFError, OSError):
        return False
    return True


_MAIN_GUARD = (
    "if its own message above speaks of bootstrapping: put the lines that make the vector env under "
    "`if __name__ == '__main__':`, since start methods other than fork run the script again in every worker"
)


def choose_start_method(given: str | None) -> str:
    """The start method: fork on Linux, where CUDA is not in use yet (it does not survive a fork), else spawn.

    Raises ConfigError for one that this system does not have, and in a worker that runs its parent's script.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ConfigError(
            "a worker process runs this script again and was about to start workers of its own: put the lines that make the "
            "vector env under `if __name__ == '__main__':`, or use start_method='fork' where the system has it"
        )
    known = multiprocessing.get_all_start_methods()
    if given is None:
        return "fork" if sys.platform.startswith("linux") and not _cuda_is_in_use() else "spawn"
    if given not in known:
        raise ConfigError(f"start_method must be None or one of {', '.join(known)}, got {given!r}")
    return given


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _cuda_is_in_use() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until a new process, which inherits this, has said that it ignores it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
