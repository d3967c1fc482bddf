"""The back end for clusters: workers are Ray actors, on this machine or on others.

Each worker owns a share of the envs, as one batch. A step is one call of each worker's actor: actions go with the call, and
the results come back as one block, which Ray's object store hands over without a copy and which is then copied into the
worker's rows of the storage. An actor that raises, dies, hangs or loses its machine becomes an exception here.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, WorkerError
from pufferlib.vector import EnvFacts, VecShape
from pufferlib.vector.vec_env import Info
from pufferlib.vector.workers import CHECK_S, RESET, STEP, WARN_AFTER_S, Failure, Order, WorkerVec
from pufferlib_ray import cluster
from pufferlib_ray.crew import Crew
from pufferlib_ray.worker import Result, result_layout


class RayVec(WorkerVec):
    """`num_workers` Ray actors with one batch of envs each.

    address: "auto" (the cluster that this machine belongs to), "host:port", "ray://host:port", or None: what the environment
        variable RAY_ADDRESS names, else a cluster of this machine alone, which ends when its last VecEnv is closed. After
        `ray.init` of your own, leave it out
    resources_per_worker: by Ray's names, as in {"CPU": 1, "GPU": 0.5}; None: one CPU, or
        nothing on a cluster of this machine alone
    hang_timeout_s: a worker that does not answer for so long (ten times as long while it builds its envs) is an error,
        WorkerTimeoutError; None: only a warning, after 30 s
    start_timeout_s: what the cluster gets to find room for a worker, and to start it; None: 60 s, and a cluster that is too
        small is refused at once. Give it where the cluster grows by itself
    restart_workers: replace a worker that failed, died, hung or lost its machine, wherever there is room, mark its rows
        truncated and go on; a replacement that fails before it has finished a step is an error.
        `drain_log()["worker_restarts"]` counts them.

    Raises ConfigError before anything starts, WorkerError (a RuntimeError) when a worker fails: all of them are ended then.
    """

    def __init__(
        self,
        maker: Callable[..., PufferEnv],
        shape: VecShape,
        *,
        seed: Any = None,
        in_order: bool = False,
        address: str | None = None,
        resources_per_worker: dict[str, float] | None = None,
        hang_timeout_s: float | None = None,
        start_timeout_s: float | None = None,
        restart_workers: bool = False,
    ) -> None:
        if start_timeout_s is not None and not (isinstance(start_timeout_s, (int, float)) and start_timeout_s > 0):
            raise ConfigError(f"start_timeout_s must be None or a number of seconds above 0, got {start_timeout_s!r}")
        self._resources = None if resources_per_worker is None else cluster.check_resources(resources_per_worker)
        self._maker, self._address, self._start_timeout_s = maker, address, start_timeout_s
        self._awaited: list[dict[int, Any]] = [{} for _ in range(shape.num_batches)]
        """[group]: the answers that its workers owe, by worker."""
        self._crew: Crew | None = None
        self._is_connected = False
        super().__init__(shape, seed=seed, in_order=in_order, hang_timeout_s=hang_timeout_s, restart_workers=restart_workers)

    def _start(self, shape: VecShape) -> list[EnvFacts]:
        ray = cluster.connect(self._address)
        self._is_connected = True
        resources = cluster.default_resources() if self._resources is None else self._resources
        if self._start_timeout_s is None:
            cluster.check_room(ray, shape.num_workers, resources)
        self._crew = Crew(ray, self._maker, resources, self._hang_timeout_s, self._start_timeout_s)
        facts = self._crew.start(self._seats)
        share, spaces_of_a_row = (
            facts[0].agents_per_env * shape.envs_per_worker,
            (facts[0].observation_space, facts[0].action_space),
        )
        self._layout = result_layout(*spaces_of_a_row, share, facts[0].action_mask_size)
        return facts

    def _stop(self) -> list[Failure]:
        failures = self._crew.stop() if self._crew else []
        self._awaited = [{} for _ in self._awaited]  # frees what the object store still holds for us
        if self._is_connected:
            cluster.release()
        return failures

    @property
    def _hands(self) -> Crew:
        if self._crew is None or not self._crew.is_connected():
            self._end(WorkerError("the connection to the Ray cluster was closed by ray.shutdown() while a VecEnv was using it"))
        return self._crew

    # ------------------------------------------------------------ steps

    def _start_reset(self, group: int, slot: int, seeds: list[int] | None, options: Info | None) -> None:
        self._ready.discard(group)  # results that nobody took
        self._infos[group].clear()
        self._orders[group] = Order(RESET, 0, slot, seeds, options, time.monotonic())
        hands = self._hands.hands
        self._awaited[group] = {
            worker: hands[worker].actor.reset.remote(self._seeds_of(worker, seeds), options) for worker in self._workers_of[group]
        }

    def _start_step(self, group: int, source: int, target: int) -> None:
        self._orders[group] = Order(STEP, source, target, None, None, time.monotonic())
        hands, actions = self._hands.hands, self._slot_views[source].actions
        self._awaited[group] = {
            worker: hands[worker].actor.step.remote(actions[self._rows_of(worker)]) for worker in self._workers_of[group]
        }

    def _wait(self, groups: Sequence[int]) -> int:
        crew = self._hands
        while True:
            for group in groups:
                if group in self._ready:
                    self._ready.discard(group)
                    return group
            waiting = {ref: worker for group in groups for worker, ref in self._awaited[group].items()}
            found = crew.wait(waiting, len(waiting) if len(groups) == 1 else 1)
            for ref in found:
                self._take(waiting[ref])
            now = time.monotonic()
            if not found or now - self._checked > CHECK_S:
                self._checked = now
                self._look_for_lost(now)

    def _take(self, worker: int) -> None:
        """Put an answer that is there where it belongs."""
        group = self._group_of(worker)
        ref, failed = self._awaited[group].pop(worker), None
        try:
            said = self._hands.fetch(worker, ref, self._orders[group].doing)
            if not isinstance(said, Failure):
                self._store(worker, said)
            elif said.harmless:
                raise said.exception()
            else:
                failed = said.exception()
        except WorkerError as error:
            failed = error
        if failed is not None:
            self._lost(worker, failed)
        self._end_of_turn(group)

    def _end_of_turn(self, group: int) -> None:
        if not self._awaited[group]:
            self._ready.add(group)

    def _store(self, worker: int, result: Result) -> None:
        group = self._group_of(worker)
        order = self._orders[group]
        result.copy_into(self._slot_views[order.target][self._rows_of(worker)], self._layout)
        if result.infos:
            self._infos[group] += self._unpacked(worker, result.infos)
        if order.kind == STEP:
            self._unproven.discard(worker)

    def _unpacked(self, worker: int, packed: bytes) -> list[Info]:
        try:
            infos: list[Info] = pickle.loads(packed)
        except Exception as error:
            name, doing = self._hands.hands[worker].name, self._orders[self._group_of(worker)].doing
            raise WorkerError(f"what {name} sent {doing} cannot be unpickled: {type(error).__name__}: {error}") from error
        return infos

    def _settle_all(self) -> None:
        """Wait until nobody has anything to do."""
        for group, awaited in enumerate(self._awaited):
            if awaited:
                self._ready.add(self._wait([group]))

    # ------------------------------------------------------------ requests

    def _set_maker(self, maker: Any) -> None:
        self._hands.set_maker(maker)

    def _request(self, name: str, workers: Sequence[int], *arguments: Any) -> list[Any]:
        """What these workers, which have nothing to do, answer. None from one that is lost but will be replaced."""
        crew = self._hands
        refs = {worker: getattr(crew.hands[worker].actor, name).remote(*arguments) for worker in workers}
        answers = []
        for worker, ref in refs.items():
            try:
                answer = crew.receive(worker, ref, f"in {name}()")
            except WorkerError as error:
                if not self._restart_workers:
                    self._end(error)
                answer = None  # its group finds it gone in its next step
            if isinstance(answer, Failure):
                self._end(answer.exception())
            answers.append(answer)
        return answers

    # ------------------------------------------------------------ faults

    def _look_for_lost(self, now: float) -> None:
        crew = self._hands
        owed = {ref: worker for awaited in self._awaited for worker, ref in awaited.items()}
        if not owed:
            return
        for ref in crew.peek(owed):
            self._take(owed[ref])
        limit = self._hang_timeout_s
        for group in range(self.num_batches):
            order, late = self._orders[group], sorted(self._awaited[group])
            waited = now - order.since
            if late and limit is not None and waited > limit:
                for worker in late:
                    crew.kill(worker)  # it would not close its envs either
                for worker in late:
                    self._give_up(worker, crew.timeout(worker, order.doing, limit))
            elif late and limit is None and waited > WARN_AFTER_S and not order.warned:
                order.warned = True
                crew.warn_of_hang(late, order.doing)
        owing = {worker: group for group, awaited in enumerate(self._awaited) for worker in awaited}
        oldest = min((self._orders[group].since for group in owing.values()), default=now)
        for worker in crew.find_cut_off(owing, oldest):
            self._give_up(worker, crew.death(worker, self._orders[owing[worker]].doing))

    def _give_up(self, worker: int, error: Exception) -> None:
        """Expect no answer from a worker any more."""
        group = self._group_of(worker)
        del self._awaited[group][worker]
        self._lost(worker, error)
        self._end_of_turn(group)

    def _start_again(self, worker: int) -> EnvFacts:
        return self._hands.replace(worker)

    def _reset_again(self, worker: int, order: Order, seeds: list[int] | None) -> list[Info]:
        crew = self._hands
        said = crew.receive(worker, crew.hands[worker].actor.reset.remote(seeds, order.options), "in reset()")
        if isinstance(said, Failure):
            raise said.exception()
        said.copy_into(self._slot_views[order.target][self._rows_of(worker)], self._layout)
        return self._unpacked(worker, said.infos) if said.infos else []
