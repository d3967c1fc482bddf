"""The actors of one VecEnv: started, listened to, replaced and, whatever happened, ended."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pufferlib.errors import ConfigError, WorkerError, WorkerTimeoutError
from pufferlib.vector import EnvFacts
from pufferlib.vector.pickling import dumps, maker_name
from pufferlib.vector.workers import (
    BUILD_FACTOR,
    LOOK_S,
    START_S,
    STOP_S,
    WARN_AFTER_S,
    Failure,
    Seat,
    late,
    warn_of_hang,
)
from pufferlib_ray.cluster import actor_options
from pufferlib_ray.worker import EnvWorker, Where

PROBE_AFTER_S = 2.0
"""A worker that has not answered for so long makes us ask whether its machine is still there."""
PROBE_EVERY_S = 1.0
PROBE_TIMEOUT_S = 1.0
PROBES = 4
"""So many questions in a row, a second apart, without an answer: the machine is gone. Ray itself takes half a minute."""


class Hand:
    """One actor."""

    def __init__(self, seat: Seat, entropy: tuple[int, ...], actor: Any) -> None:
        self.seat, self.entropy, self.actor = seat, entropy, actor
        self.where = Where(0, "", "")
        self.raylet: tuple[str, int] | None = None
        """Where its node's own daemon listens; None where that is not to be asked."""
        self.silent = 0
        """Probes of the node in a row without an answer."""

    @property
    def name(self) -> str:
        """For messages."""
        placed = f"pid {self.where}" if self.where.node else "not placed yet"
        return f"worker {self.seat.worker} ({placed}, {self.seat.envs})"


class Crew:
    """All workers. Nothing happens before `start`."""

    def __init__(
        self, ray: Any, maker: Any, resources: Mapping[str, float], hang_timeout_s: float | None, start_timeout_s: float | None
    ) -> None:
        self._ray = ray
        self.set_maker(maker)
        self._resources = resources
        self._make = ray.remote(EnvWorker).options(**actor_options(resources)).remote
        self.hang_timeout_s = hang_timeout_s
        self._start_s = START_S if start_timeout_s is None else start_timeout_s
        self._limit_s = WARN_AFTER_S if hang_timeout_s is None else hang_timeout_s
        self.hands: list[Hand] = []
        self._owner = os.getpid()
        self._probed = 0.0
        self._is_client = bool(ray.util.client.ray.is_connected())

    # ------------------------------------------------------------ start

    def set_maker(self, maker: Any) -> None:
        """What actors that start from now on make their envs with."""
        self._maker = pack(self._ray, maker)

    def start(self, places: Sequence[tuple[Seat, tuple[int, ...]]]) -> list[EnvFacts]:
        """Start every worker; what their envs look like. Raises the first failure."""
        self.hands = [Hand(*place, self._make(*place)) for place in places]
        return self._build(range(len(places)))

    def replace(self, worker: int) -> EnvFacts:
        """End an actor, if it has not ended, and start another in its place, wherever there is room."""
        old = self.hands[worker]
        self.kill(worker)
        self.hands[worker] = Hand(old.seat, old.entropy, self._make(old.seat, old.entropy))
        return self._build([worker])[0]

    def _build(self, workers: Sequence[int]) -> list[EnvFacts]:
        where = {worker: self.hands[worker].actor.where.remote() for worker in workers}
        built = {worker: self.hands[worker].actor.build.remote(self._maker) for worker in workers}
        for worker, found in self._gather(where, "while it was started", self._start_s, self._unplaced).items():
            self.hands[worker].where = found
        raylets = {node["NodeID"]: (node["NodeManagerAddress"], node["NodeManagerPort"]) for node in self._ray.nodes()}
        for worker in workers:  # a client outside of the cluster may be kept from its machines by a firewall
            self.hands[worker].raylet = None if self._is_client else raylets.get(self.hands[worker].where.node)
        doing = "while it built its envs, in __init__()"
        limit = None if self.hang_timeout_s is None else BUILD_FACTOR * self.hang_timeout_s
        facts = self._gather(built, doing, limit, self.timeout)
        return [facts[worker] for worker in workers]

    def _gather(self, refs: Mapping[int, Any], doing: str, limit_s: float | None, too_late: Any) -> dict[int, Any]:
        """Every worker's answer. Raises as soon as one of them fails, dies or (limit_s) is late."""
        waiting = {ref: worker for worker, ref in refs.items()}
        answers: dict[int, Any] = {}
        begin, warned = time.monotonic(), False
        while waiting:
            for ref in self.wait(waiting, len(waiting)):
                worker = waiting.pop(ref)
                answers[worker] = self.fetch(worker, ref, doing)
                if isinstance(answers[worker], Failure):
                    raise answers[worker].exception()
            for worker in self.find_cut_off(waiting.values(), begin):
                raise self.death(worker, doing)
            waited = time.monotonic() - begin
            if waiting and limit_s is not None and waited > limit_s:
                raise too_late(min(waiting.values()), doing, limit_s)
            if waiting and limit_s is None and waited > WARN_AFTER_S and not warned:
                warned = True
                self.warn_of_hang(sorted(waiting.values()), doing)
        return answers

    def _unplaced(self, worker: int, doing: str, limit_s: float) -> WorkerError:
        free = {name: self._ray.available_resources().get(name, 0) for name in self._resources}
        return WorkerError(
            f"Ray has not started {self.hands[worker].name} within {limit_s:g} seconds: it needs {dict(self._resources)}, and "
            f"free in the cluster are {free}; others may use the rest, or set start_timeout_s"
        )

    # ------------------------------------------------------------ listen

    def wait(self, refs: Iterable[Any], count: int) -> list[Any]:
        """Those of these answers that are there: at least `count`, or fewer after a moment."""
        ready: list[Any] = self._ray.wait(list(refs), num_returns=count, timeout=LOOK_S)[0]
        return ready

    def peek(self, refs: Iterable[Any]) -> list[Any]:
        """Those of these answers that are there."""
        known = list(refs)
        ready: list[Any] = self._ray.wait(known, num_returns=len(known), timeout=0)[0]
        return ready

    def is_connected(self) -> bool:
        """False after the user's own `ray.shutdown()`: the next call would quietly start another cluster."""
        return bool(self._ray.is_initialized())

    def fetch(self, worker: int, ref: Any, doing: str) -> Any:
        """An answer that is there. Raises WorkerError if it is the news that the actor, or its node, is gone."""
        try:
            return self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            raise self.death(worker, doing, error) from None

    def receive(self, worker: int, ref: Any, doing: str) -> Any:
        """Wait for an answer. Raises WorkerError if the actor is gone, WorkerTimeoutError after the hang limit."""
        begin, warned = time.monotonic(), False
        while not self.wait([ref], 1):
            if self.find_cut_off([worker], begin):
                raise self.death(worker, doing)
            if time.monotonic() - begin <= self._limit_s:
                continue
            if self.hang_timeout_s is not None:
                raise self.timeout(worker, doing, self._limit_s)
            if not warned:
                warned = True
                self.warn_of_hang([worker], doing)
        return self.fetch(worker, ref, doing)

    def find_cut_off(self, workers: Iterable[int], since: float) -> list[int]:
        """Of these workers, which keep us waiting, those whose machine does not answer any more.

        since: when the waiting began. Asks at most once a second, however often it is called.
        """
        now, lost = time.monotonic(), []
        if now - since < PROBE_AFTER_S or now - self._probed < PROBE_EVERY_S:
            return []
        self._probed = now
        answers: dict[tuple[str, int], bool] = {}
        for worker in workers:
            hand = self.hands[worker]
            if hand.raylet is None:
                continue
            if hand.raylet not in answers:
                answers[hand.raylet] = is_reachable(hand.raylet)
            hand.silent = 0 if answers[hand.raylet] else hand.silent + 1
            if hand.silent >= PROBES:
                lost.append(worker)
        return lost

    # ------------------------------------------------------------ errors

    def death(self, worker: int, doing: str, error: Exception | None = None) -> WorkerError:
        """The error about an actor that is gone. error: what Ray said."""
        hand = self.hands[worker]
        if error is None or (hand.raylet is not None and not is_reachable(hand.raylet)):
            how = f"was lost {doing}: its node {hand.where.node[:8]} at {hand.where.address} does not answer any more"
            return WorkerError(f"{hand.name} {how}{f' ({ray_words(error)})' if error else ''}")
        return WorkerError(f"{hand.name} was lost {doing}: {ray_words(error)}")

    def timeout(self, worker: int, doing: str, waited_s: float) -> WorkerTimeoutError:
        return late(self.hands[worker].name, doing, waited_s, self.hang_timeout_s)

    def warn_of_hang(self, workers: Sequence[int], doing: str) -> None:
        warn_of_hang([self.hands[worker].name for worker in workers], doing)

    # ------------------------------------------------------------ end

    def kill(self, worker: int) -> None:
        with contextlib.suppress(Exception):  # the connection to the cluster may be gone, and the actor with it
            self._ray.kill(self.hands[worker].actor)

    def stop(self) -> list[Failure]:
        """End all actors: those that do not close their envs in time are killed. What went wrong in close().

        In a process that merely inherited the crew (a fork), and after the user's own `ray.shutdown()`, nothing happens.
        """
        failures: list[Failure] = []
        if os.getpid() != self._owner or not self.is_connected():
            return failures
        try:
            with contextlib.suppress(Exception):  # of the connection; what close() raised comes as a Failure
                refs = [hand.actor.close.remote() for hand in self.hands if hand.where.node]
                for ref in self._ray.wait(refs, num_returns=len(refs), timeout=STOP_S)[0] if refs else ():
                    with contextlib.suppress(self._ray.exceptions.RayError):  # it is gone already
                        said = self._ray.get(ref)
                        failures += [said] if isinstance(said, Failure) else []
        finally:  # also when Ctrl-C is pressed again
            for worker in range(len(self.hands)):
                self.kill(worker)
            self.hands = []
        return failures


def is_reachable(address: tuple[str, int]) -> bool:
    """Whether somebody takes a connection there."""
    try:
        socket.create_connection(address, PROBE_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def ray_words(error: Exception) -> str:
    """What Ray says about a loss, without the lines that only repeat names."""
    text = str(error)
    cause = text.find("The actor is dead because")
    return f"{type(error).__name__}: {' '.join(text[max(cause, 0) :].split())}"


def pack(ray: Any, maker: Any) -> bytes:
    """The maker as bytes, by Ray's own cloudpickle. Raises ConfigError that names the maker and what would work."""
    try:
        return dumps(maker, ray.cloudpickle)
    except Exception as error:
        raise ConfigError(
            f"the env maker {maker_name(maker)} cannot be sent to a Ray cluster ({type(error).__name__}: {error}); let it open "
            f"files and other resources of its own when it is called"
        ) from error
