"""The back end for clusters: workers are Ray actors, on this machine or on others.

Each worker owns a share of the envs, as one batch. A step is one call of each worker's actor: actions go with the call, and
the results come back as one block, which Ray's object store hands over without a copy and which is then copied into the
worker's rows of the storage. An actor that raises, dies, hangs or loses its machine becomes an exception here.
"""

from __future__ import annotations

import atexit
import pickle
import secrets
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from pufferlib.buffers import Buffers
from pufferlib.env import PufferEnv
from pufferlib.errors import ClosedError, ConfigError, WorkerError
from pufferlib.vector import VecEnv, VecShape
from pufferlib.vector.crew import WARN_AFTER_S
from pufferlib.vector.faults import Failure, Seat
from pufferlib.vector.logs import merge_logs
from pufferlib.vector.places import check_hang_timeout, check_same
from pufferlib.vector.processes import CHECK_S, Order
from pufferlib.vector.seeding import env_seeds, spread_seed
from pufferlib.vector.vec_env import Info
from pufferlib.vector.worker import RESET, STEP
from pufferlib_ray import cluster
from pufferlib_ray.crew import Crew
from pufferlib_ray.worker import Result, result_layout


class RayVec(VecEnv):
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
        check_hang_timeout(hang_timeout_s)
        if start_timeout_s is not None and not (isinstance(start_timeout_s, (int, float)) and start_timeout_s > 0):
            raise ConfigError(f"start_timeout_s must be None or a number of seconds above 0, got {start_timeout_s!r}")
        if not isinstance(restart_workers, bool):
            raise ConfigError(f"restart_workers must be True or False, got {restart_workers!r}")
        resources = None if resources_per_worker is None else cluster.check_resources(resources_per_worker)
        share = shape.envs_per_worker
        seeds = spread_seed(secrets.randbits(63) if seed is None else seed, shape.num_envs)
        places = [
            (Seat(worker, worker * share, share), (worker, *seeds[worker * share : (worker + 1) * share]))
            for worker in range(shape.num_workers)
        ]
        self._restart_workers = restart_workers
        self._restarts = 0
        self._unproven: set[int] = set()
        """Replacements that have not finished a step yet."""
        self._ended_by = ""
        self._orders = [Order(STEP, 0, 0, None, None, 0.0)] * shape.num_batches
        self._awaited: list[dict[int, Any]] = [{} for _ in range(shape.num_batches)]
        """[group]: the answers that its workers owe, by worker."""
        self._ready: set[int] = set()
        """Groups that are done, of which the caller does not know yet."""
        self._checked = time.monotonic()
        self._infos: list[list[Info]] = [[] for _ in range(shape.num_batches)]
        self._workers_of = [
            range(group * shape.num_workers // shape.num_batches, (group + 1) * shape.num_workers // shape.num_batches)
            for group in range(shape.num_batches)
        ]
        self._crew: Crew | None = None
        ray = cluster.connect(address)
        if resources is None:
            resources = cluster.default_resources()
        _close_at_exit(self)
        try:
            if start_timeout_s is None:
                cluster.check_room(ray, shape.num_workers, resources)
            self._crew = Crew(ray, maker, resources, hang_timeout_s, start_timeout_s)
            facts = self._crew.start(places)
            for worker, other in enumerate(facts[1:], 1):
                check_same(facts[0], other, worker)
            self._facts = facts[0]
            self._share = facts[0].agents_per_env * share
            spaces_of_a_row = facts[0].observation_space, facts[0].action_space
            self._layout = result_layout(*spaces_of_a_row, self._share, facts[0].action_mask_size)
            super().__init__(facts[0], shape, seed=seed, in_order=in_order)
        except BaseException:
            self.is_closed = True
            self._close()
            raise

    @property
    def _hands(self) -> Crew:
        if self._crew is None or not self._crew.is_connected():
            self._end(WorkerError("the connection to the Ray cluster was closed by ray.shutdown() while a VecEnv was using it"))
        return self._crew

    def allocate(self, slots: int) -> Buffers:
        self._check_open()
        self._settle_all()
        return super().allocate(slots)

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

    def _take_infos(self, group: int) -> list[Info]:
        if not self._infos[group]:
            return []
        infos, self._infos[group] = self._infos[group], []
        return sorted(infos, key=lambda info: int(info["env_index"]))

    def _settle_all(self) -> None:
        """Wait until nobody has anything to do."""
        for group, awaited in enumerate(self._awaited):
            if awaited:
                self._ready.add(self._wait([group]))

    # ------------------------------------------------------------ requests

    def drain_log(self) -> dict[str, float]:
        self._check_open()
        self._settle_all()
        log = dict(merge_logs(answer for answer in self._request("drain", range(self.num_workers)) if answer))
        if self._restarts:
            log["worker_restarts"] = float(self._restarts)
            log.setdefault("n", 0.0)
        return log

    def _render(self) -> Any:
        self._settle_all()
        return self._request("render", [0])[0]

    def _request(self, name: str, workers: Sequence[int]) -> list[Any]:
        """What these workers, which have nothing to do, answer. None from one that is lost but will be replaced."""
        crew = self._hands
        refs = {worker: getattr(crew.hands[worker].actor, name).remote() for worker in workers}
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
        limit = crew.hang_timeout_s
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

    def _lost(self, worker: int, error: Exception) -> None:
        """A worker failed: replace it, or end everything with this error."""
        if not self._restart_workers or worker in self._unproven:  # a replacement would only fail again
            self._end(error)
        warnings.warn(f"{str(error).splitlines()[0]}; restarting this worker", RuntimeWarning, stacklevel=2)
        try:
            self._replace(worker)
        except Exception as second:
            self._end(second)

    def _replace(self, worker: int) -> None:
        """Start a new actor and its envs; its rows are cut off at their last observations."""
        crew, order, rows = self._hands, self._orders[self._group_of(worker)], self._rows_of(worker)
        last = self._slot_views[order.source].observations[rows].copy()
        check_same(self._facts, crew.replace(worker), worker)
        self._restarts += 1
        self._unproven.add(worker)
        seeds = self._seeds_of(worker, order.seeds)
        if order.kind == STEP:
            entropy = (*crew.hands[worker].entropy, self._restarts)
            seeds = env_seeds(int(np.random.SeedSequence(entropy).generate_state(1)[0]), self.envs_per_worker)
        said = crew.receive(worker, crew.hands[worker].actor.reset.remote(seeds, order.options), "in reset()")
        if isinstance(said, Failure):
            raise said.exception()
        view = self._slot_views[order.target][rows]
        said.copy_into(view, self._layout)
        if said.infos:
            self._infos[self._group_of(worker)] += self._unpacked(worker, said.infos)
        if order.kind == STEP:
            view.final_observations[...] = last
            view.rewards[...] = 0
            view.terminals[...] = False
            view.truncations[...] = True
            view.masks[...] = False  # nothing was learnt from an action that no env answered

    def _group_of(self, worker: int) -> int:
        return worker * self.num_batches // self.num_workers

    def _rows_of(self, worker: int) -> slice:
        return slice(worker * self._share, (worker + 1) * self._share)

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
        failures = self._crew.stop() if self._crew else []
        self._awaited = [{} for _ in self._awaited]  # frees what the object store still holds for us
        cluster.release()
        for failure in failures:
            warnings.warn(failure.text, RuntimeWarning, stacklevel=3)


_open_vecs: weakref.WeakSet[RayVec] = weakref.WeakSet()


def _close_at_exit(vec: RayVec) -> None:
    """Registered after Ray's own handler, which ends the connection, so it runs before that one."""
    if not _open_vecs:
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _open_vecs.add(vec)


def _close_all() -> None:
    for vec in list(_open_vecs):
        vec.close()
