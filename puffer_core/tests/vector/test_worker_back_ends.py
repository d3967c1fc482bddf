"""A back end of one's own over `WorkerVec`: workers are threads, registered by name."""

import functools
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ClosedError, ConfigError, WorkerError
from pufferlib.plugins import BackendSpec, Registry
from pufferlib.plugins.loader import Plugin, load_all
from pufferlib.testing import check_vec_env
from pufferlib.testing.workers import Failing, Ticking
from pufferlib.vector.workers import RESET, STEP, Failure, Order, WorkerVec, build_batch, describe, env_facts

ACTIONS = np.zeros(4, int)


class Threads(WorkerVec):
    """Each worker is a thread that owns one batch of Python envs."""

    def __init__(self, maker, shape, *, seed=None, in_order=False, hang_timeout_s=None, restart_workers=False):
        self.maker, self.pools, self.envs = maker, [], []
        self.awaited = [{} for _ in range(shape.num_batches)]
        super().__init__(shape, seed=seed, in_order=in_order, hang_timeout_s=hang_timeout_s, restart_workers=restart_workers)

    def _start(self, shape):
        self.pools = [ThreadPoolExecutor(1) for _ in range(shape.num_workers)]
        self.envs = [None] * shape.num_workers
        return [self.build(worker) for worker in range(shape.num_workers)]

    def build(self, worker):
        seat = self._seats[worker][0]
        self.envs[worker] = build_batch(self.maker, seat.num_envs, seat.first_env)
        return env_facts(self.envs[worker])

    def _start_reset(self, group, slot, seeds, options):
        self._orders[group] = Order(RESET, 0, slot, seeds, options, time.monotonic())
        self.order(group)

    def _start_step(self, group, source, target):
        self._orders[group] = Order(STEP, source, target, None, None, time.monotonic())
        self.order(group)

    def order(self, group):
        for worker in self._workers_of[group]:
            self.awaited[group][worker] = self.pools[worker].submit(self.work, worker, self._orders[group])

    def work(self, worker, order):
        env, rows = self.envs[worker], self._rows_of(worker)
        try:
            env.bind(self._slot_views[order.target][rows])
            if order.kind == STEP:
                return env.step(self._slot_views[order.source].actions[rows])[4]
            return env.reset(self._seeds_of(worker, order.seeds))[1]
        except Exception as error:
            return describe(error, self._seats[worker][0], "a thread", "step" if order.kind == STEP else "reset")

    def _wait(self, groups):
        while True:
            for group in groups:
                if group in self._ready or all(future.done() for future in self.awaited[group].values()):
                    self._ready.discard(group)
                    self.take(group)
                    return group
            wait([f for group in groups for f in self.awaited[group].values()], return_when=FIRST_COMPLETED)

    def take(self, group):
        answers, self.awaited[group] = self.awaited[group], {}
        for worker, future in answers.items():
            if isinstance(future.result(), Failure):
                self._lost(worker, future.result().exception())
            else:
                self._infos[group] += future.result()
                self._unproven.discard(worker)

    def _settle_all(self):
        for group, awaited in enumerate(self.awaited):
            if awaited:
                self._ready.add(self._wait([group]))

    def _request(self, name, workers):
        return [getattr(self.envs[worker], {"drain": "drain_log"}.get(name, name))() for worker in workers]

    def _start_again(self, worker):
        return self.build(worker)

    def _reset_again(self, worker, order, seeds):
        env = self.envs[worker]
        env.bind(self._slot_views[order.target][self._rows_of(worker)])
        return env.reset(seeds)[1]

    def _stop(self):
        for pool in self.pools:
            pool.shutdown()
        for env in filter(None, self.envs):
            env.close()
        return []


@pytest.fixture
def name(monkeypatch):
    spec = BackendSpec("python-threads", target=Threads, summary="Python envs in threads")
    found = Registry([*load_all(), Plugin("mine", "mine", records=[spec])])
    monkeypatch.setattr("pufferlib.plugins.registry", lambda: found)
    return spec.name


def test_it_keeps_the_whole_contract(name):
    check_vec_env(
        lambda: pufferlib.emulate(Ticking, num_envs=4, num_workers=2, batch_size=2, backend=name),
        reference=lambda: pufferlib.emulate(Ticking, num_envs=4, backend="serial"),
        steps=40,
    )


def test_logs_are_put_together(name):
    vec = pufferlib.emulate(Ticking, num_envs=4, num_workers=4, backend=name)
    vec.reset(seed=0)
    for _ in range(10):
        vec.step(ACTIONS)
    assert vec.drain_log() == {"episode_return": 5.0, "episode_length": 5.0, "n": 8.0}
    vec.close()


def test_a_worker_that_fails_ends_all_or_is_replaced_with_its_rows_truncated(name, tmp_path):
    envs = [Ticking, Ticking, functools.partial(Failing, how="raise", once=str(tmp_path / "once")), Ticking]
    vec = pufferlib.emulate(envs, num_workers=2, backend=name)
    vec.reset(seed=0)
    vec.step(ACTIONS)
    vec.step(ACTIONS)
    with pytest.raises(WorkerError, match=r"env 2 \(worker 1, pid a thread\) raised NeedsTwo: speed/3 in step"):
        vec.step(ACTIONS)
    with pytest.raises(ClosedError, match="closed since env 2"):
        vec.step(ACTIONS)

    (tmp_path / "once").unlink()
    vec = pufferlib.emulate(envs, num_workers=2, backend=name, backend_options={"restart_workers": True})
    vec.reset(seed=0)
    vec.step(ACTIONS)
    before = vec.step(ACTIONS)[0].copy()
    with pytest.warns(RuntimeWarning, match="restarting this worker"):
        observations, rewards, terminations, truncations, infos = vec.step(ACTIONS)
    assert truncations.tolist() == [False, False, True, True] and not terminations.any()
    assert rewards.tolist() == [1, 1, 0, 0] and observations[:, 0].tolist() == [3, 3, 0, 0]
    np.testing.assert_array_equal(infos["final_obs"][2:], before[2:])
    assert vec.storage.masks[0].tolist() == [True, True, False, False]
    assert vec.drain_log()["worker_restarts"] == 1
    vec.close()


def test_wrong_options_are_refused_before_anything_starts(name):
    for options in ({"restart_workers": 1}, {"hang_timeout_s": 0}, {"patience": 3}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            pufferlib.emulate(Ticking, num_envs=2, num_workers=2, backend=name, backend_options=options)
