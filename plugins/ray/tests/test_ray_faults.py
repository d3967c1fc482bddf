"""Actors whose env raises, which die, hang or lose their machine; and such that are replaced."""

import os
import time

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ClosedError, PluginError, WorkerError, WorkerTimeoutError
from pufferlib_ray import cluster as connection
from pufferlib_ray import crew

ACTIONS = np.zeros(4, int)
PLACE = r"pid \d+ on node [0-9a-f]{8} at [0-9.]+"


def run(vec, steps=5):
    vec.reset(seed=0)
    for _ in range(steps):
        vec.step(ACTIONS)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            "init",
            rf"^envs 2-3 \(worker 1, {PLACE}\) raised NeedsTwo: no/licence in __init__\(\); its trace.*\n(.*\n)*.*in __init__",
        ),
        ("raise", rf"^env 2 \(worker 1, {PLACE}\) raised NeedsTwo: speed/3 in step\(\); its traceback follows\n(.*\n)*.*in step"),
        ("info", rf"^env 2 \(worker 1, {PLACE}\) returned an info that cannot be sent.*hook"),
        ("sigkill", rf"^worker 1 \({PLACE}, envs 2-3\) was lost in step\(\): ActorDiedError: .*worker process has died"),
        ("exit", rf"^worker 1 \({PLACE}, envs 2-3\) was lost in step\(\): ActorDiedError: .*worker process has died"),
        ("hang", rf"^worker 1 \({PLACE}, envs 2-3\) has not answered for 2 seconds, in step\(\) \(hang_timeout_s=2\)"),
    ],
)
def test_what_goes_wrong_is_told_with_env_worker_node_and_cause_within_10_s(ticking, failing, on_ray, how, words):
    vecs, begin = [], time.monotonic()

    def live():
        vecs.append(on_ray([ticking, ticking, failing(how=how), ticking], hang_timeout_s=2 if how == "hang" else None))
        nonlocal begin
        begin = time.monotonic()
        run(vecs[0])

    with pytest.raises(WorkerTimeoutError if how == "hang" else WorkerError, match=words):
        live()
    assert time.monotonic() - begin < (20 if how == "init" else 10), "starting a process on a busy machine takes its time"
    for vec in vecs:
        with pytest.raises(ClosedError, match=r"closed since (env|worker)"):
            vec.step(ACTIONS)


def test_with_batches_of_one_env_a_lost_worker_is_found_while_the_others_go_on(ticking, failing, on_ray):
    vec = on_ray([ticking, failing(how="sigkill")], num_envs=2, batch_size=1)
    vec.async_reset(seed=0)
    begin = time.monotonic()

    def go_on():
        while time.monotonic() - begin < 20:
            vec.recv()
            vec.send([0])

    with pytest.raises(WorkerError, match=r"worker 1 .*env 1\) was lost in step"):
        go_on()
    assert time.monotonic() - begin < 10


def test_what_close_raises_is_a_warning(ticking, failing, on_ray):
    vec = on_ray([ticking, ticking, ticking, failing(how="close")])
    with pytest.warns(RuntimeWarning, match=rf"env 3 .*{PLACE}.*NeedsTwo: close/1"):
        vec.close()


@pytest.mark.parametrize("how", ["raise", "sigkill", "hang"])
def test_a_replaced_worker_goes_on_with_its_rows_truncated(ticking, failing, on_ray, tmp_path, how):
    bad = failing(how=how, once=str(tmp_path / "once"), horizon=100)
    vec = on_ray([ticking, ticking, bad, ticking], hang_timeout_s=2 if how == "hang" else None, restart_workers=True)
    vec.reset(seed=0)
    vec.step(ACTIONS)
    before = vec.step(ACTIONS)[0].copy()
    with pytest.warns(RuntimeWarning, match=r"worker 1.*restarting this worker"):
        observations, rewards, terminals, truncations, _ = vec.step(ACTIONS)
    assert observations[:, 0].tolist() == [3, 3, 0, 0] and rewards.tolist() == [1, 1, 0, 0]
    assert truncations.tolist() == [False, False, True, True] and not terminals.any()
    assert vec.storage.masks[0].tolist() == [True, True, False, False]
    assert np.array_equal(vec.storage.final_observations[0, 2:], before[2:])
    assert vec.step(ACTIONS)[0][:, 0].tolist() == [4, 4, 1, 1]
    assert vec.drain_log() == {"worker_restarts": 1.0, "n": 0.0}


def test_a_replacement_that_fails_at_once_is_an_error(ticking, failing, on_ray):
    class Broken(ticking):
        def step(self, action):
            raise KeyError("speed")

    vec = on_ray([ticking, ticking, ticking, Broken], restart_workers=True)
    with pytest.warns(RuntimeWarning, match="restarting"), pytest.raises(WorkerError, match=r"env 3 .*KeyError: 'speed'"):
        run(vec)


def test_a_lost_node_is_told_and_its_workers_move_where_there_is_room(ticking, on_ray, cluster):
    first = cluster.add_node(num_cpus=0, resources={"seat": 2}, object_store_memory=100_000_000)
    plain = on_ray(ticking, num_envs=1, num_workers=1, resources_per_worker={"seat": 1})
    second = cluster.add_node(num_cpus=0, resources={"seat": 2}, object_store_memory=100_000_000)
    cluster.wait_for_nodes()
    moving = on_ray(ticking, resources_per_worker={"seat": 1}, restart_workers=True, start_timeout_s=30)
    assert {hand.where.node for hand in moving._crew.hands} <= {first.node_id, second.node_id}
    plain.reset(seed=0)
    moving.reset(seed=0)
    begin = time.monotonic()
    cluster.remove_node(first, allow_graceful=False)

    def go_on():  # a worker lives a moment longer than its node's daemon
        while time.monotonic() - begin < 20:
            plain.step([0])
            time.sleep(0.05)

    with pytest.raises(WorkerError, match=rf"worker 0 \({PLACE}, env 0\) was lost in step\(\): its node {first.node_id[:8]} at"):
        go_on()
    assert time.monotonic() - begin < 10
    with pytest.warns(RuntimeWarning, match=f"its node {first.node_id[:8]} at .*; restarting this worker"):
        truncations = moving.step(ACTIONS)[3]
    assert truncations.sum() == 2 and {hand.where.node for hand in moving._crew.hands} == {second.node_id}
    moving.close()
    cluster.remove_node(second, allow_graceful=False)
    cluster.wait_for_nodes()  # for half a minute Ray counts a node that went without a word as alive


def test_a_machine_that_answers_nobody_is_told_before_ray_knows(ticking, on_ray):
    class Slow(ticking):
        def step(self, action):
            time.sleep(30)

    vec = on_ray(Slow, num_envs=2, num_workers=2)
    vec.reset(seed=0)
    vec._crew.hands[1].raylet = ("127.0.0.1", 1)  # as after a power cut: nothing is told, and nobody answers there
    begin = time.monotonic()
    with pytest.raises(
        WorkerError, match=r"worker 1 .*was lost in step\(\): its node [0-9a-f]{8} at .* does not answer any more"
    ):
        vec.step([0, 0])
    assert crew.PROBE_AFTER_S < time.monotonic() - begin < 10


def test_an_idle_actor_that_dies_is_told_in_the_next_step(telling, on_ray):
    vec = on_ray(telling)
    vec.reset(seed=0)
    pid = int(vec.step(ACTIONS)[4]["pid"][3])
    os.kill(pid, 9)
    with pytest.raises(WorkerError, match=rf"worker 1 \(pid {pid} on node .*envs 2-3\) was lost in step"):
        vec.step(ACTIONS)


def test_a_module_that_a_node_lacks_is_named(ticking, on_ray, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("import gymnasium\nclass Env(gymnasium.Env):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with pytest.raises(WorkerError, match=r"worker [01].*ModuleNotFoundError: No module named 'only_here' in __init__"):
        on_ray(only_here.Env)


def test_a_missing_ray_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(PluginError, match=r"pip install 'pufferlib\[ray\]'"):
        pufferlib.make("gym-CartPole-v1", backend="ray")
    assert connection.check_resources({"CPU": 0, "GPU": 1}) == {"GPU": 1.0}
