"""The back end for Python envs: worker processes over shared memory.

Each worker owns a share of the envs, as one batch, and writes its results straight into its rows of the storage, which is
shared memory. Commands are flags in shared memory (`native/flags.h`): a worker that waits spins briefly, then sleeps. Only
infos travel by pipe, and only when there are any. A worker that raises, dies or hangs becomes an exception here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pufferlib.buffers import Buffers
from pufferlib.env import PufferEnv
from pufferlib.errors import ActionError, ConfigError, WorkerError
from pufferlib.native._flags import FAILED, FAILURE, WAIT_OVER, Flags, flags_bytes
from pufferlib.vector.crew import Crew
from pufferlib.vector.faults import CHECK_S, LOOK_S, WARN_AFTER_S, Failure
from pufferlib.vector.places import make_places, spin_ns
from pufferlib.vector.shape import VecShape
from pufferlib.vector.shared_memory import SharedBlock, arrays_in, layout_bytes
from pufferlib.vector.vec_env import EnvFacts, Info
from pufferlib.vector.worker import REQUEST, RESET, STEP
from pufferlib.vector.workers import Order, WorkerVec


class ProcessesVec(WorkerVec):
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
        self._maker = maker
        self._crew = Crew(maker, start_method, hang_timeout_s)
        self._busy: set[int] = set()
        """Groups that were told to do something and whose end was not seen yet."""
        self._block: SharedBlock | None = None
        groups, workers = shape.num_batches, shape.num_workers
        self._flags_block = SharedBlock(flags_bytes(groups, workers))
        self._flags = Flags(self._flags_block.memory, groups, workers, spin_ns=spin_ns(workers + 1), clear=True)
        super().__init__(shape, seed=seed, in_order=in_order, hang_timeout_s=hang_timeout_s, restart_workers=restart_workers)

    def _start(self, shape: VecShape) -> list[EnvFacts]:
        places = make_places(self._seats, shape.num_batches, self._crew.start_method)
        return self._crew.start(places, self._flags_block)

    def _stop(self) -> list[Failure]:
        failures = self._crew.stop(self._flags.order_one)
        for block in (self._flags_block, self._block):
            if block is not None:
                block.close()
        return failures

    # ------------------------------------------------------------ storage

    def allocate(self, slots: int) -> Buffers:
        storage = super().allocate(slots)
        self._request("attach", range(self.num_workers), slots)
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

    def _set_maker(self, maker: Any) -> None:
        self._crew.set_maker(maker)

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
        limit = self._hang_timeout_s
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

    def _is_unproven(self, worker: int) -> bool:
        return super()._is_unproven(worker) and not self._flags.steps(worker)

    def _replace(self, worker: int) -> None:
        was_done = self._flags.is_done(worker)
        super()._replace(worker)
        if not was_done:
            self._flags.finish_for(worker)

    def _start_again(self, worker: int) -> EnvFacts:
        self._flags.replace(worker)
        facts = self._crew.replace(worker, self._flags_block)
        self._request("attach", [worker], len(self._slot_views))
        return facts

    def _reset_again(self, worker: int, order: Order, seeds: list[int] | None) -> list[Info]:
        return self._request("reset", [worker], order.target, seeds, order.options)[0] or []
