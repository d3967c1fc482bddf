"""For back ends whose envs live in workers: who has which envs, what each group was told, and what becomes of a lost worker.

`processes` and the plugin `ray` are WorkerVecs. A back end of your own subclasses it, builds its batches with `build_batch`,
says how they look by `env_facts`, and sends what goes wrong as a `Failure`, made by `describe`.
"""

from __future__ import annotations

import atexit
import time
import warnings
import weakref
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np

from pufferlib.buffers import Buffers
from pufferlib.errors import ClosedError, ConfigError
from pufferlib.vector.arguments import with_arguments
from pufferlib.vector.batches import build_batch
from pufferlib.vector.faults import (
    BUILD_FACTOR,
    CHECK_S,
    LOOK_S,
    START_S,
    STOP_S,
    WARN_AFTER_S,
    Failure,
    Seat,
    describe,
    late,
    warn_of_hang,
)
from pufferlib.vector.logs import merge_logs
from pufferlib.vector.places import check_hang_timeout, check_same, seats
from pufferlib.vector.seeding import env_seeds
from pufferlib.vector.serial import env_facts
from pufferlib.vector.shape import VecShape
from pufferlib.vector.vec_env import EnvFacts, Info, VecEnv
from pufferlib.vector.worker import RESET, STEP, limit_threads, pack_infos, rebuild, seed_generators

__all__ = [
    "BUILD_FACTOR",
    "CHECK_S",
    "LOOK_S",
    "RESET",
    "START_S",
    "STEP",
    "STOP_S",
    "WARN_AFTER_S",
    "Failure",
    "Order",
    "Seat",
    "WorkerVec",
    "build_batch",
    "describe",
    "env_facts",
    "late",
    "limit_threads",
    "pack_infos",
    "rebuild",
    "seed_generators",
    "warn_of_hang",
]


@dataclass
class Order:
    """What a group was last told to do, and when."""

    kind: int
    """STEP or RESET."""
    source: int
    target: int
    seeds: list[int] | None
    options: Info | None
    since: float
    """time.monotonic()"""
    warned: bool = False

    @property
    def doing(self) -> str:
        return "in step()" if self.kind == STEP else "in reset()"


class WorkerVec(VecEnv):
    """A VecEnv whose `num_workers` workers own one batch of `envs_per_worker` envs each.

    Set what `_start` needs, then call `super().__init__`, which starts the workers and closes everything if that fails.
    The last part lists what a subclass implements beside VecEnv's `_start_reset`, `_start_step` and `_wait`. These give each
    order a record in `_orders`, collect what envs say in `_infos`, and tell `_lost` of a worker that failed.

    hang_timeout_s: as `Order.since` is old, and None for ever; kept for the subclass, which watches the time
    restart_workers: replace a lost worker, cut its rows off and go on
    Raises ConfigError for values that these cannot have.
    """

    _maker: Any
    """The env maker that the subclass was given."""

    def __init__(
        self, shape: VecShape, *, seed: Any, in_order: bool, hang_timeout_s: float | None, restart_workers: bool
    ) -> None:
        check_hang_timeout(hang_timeout_s)
        if not isinstance(restart_workers, bool):
            raise ConfigError(f"restart_workers must be True or False, got {restart_workers!r}")
        self._hang_timeout_s, self._restart_workers = hang_timeout_s, restart_workers
        self._restarts = 0
        self._unproven: set[int] = set()
        """Replacements that are not known to have finished a step."""
        self._ended_by = ""
        self._seats = seats(shape, seed)
        self._orders: list[Order] = [Order(STEP, 0, 0, None, None, 0.0)] * shape.num_batches
        """[group]"""
        self._ready: set[int] = set()
        """Groups that are done, of which the caller does not know yet."""
        self._checked = time.monotonic()
        self._infos: list[list[Info]] = [[] for _ in range(shape.num_batches)]
        """[group]"""
        per_group = shape.num_workers // shape.num_batches
        self._workers_of = [range(group * per_group, (group + 1) * per_group) for group in range(shape.num_batches)]
        try:
            facts = self._start(shape)
            _close_at_exit(self)
            for worker, other in enumerate(facts[1:], 1):
                check_same(facts[0], other, worker)
            self._facts = facts[0]
            super().__init__(facts[0], shape, seed=seed, in_order=in_order)
        except BaseException:
            self.is_closed = True
            self._close()
            raise

    def allocate(self, slots: int) -> Buffers:
        self._check_open()
        self._settle_all()
        return super().allocate(slots)

    def drain_log(self) -> dict[str, float]:
        """The envs' own, and `worker_restarts` where there were any."""
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

    def _rebuild(self, arguments: Info) -> None:
        self._settle_all()
        self._ready.clear()
        everybody = range(self.num_workers)
        refusals = [text for text in self._request("rebuild", everybody, arguments) if text]
        if refusals:
            self._request("rebuild", everybody, self.changed_arguments)
            raise ConfigError(refusals[0])
        self._set_maker(with_arguments(self._maker, arguments))

    def _take_infos(self, group: int) -> list[Info]:
        if not self._infos[group]:
            return []
        infos, self._infos[group] = self._infos[group], []
        return sorted(infos, key=itemgetter("env_index"))

    # ------------------------------------------------------------ who has what

    def _group_of(self, worker: int) -> int:
        return worker * self.num_batches // self.num_workers

    def _rows_of(self, worker: int) -> slice:
        share = self.num_agents // self.num_workers
        return slice(worker * share, (worker + 1) * share)

    def _seeds_of(self, worker: int, seeds: list[int] | None) -> list[int] | None:
        """Of a group's seeds, those of one of its workers."""
        if seeds is None:
            return None
        first = (worker - self._workers_of[self._group_of(worker)][0]) * self.envs_per_worker
        return seeds[first : first + self.envs_per_worker]

    # ------------------------------------------------------------ faults

    def _lost(self, worker: int, error: Exception) -> None:
        """A worker failed: replace it, or end everything with this error."""
        if not self._restart_workers or self._is_unproven(worker):  # a replacement would only fail again
            self._end(error)
        warnings.warn(f"{str(error).splitlines()[0]}; restarting this worker", RuntimeWarning, stacklevel=2)
        try:
            self._replace(worker)
        except Exception as second:
            self._end(second)

    def _is_unproven(self, worker: int) -> bool:
        """Whether this is a replacement that has not finished a step yet."""
        return worker in self._unproven

    def _replace(self, worker: int) -> None:
        """Start a new worker and its envs; its rows are cut off at their last observations."""
        group, rows = self._group_of(worker), self._rows_of(worker)
        order = self._orders[group]
        last = self._slot_views[order.source].observations[rows].copy()
        check_same(self._facts, self._start_again(worker), worker)
        self._restarts += 1
        self._unproven.add(worker)
        seeds = self._seeds_of(worker, order.seeds)
        if order.kind == STEP:
            entropy = (*self._seats[worker][1], self._restarts)
            seeds = env_seeds(int(np.random.SeedSequence(entropy).generate_state(1)[0]), self.envs_per_worker)
        self._infos[group] += self._reset_again(worker, order, seeds)
        if order.kind == STEP:
            view = self._slot_views[order.target][rows]
            view.final_observations[...] = last
            view.rewards[...] = 0
            view.terminals[...] = False
            view.truncations[...] = True
            view.masks[...] = False  # nothing was learnt from an action that no env answered

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
        for failure in self._stop():
            warnings.warn(failure.text, RuntimeWarning, stacklevel=3)

    # ------------------------------------------------------------ what a subclass implements

    @abstractmethod
    def _start(self, shape: VecShape) -> list[EnvFacts]:
        """Start worker k on `_seats[k]` for every k; what their envs look like. Raises the first failure."""

    @abstractmethod
    def _stop(self) -> list[Failure]:
        """End all workers, started or not, and free what they share. What went wrong as they closed their envs."""

    @abstractmethod
    def _settle_all(self) -> None:
        """Wait until no worker has anything to do; groups that are done then are `_ready`."""

    @abstractmethod
    def _request(self, name: str, workers: Sequence[int], *arguments: Any) -> list[Any]:
        """What these workers, which have nothing to do, answer to "drain", "render" or "rebuild"; None from one that is lost
        but will be replaced."""

    @abstractmethod
    def _set_maker(self, maker: Any) -> None:
        """What workers that start from now on make their envs with."""

    @abstractmethod
    def _start_again(self, worker: int) -> EnvFacts:
        """End a worker, if it has not ended, and start another on its seat."""

    @abstractmethod
    def _reset_again(self, worker: int, order: Order, seeds: list[int] | None) -> list[Info]:
        """Reset a new worker's envs, with results in `order.target`. Their infos."""


_open_vecs: weakref.WeakSet[WorkerVec] = weakref.WeakSet()


def _close_at_exit(vec: WorkerVec) -> None:
    """Registered anew after whatever `_start` imported: handlers run in the opposite order, and multiprocessing's own would
    wait for the workers, a cluster's end the connection to them."""
    atexit.unregister(_close_all)
    atexit.register(_close_all)
    _open_vecs.add(vec)


def _close_all() -> None:
    for vec in list(_open_vecs):
        vec.close()
