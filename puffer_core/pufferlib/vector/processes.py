"""The back end for Python envs: worker processes over shared memory.

Each worker owns a share of the envs, as one batch, and writes its results straight into its rows of the storage, which is
shared memory. Commands are flags in shared memory (`native/flags.h`): a worker that waits spins briefly, then sleeps. Only
infos travel by pipe, and only when there are any. A worker that raises, dies or hangs becomes an exception here.
"""

from __future__ import annotations

import atexit
import contextlib
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from pufferlib.buffers import Buffers
from pufferlib.env import PufferEnv
from pufferlib.errors import ActionError, ClosedError, ConfigError, WorkerError
from pufferlib.native._flags import FAILED, FAILURE, WAIT_OVER, Flags, flags_bytes
from pufferlib.vector.arguments import with_arguments
from pufferlib.vector.crew import LOOK_S, WARN_AFTER_S, Crew
from pufferlib.vector.faults import Failure
from pufferlib.vector.logs import merge_logs
from pufferlib.vector.places import check_hang_timeout, check_same, make_places, spin_ns
from pufferlib.vector.seeding import env_seeds
from pufferlib.vector.shape import VecShape
from pufferlib.vector.shared_memory import SharedBlock, arrays_in, layout_bytes
from pufferlib.vector.vec_env import Info, VecEnv
from pufferlib.vector.worker import REQUEST, RESET, STEP

CHECK_S = 1.0
"""While batches keep coming, dead and hanging workers are looked for this often."""


@dataclass
class Order:
    """What a group was last told to do, and when."""

    kind: int
    source: int
    target: int
    seeds: list[int] | None
    options: Info | None
    since: float
    warned: bool = False

    @property
    def doing(self) -> str:
        return "in step()" if self.kind == STEP else "in reset()"


class ProcessesVec(VecEnv):
    """`num_workers` processes with one batch of envs each.

    start_method: fork, spawn or forkserver; None: fork on Linux unless CUDA is in use already, else spawn
    hang_timeout_s: a worker that does not answer for so long (ten times as long while it builds its envs) is an error,
        WorkerTimeoutError; None: only a warning, after 30 s
    restart_workers: replace a worker that failed, died or hung, mark its rows truncated and go on; a replacement that fails
        before it has finished a step is an error. `drain_log()["worker_restarts"]` counts them.

    Raises ConfigError before anything starts, WorkerError (a RuntimeError) when a worker fails: all of them are ended then.
    """

    def __init__(
        self,
        maker: Callable[..., PufferEnv],
        shape: VecShape,
        *,
        seed: Any = None,
        in_order: bool = False,
        start_method: str | None = None,
        hang_timeout_s: float | None = None,
        restart_workers: bool = False,
    ) -> None:
        check_hang_timeout(hang_timeout_s)
        if not isinstance(restart_workers, bool):
            raise ConfigError(f"restart_workers must be True or False, got {restart_workers!r}")
        self._maker = maker
        self._crew = Crew(maker, start_method, hang_timeout_s)
        places = make_places(shape, seed, self._crew.start_method)
        self._restart_workers = restart_workers
        self._restarts = 0
        self._replaced: set[int] = set()
        self._ended_by = ""
        self._orders: list[Order] = [Order(STEP, 0, 0, None, None, 0.0)] * shape.num_batches
        self._busy: set[int] = set()
        """Groups that were told to do something and whose end was not seen yet."""
        self._ready: set[int] = set()
        """Groups that are done, of which the caller does not know yet."""
        self._checked = time.monotonic()
        self._infos: list[list[Info]] = [[] for _ in range(shape.num_batches)]
        self._block: SharedBlock | None = None
        self._flags_block = SharedBlock(flags_bytes(shape.num_batches, shape.num_workers))
        memory, workers = self._flags_block.memory, shape.num_workers
        self._flags = Flags(memory, shape.num_batches, workers, spin_ns=spin_ns(workers + 1), clear=True)
        self._workers_of = [
            range(group * shape.num_workers // shape.num_batches, (group + 1) * shape.num_workers // shape.num_batches)
            for group in range(shape.num_batches)
        ]
        _close_at_exit(self)
        try:
            facts = self._crew.start(places, self._flags_block)
            for worker, other in enumerate(facts[1:], 1):
                check_same(facts[0], other, worker)
            self._facts = facts[0]
            super().__init__(facts[0], shape, seed=seed, in_order=in_order)
        except BaseException:
            self.is_closed = True
            self._close()
            raise

    # ------------------------------------------------------------ storage

    def allocate(self, slots: int) -> Buffers:
        self._check_open()
        self._settle_all()
        storage = super().allocate(slots)
        self._request_all("attach", slots)
        return storage

    def _new_storage(self, slots: int) -> Buffers:
        facts = self._facts
        layout = Buffers.layout(
            facts.observation_space, facts.action_space, slots, self.num_agents, action_mask_size=facts.action_mask_size
        )
        block = SharedBlock(layout_bytes(layout))
        if self._block is not None:
            self._block.close()
        self._block = block
        return Buffers.filled(arrays_in(block.memory, layout))

    # ------------------------------------------------------------ steps

    def _start_reset(self, group: int, slot: int, seeds: list[int] | None, options: Info | None) -> None:
        while group in self._busy:
            with contextlib.suppress(ActionError, ConfigError):  # of something whose results nobody took
                self._settle(group)
        self._ready.discard(group)
        self._infos[group].clear()
        self._orders[group] = Order(RESET, 0, slot, seeds, options, time.monotonic())
        self._busy.add(group)
        self._flags.order(group, RESET, 0, slot)
        with self._whole_messages():
            for worker in self._workers_of[group]:
                self._crew.send(worker, self._seeds_of(worker, seeds), options)

    def _start_step(self, group: int, source: int, target: int) -> None:
        self._orders[group] = Order(STEP, source, target, None, None, time.monotonic())
        self._busy.add(group)
        self._flags.order(group, STEP, source, target)

    def _wait(self, groups: Sequence[int]) -> int:
        if self._ready:
            for group in groups:
                if group in self._ready:
                    self._ready.discard(group)
                    return group
        while True:
            found = self._flags.wait(groups, int(LOOK_S * 1e9))
            now = time.monotonic()
            if found == FAILED:
                self._hear_failures()
            elif found == WAIT_OVER or now - self._checked > CHECK_S:
                self._checked = now
                self._look_for_lost(now)
            if found >= 0:
                self._busy.discard(found)
                if self._flags.payloads(found):
                    self._read_infos(found)
                return found

    def _take_infos(self, group: int) -> list[Info]:
        if not self._infos[group]:
            return []
        infos, self._infos[group] = self._infos[group], []
        return infos

    def _read_infos(self, group: int) -> None:
        for worker in self._workers_of[group]:
            if self._flags.status(worker):
                try:
                    with self._whole_messages():
                        self._infos[group] += self._crew.read(worker, self._orders[group].doing)
                except WorkerError as error:
                    self._lost(worker, error)

    def _settle(self, group: int) -> None:
        """Wait until a group has nothing to do."""
        if group in self._busy:
            self._ready.add(self._wait([group]))

    def _settle_all(self) -> None:
        for group in sorted(self._busy):
            self._settle(group)

    # ------------------------------------------------------------ requests

    def _rebuild(self, arguments: Info) -> None:
        self._settle_all()
        self._ready.clear()
        refusals = [text for text in self._request_all("rebuild", arguments) if text]
        if refusals:
            self._request_all("rebuild", self.changed_arguments)
            raise ConfigError(refusals[0])
        self._crew.set_maker(with_arguments(self._maker, arguments))

    def drain_log(self) -> dict[str, float]:
        self._check_open()
        self._settle_all()
        log = dict(merge_logs(answer for answer in self._request_all("drain") if answer))
        if self._restarts:
            log["worker_restarts"] = float(self._restarts)
            log.setdefault("n", 0.0)
        return log

    def _render(self) -> Any:
        self._settle_all()
        return self._request("render", [0])[0]

    def _request_all(self, name: str, *arguments: Any) -> list[Any]:
        return self._request(name, range(self.num_workers), *arguments)

    def _request(self, name: str, workers: Sequence[int], *arguments: Any) -> list[Any]:
        """What these workers, which have nothing to do, answer. None from one that is lost but will be replaced."""
        with self._whole_messages():
            return self._ask(name, workers, *arguments)

    def _ask(self, name: str, workers: Sequence[int], *arguments: Any) -> list[Any]:
        for worker in workers:
            self._flags.order_one(worker, REQUEST)
            self._crew.send(worker, name, *arguments)
            if name == "attach":
                self._send_storage(worker)
        answers = []
        for worker in workers:
            try:
                answer = self._crew.receive(worker, f"in {name}()")
            except WorkerError as error:
                if not self._restart_workers:
                    self._end(error)
                answer = None  # its group finds it gone in its next step
            if isinstance(answer, Failure):
                self._end(answer.exception())
            answers.append(answer)
        return answers

    @contextlib.contextmanager
    def _whole_messages(self) -> Iterator[None]:
        """After an interrupt in the middle of a message nothing that comes by that pipe could be understood."""
        try:
            yield
        except Exception:
            raise
        except BaseException:
            self._ended_by = "it was interrupted while it spoke with its workers"
            self.close()
            raise

    def _send_storage(self, worker: int) -> None:
        assert self._block is not None
        try:
            self._block.send(self._crew.hands[worker].connection, self._crew.hands[worker].pid)
        except OSError:
            return  # it is gone: whoever waits for its answer hears of it

    # ------------------------------------------------------------ faults

    def _hear_failures(self) -> None:
        for worker in range(self.num_workers):
            if self._flags.status(worker) != FAILURE:
                continue
            self._flags.forget_failure(worker)
            try:
                with self._whole_messages():
                    failure = self._crew.read(worker, self._orders[self._group_of(worker)].doing)
            except WorkerError as error:
                self._lost(worker, error)
                continue
            if failure.harmless:
                raise failure.exception()
            self._lost(worker, failure.exception())

    def _look_for_lost(self, now: float) -> None:
        for worker in self._crew.find_dead():
            group = self._group_of(worker)
            if group in self._busy or not self._restart_workers:
                doing = self._orders[group].doing if group in self._busy else "while it had nothing to do"
                self._lost(worker, self._crew.death(self._crew.hands[worker], doing))
        limit = self._crew.hang_timeout_s
        for group in sorted(self._busy):
            order = self._orders[group]
            if now - order.since <= (WARN_AFTER_S if limit is None else limit):
                continue
            late = [worker for worker in self._workers_of[group] if not self._flags.is_done(worker)]
            if limit is not None:
                for worker in late:
                    self._crew.hands[worker].process.kill()  # it would not close its envs either
                for worker in late:
                    self._lost(worker, self._crew.timeout(worker, order.doing, limit))
            elif late and not order.warned:
                order.warned = True
                self._crew.warn_of_hang(late, order.doing)

    def _lost(self, worker: int, error: Exception) -> None:
        """A worker failed: replace it, or end everything with this error."""
        if not self._restart_workers:
            self._end(error)
        if worker in self._replaced and not self._flags.steps(worker):
            self._end(error)  # it would only fail again
        warnings.warn(f"{str(error).splitlines()[0]}; restarting this worker", RuntimeWarning, stacklevel=2)
        try:
            self._replace(worker)
        except Exception as second:
            self._end(second)

    def _replace(self, worker: int) -> None:
        """Start a new worker and its envs; its rows are cut off at their last observations."""
        group = self._group_of(worker)
        order, was_done = self._orders[group], self._flags.is_done(worker)
        share = self.num_agents // self.num_workers
        rows = slice(worker * share, (worker + 1) * share)
        last = self._slot_views[order.source].observations[rows].copy()
        self._flags.replace(worker)
        check_same(self._facts, self._crew.replace(worker, self._flags_block), worker)
        self._replaced.add(worker)
        self._restarts += 1
        self._request("attach", [worker], len(self._slot_views))
        seeds = self._seeds_of(worker, order.seeds)
        if order.kind == STEP:
            entropy = (*self._crew.hands[worker].place.entropy, self._restarts)
            seeds = env_seeds(int(np.random.SeedSequence(entropy).generate_state(1)[0]), self.envs_per_worker)
        infos = self._request("reset", [worker], order.target, seeds, order.options)[0]
        self._infos[group] += infos or []
        if order.kind == STEP:
            view = self._slot_views[order.target][rows]
            view.final_observations[...] = last
            view.rewards[...] = 0
            view.terminals[...] = False
            view.truncations[...] = True
            view.masks[...] = False  # nothing was learnt from an action that no env answered
        if not was_done:
            self._flags.finish_for(worker)

    def _group_of(self, worker: int) -> int:
        return worker * self.num_batches // self.num_workers

    def _seeds_of(self, worker: int, seeds: list[int] | None) -> list[int] | None:
        """Of a group's seeds, those of one of its workers."""
        if seeds is None:
            return None
        first = (worker - self._workers_of[self._group_of(worker)][0]) * self.envs_per_worker
        return seeds[first : first + self.envs_per_worker]

    def _end(self, error: Exception) -> NoReturn:
        """Raise an error after which no worker is left."""
        self._ended_by = str(error).splitlines()[0]
        self.close()
        raise error

    # ------------------------------------------------------------ the end

    def __del__(self) -> None:
        self.close()

    def _check_open(self) -> None:
        if self.is_closed and self._ended_by:
            raise ClosedError(f"this {type(self).__name__} is closed since {self._ended_by}; make a new one")
        super()._check_open()

    def _close(self) -> None:
        failures = self._crew.stop(self._flags.order_one)
        for block in (self._flags_block, self._block):
            if block is not None:
                block.close()
        for failure in failures:
            warnings.warn(failure.text, RuntimeWarning, stacklevel=3)


_open_vecs: weakref.WeakSet[ProcessesVec] = weakref.WeakSet()


def _close_at_exit(vec: ProcessesVec) -> None:
    """Registered after multiprocessing's own handler, which would wait for the workers, so it runs before that one."""
    if not _open_vecs:
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _open_vecs.add(vec)


def _close_all() -> None:
    for vec in list(_open_vecs):
        vec.close()
