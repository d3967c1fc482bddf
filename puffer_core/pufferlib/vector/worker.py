"""A worker process of the `processes` back end: it owns one batch of envs and steps it whenever its flag says so.

What it says to its parent, on a pipe: first how its envs look (or why they could not be built); after that infos, answers
to requests, and failures, each announced by its flag. The arrays are shared memory, so they never travel.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pufferlib.buffers import Buffers
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, SpaceError, WorkerError
from pufferlib.native._flags import FAILURE, PAYLOAD, PLAIN, Flags, die_with_parent
from pufferlib.vector.arguments import check_fits, with_arguments
from pufferlib.vector.batches import build_batch
from pufferlib.vector.faults import Failure, Seat, describe
from pufferlib.vector.serial import env_facts
from pufferlib.vector.shared_memory import buffers_in, receive_memory

STEP, RESET, REQUEST, STOP = range(4)
"""Kinds of command. A reset's arguments and a request travel by pipe."""

IDLE_NS = 1_000_000_000
"""A worker without work looks this often whether its parent lives."""
PARENT_CHECK_S = 1.0


@dataclass(frozen=True)
class Place:
    """What a worker must know from the start."""

    seat: Seat
    groups: int
    workers: int
    spin_ns: int
    entropy: tuple[int, ...]
    """Seeds the global random generators, differently in every worker."""
    parent: int
    """The process id of the parent where it is this process's own parent (fork, spawn), else 0."""
    in_main_thread: bool
    """Whether the parent's main thread starts the workers."""


def run_worker(place: Place, maker: Any, connection: Connection, inherited: list[Connection]) -> None:
    """The main function of a worker process.

    maker: an env maker, or one packed by `pack_maker`
    inherited: the parent's ends of pipes, which a forked process must close so that their other ends see the parent end
    """
    for end in inherited:
        end.close()
    _prepare_process(place)
    seat, env = place.seat, None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, EOFError):  # the parent is gone, or has given this one up
        try:
            memory = receive_memory(connection)
            flags = Flags(memory, place.groups, place.workers, spin_ns=place.spin_ns)
            if isinstance(maker, bytes):
                maker = pickle.loads(maker)
            connection.send(None)  # started, everything imported: from now on the envs' own time counts
            env = build_batch(maker, seat.num_envs, seat.first_env)
            limit_threads()
            connection.send(env_facts(env))
        except BaseException as error:
            connection.send(describe(error, seat, os.getpid(), "__init__"))
            if env is not None:
                env.close()
            return
        Worker(place, maker, env, flags, connection).serve()


class Worker:
    """The loop of a worker, once its envs are built."""

    def __init__(self, place: Place, maker: Callable[..., Any], env: PufferEnv, flags: Flags, connection: Connection) -> None:
        self._place, self._maker, self._env, self._flags, self._connection = place, maker, env, flags, connection
        self._number = place.seat.worker
        self._views: list[Buffers] = []
        """[slot]: this worker's rows."""
        self._bound = -1

    def serve(self) -> None:
        """Until told to stop, or until the parent is gone. Then the envs are closed."""
        try:
            self._work()
        finally:
            self._close()

    def _work(self) -> None:
        flags, number = self._flags, self._number
        while True:
            command = flags.take(number, IDLE_NS)
            if command is None:
                if parent_is_gone(self._place):
                    break
                continue
            kind, source, target = command
            if kind == STEP:
                self._answer_group("step", self._step, source, target)
            elif kind == RESET:
                self._answer_group("reset", self._reset, target, *self._connection.recv())
            elif kind == REQUEST:
                self._answer_request(*self._connection.recv())
            else:
                break

    def _step(self, source: int, target: int) -> Any:
        if target != self._bound:
            self._bind(target)
        return self._env.step(self._views[source].actions)[4]

    def _reset(self, target: int, seeds: list[int] | None, options: Any) -> Any:
        self._bind(target)
        env: Any = self._env
        return (env.reset(seeds) if options is None else env.reset(seeds, options=options))[1]

    def _bind(self, slot: int) -> None:
        self._env.bind(self._views[slot])
        self._bound = slot

    def _answer_group(self, name: str, work: Callable[..., Any], *arguments: Any) -> None:
        try:
            infos = work(*arguments)
            payload = pack_infos(infos) if infos else b""
        except BaseException as error:
            self._fail(describe(error, self._place.seat, os.getpid(), name))
            return
        # First the flag: the parent reads only then, and a payload larger than the pipe must not wait for it.
        self._flags.finish(self._number, PAYLOAD if payload else PLAIN)
        if payload:
            self._connection.send_bytes(payload)

    def _answer_request(self, name: str, *arguments: Any) -> None:
        try:
            answer = pickle.dumps(getattr(self, f"request_{name}")(*arguments))
        except BaseException as error:
            answer = pickle.dumps(describe(error, self._place.seat, os.getpid(), name))
        self._flags.answer(self._number)
        self._connection.send_bytes(answer)

    def _fail(self, failure: Failure) -> None:
        self._bound = -1
        self._flags.finish(self._number, FAILURE)
        self._connection.send(failure)

    def request_attach(self, slots: int) -> None:
        """New storage: [slots, all rows, ...]."""
        env, seat = self._env, self._place.seat
        per_env = env.num_agents // env.num_envs
        mine = slice(seat.first_env * per_env, (seat.first_env + seat.num_envs) * per_env)
        layout = Buffers.layout(
            env.single_observation_space,
            env.single_action_space,
            slots,
            self._place.workers * env.num_agents,
            action_mask_size=env.action_mask_size,
        )
        storage = buffers_in(receive_memory(self._connection), layout)
        self._views = [storage[slot][mine] for slot in range(slots)]
        self._bound = -1

    def request_reset(self, target: int, seeds: list[int] | None, options: Any) -> Any:
        """The first reset of a worker that takes a lost one's place, which its group does not wait for."""
        return self._reset(target, seeds, options)

    def request_rebuild(self, arguments: dict[str, Any]) -> str:
        """Envs with other arguments in the place of those here. Returns why not, or nothing; the old ones stay then."""
        made = rebuild(self._maker, arguments, self._place.seat, self._env)
        if isinstance(made, str):
            return made
        self._env.close()
        self._env, self._bound = made, -1
        return ""

    def request_drain(self) -> dict[str, float]:
        return self._env.drain_log()

    def request_render(self) -> Any:
        return self._env.render()

    def _close(self) -> None:
        try:
            self._env.close()
        except BaseException as error:
            self._connection.send(describe(error, self._place.seat, os.getpid(), "close"))


def rebuild(maker: Callable[..., Any], arguments: dict[str, Any], seat: Seat, old: PufferEnv) -> PufferEnv | str:
    """A worker's envs with other arguments, which fit into the place of the `old` ones; or in words why there are none."""
    env = None
    try:
        env = build_batch(with_arguments(maker, arguments), seat.num_envs, seat.first_env)
        check_fits(env_facts(old), env_facts(env), arguments)
    except Exception as error:
        if env is not None:
            env.close()
        return str(error) if isinstance(error, (ConfigError, SpaceError)) else f"{type(error).__name__}: {error}"
    return env


def pack_infos(infos: Any) -> bytes:
    """Infos as bytes for `pickle.loads`. Raises WorkerError that names the env whose info cannot be sent."""
    try:
        return pickle.dumps(infos, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        for info in infos:
            try:
                pickle.dumps(info)
            except Exception:
                raise WorkerError(
                    f"env {info.get('env_index', '?')} returned an info that cannot be sent to the parent process "
                    f"({type(error).__name__}: {error}): {info!r:.500}"
                ) from None
        raise


def parent_is_gone(place: Place) -> bool:
    if place.parent and os.getppid() != place.parent:
        return True
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()


def limit_threads() -> None:
    """One thread for torch: workers share the cores among themselves. OpenMP's own would hang in a forked process."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def seed_generators(entropy: tuple[int, ...]) -> None:
    """Seed the global random generators: random's, numpy's and torch's."""
    words = np.random.SeedSequence(entropy).generate_state(8)
    random.seed(words.tobytes())
    np.random.seed(words)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(int(words[0]))


def _prepare_process(place: Place) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then stops the workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    limit_threads()
    seed_generators(place.entropy)
    gc.freeze()  # what a fork brought along need not be looked at again, nor its pages be copied
    # For the system the parent is the thread that started this process: only a main thread lives as long as the parent does.
    watched = place.parent != 0 and place.in_main_thread and die_with_parent()
    if parent_is_gone(place):
        os._exit(1)
    if not watched:
        threading.Thread(target=_end_with_parent, args=(place,), daemon=True, name="pufferlib-parent-watch").start()


def _end_with_parent(place: Place) -> None:
    """For a worker that is busy when its parent ends: only a thread notices then."""
    parent = multiprocessing.parent_process()
    while not parent_is_gone(place):
        if parent is not None:
            parent.join(PARENT_CHECK_S)
    os._exit(1)
