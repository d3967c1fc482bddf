"""The pool and the binding, through the dummy game: every world once per step, nothing lost, nothing else touched."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import fields
from functools import partial

import numpy as np
import pytest

from pufferlib.buffers import Buffers
from pufferlib.errors import ActionError, ClosedError, ConfigError, EnvError, ShapeError
from pufferlib.vector import make_vec

WORLDS = 42


def trace(vec, steps: int = 30, seed: int = 5) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    seen = [vec.reset(seed=seed)[0].copy()]
    for _ in range(steps):
        seen += [np.copy(x) for x in vec.step(rng.integers(0, 4, vec.num_agents).astype(np.int32))[:4]]
    return seen


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_every_world_is_stepped_once_per_step(dummy, workers):
    env = dummy(num_envs=WORLDS, rows=2)
    env.native.start_pool(workers, 1)
    env.reset(1)
    for step in range(1, 200):
        env.step(env.actions)
        assert (env.observations[:, :2] == step).all()
    assert env.native.drain_log() == {}  # no episode ended
    env.close()


@pytest.mark.parametrize(("workers", "groups"), [(2, 2), (6, 2), (6, 3), (7, 7), (42, 42)])
def test_groups_are_stepped_once_per_post_in_any_order(dummy, workers, groups):
    env = dummy(num_envs=WORLDS, max_steps=10**9)
    env.native.start_pool(workers, groups)
    env.reset(1)
    rows = WORLDS // groups
    posted = np.zeros(groups, int)
    for group in range(groups):
        env.native.post_step(group, 0, 0)
        posted[group] += 1
    for turn in range(groups * 50):
        group = env.native.wait() if turn % 3 else env.native.wait(int(np.argmin(posted)))
        assert (env.observations[group * rows : (group + 1) * rows, 0] == posted[group]).all()
        env.native.post_step(group, 0, 0)
        posted[group] += 1
    env.native.abandon()
    assert (env.observations[:, 0] == np.repeat(posted, rows)).all()
    env.close()


def test_no_world_is_entered_by_two_threads(dummy):
    env = dummy(num_envs=8, max_steps=1, work=200)
    env.native.start_pool(4, 2)
    env.reset(0)
    for _ in range(2000):
        env.native.post_step(0, 0, 0)
        env.native.post_step(1, 0, 0)
        env.native.wait()
        env.native.wait()
    log = env.drain_log()
    assert log["overlaps"] == 0
    assert log["n"] == 2000 * 8
    env.close()


def test_no_wake_up_is_lost_in_20000_posts(dummy):
    env = dummy(num_envs=6)
    env.native.start_pool(3, 3)
    env.reset(0)
    for post in range(20_000):
        env.native.post_step(post % 3, 0, 0)
        if post % 200 == 0:
            time.sleep(0.0005)  # long enough for every thread to park
        assert env.native.wait() == post % 3
    env.close()


def test_finished_groups_are_handed_over_first_come_first_served(dummy):
    env = dummy(num_envs=3)
    env.native.start_pool(3, 3)
    env.reset(0)
    for group in (2, 0, 1):
        env.native.post_step(group, 0, 0)
        while env.observations[group, 0] == 0:
            time.sleep(0.001)
        time.sleep(0.005)
    assert [env.native.wait() for _ in range(3)] == [2, 0, 1]
    env.close()


def test_posted_work_goes_on_while_the_caller_does_other_things(dummy):
    env = dummy(num_envs=4)
    env.native.start_pool(2, 1)
    env.reset(0)
    env.native.post_step(0, 0, 0)
    deadline = time.monotonic() + 10
    while (env.observations[:, 0] != 1).any() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert (env.observations[:, 0] == 1).all()  # and nobody called wait
    env.native.wait()
    env.close()


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("split", [1, "workers"])
def test_same_bits_as_serial(dummy, workers, split):
    def maker(num_envs):
        return dummy(num_envs=num_envs, rows=3, max_steps=7)

    batch = WORLDS if split == 1 else WORLDS // workers
    serial = make_vec(maker, num_envs=WORLDS, num_workers=1, backend="serial")
    maker.is_native = True
    threads = make_vec(maker, num_envs=WORLDS, num_workers=workers, batch_size=batch, backend="threads")
    assert all(np.array_equal(a, b) for a, b in zip(trace(serial), trace(threads), strict=True))
    assert serial.drain_log() == threads.drain_log()
    serial.close()
    threads.close()


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_refused_actions_leave_everything_as_it_was(dummy, backend):
    vec = make_vec(partial(dummy, check_actions=True), num_envs=4, num_workers=2, batch_size=2, backend=backend, in_order=True)
    vec.reset(seed=0)
    bad = np.array([0, 0, 0, 4], np.int32)
    with pytest.raises(ActionError, match="row 3"):
        vec.step(bad)
    assert (vec.step(np.zeros(4, np.int32))[0][:, 0] == 1).all()
    vec.async_reset(seed=0)
    assert vec.recv().rows == slice(0, 2)
    assert vec.recv().rows == slice(2, 4)
    vec.send(bad[:2])
    with pytest.raises(ActionError, match="row 3"):
        vec.send(bad[2:])
    vec.send(np.zeros(2, np.int32))
    assert [vec.recv().observations[:, 0].tolist() for _ in range(2)] == [[1, 1], [1, 1]]
    vec.close()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_an_interrupted_wait_loses_no_group(dummy, monkeypatch):
    vec = make_vec(partial(dummy, work=20_000_000), num_envs=2, num_workers=2, backend="threads")
    vec.reset(seed=0)

    def interrupt(signum, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        with pytest.raises(KeyboardInterrupt):
            vec.step(np.zeros(2, np.int32))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert (vec.reset(seed=0)[0][:, 0] == 0).all()
    vec.close()


@pytest.mark.parametrize("busy", [False, True])
def test_close_joins_the_threads(dummy, busy):
    env = dummy(num_envs=4, work=3_000_000)
    env.native.start_pool(4, 2)
    env.reset(0)
    if busy:
        env.native.post_step(0, 0, 0)
        env.native.post_step(1, 0, 0)
    env.close()
    env.close()
    with pytest.raises(ClosedError, match="closed"):
        env.step(env.actions)


def test_slots_are_written_where_they_were_asked_for(dummy):
    env = dummy(num_envs=6, rows=2)
    storage = Buffers.allocate(env.single_observation_space, env.single_action_space, 5, env.num_agents)
    storage.actions[:] = np.arange(5)[:, None] % 4
    env.bind_slots(storage, 5)
    env.native.start_pool(3, 3)
    env.reset(0)
    order = [(0, 0, 3), (1, 0, 2), (2, 0, 4), (0, 3, 1), (2, 4, 4), (1, 2, 0)]
    for group, source, target in order:
        before = storage.observations.copy()
        env.native.post_step(group, target, source)
        env.native.wait(group)
        rows = slice(group * 4, group * 4 + 4)
        assert (storage.observations[target, rows, 2] == source % 4).all()
        assert (storage.rewards[target, rows] == source % 4).all()
        before[target, rows] = storage.observations[target, rows]
        assert np.array_equal(before, storage.observations)
    env.close()


def test_canaries_around_the_rows_survive(dummy):
    env = dummy(num_envs=6, rows=2, with_mask=True, max_steps=3)
    rows = env.num_agents
    outer = Buffers.allocate(env.single_observation_space, env.single_action_space, rows + 2, action_mask_size=4)
    arrays = {f.name: getattr(outer, f.name) for f in fields(outer)}
    for array in arrays.values():
        array.view(np.uint8)[:] = 0xA5 if array.dtype != np.bool_ else 1
    inner = outer[1:-1]
    inner.actions[:] = 3
    env.bind(inner)
    env.native.start_pool(3, 1)
    env.reset(0)
    for _ in range(10):
        env.step(env.actions)
    for name, array in arrays.items():
        edge = array[[0, -1]].view(np.uint8)
        assert (edge == (0xA5 if array.dtype != np.bool_ else 1)).all(), name
    assert (inner.observations[:, 0] == 10).all()
    env.close()


@pytest.mark.parametrize(
    "name", ["observations", "actions", "rewards", "terminals", "truncations", "masks", "final_observations"]
)
def test_arrays_of_a_wrong_size_or_dtype_are_refused(dummy, name):
    env = dummy(num_envs=4)
    good = Buffers.allocate(env.single_observation_space, env.single_action_space, 4)
    parts = {f.name: getattr(good, f.name) for f in fields(good)}
    array = parts[name]
    for bad in (array[:3], array.astype(np.float64), np.repeat(array, 2, axis=0)[::2]):
        with pytest.raises(ShapeError, match=name):
            env.bind(Buffers(**{**parts, name: bad}))
    frozen = array.copy()
    frozen.flags.writeable = False
    if name != "actions":
        with pytest.raises(ShapeError, match=name):
            env.bind(Buffers(**{**parts, name: frozen}))
    env.reset(0)
    env.step(np.zeros(4, np.int32))
    assert (env.observations[:, 0] == 1).all()


def test_misuse_is_refused_not_crashed(dummy):
    env = dummy(num_envs=6)
    with pytest.raises(EnvError, match="reset"):
        env.step(env.actions)
    with pytest.raises(EnvError, match="start_pool"):
        env.native.wait()
    env.reset(0)
    for workers, groups in ((0, 1), (4, 1), (3, 2), (2, 0)):
        with pytest.raises(ConfigError, match="divide"):
            env.native.start_pool(workers, groups)
    env.native.start_pool(2, 2)
    with pytest.raises(EnvError, match="not in flight"):
        env.native.wait()
    with pytest.raises(EnvError, match="group 2"):
        env.native.post_step(2, 0, 0)
    with pytest.raises(ShapeError, match="slot 1"):
        env.native.post_step(0, 1, 0)
    env.native.post_step(0, 0, 0)
    with pytest.raises(EnvError, match="in flight"):
        env.native.post_step(0, 0, 0)
    with pytest.raises(EnvError, match="in flight"):
        env.step(env.actions)
    env.native.wait(0)
    with pytest.raises(ConfigError, match="world"):
        env.world_bytes(6)
    env.close()


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_a_forked_child_gets_an_error_and_does_not_hang(dummy, stranger):
    script = f"""
import os, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {str(stranger)!r})
from stranger_games.dummy import Dummy
from pufferlib.errors import EnvError
env = Dummy(num_envs=4)
env.native.start_pool(2, 1)
env.reset(0)
child = os.fork()
try:
    env.step(env.actions)
    outcome = 0
except EnvError:
    outcome = 7
env.close()
if child == 0:
    os._exit(outcome)
_, status = os.waitpid(child, 0)
sys.exit(outcome * 16 + os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 7
