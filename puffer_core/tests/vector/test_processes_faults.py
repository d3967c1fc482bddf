"""Cases S15 and S16: envs that raise, workers that end, are killed or never answer; and workers that are replaced."""

import functools
import multiprocessing
import os
import threading
import time
import warnings

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ClosedError, EnvTypeError, NonFiniteEnvError, WorkerError, WorkerTimeoutError
from pufferlib.vector import crew
from pufferlib.vector import processes as back_end

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="envs defined in tests reach workers by fork only")
ACTIONS = np.zeros(4, int)


def run(vec, steps=5):
    vec.reset(seed=0)
    for _ in range(steps):
        vec.step(ACTIONS)


# ---------------------------------------------------------------- S15


@pytest.mark.parametrize("counts", [(4, 4), (2, 2)], ids=str)
@pytest.mark.parametrize("error", [ZeroDivisionError, "needs two"], ids=str)
@pytest.mark.parametrize("where", ["init", "reset", "step"])
def test_what_an_env_raises_is_told_with_env_worker_type_text_and_traceback(
    ticking, boom, needs_two, processes, children, where, error, counts
):
    kind = needs_two if error == "needs two" else error
    before, begin = children(), time.monotonic()
    bad = functools.partial(boom, where=where, error=kind)
    with pytest.raises(WorkerError) as told:
        run(processes([ticking, ticking, bad, ticking], num_workers=counts[0], batch_size=counts[1]))
    text = str(told.value)
    message = f"boom/{where}" if error == "needs two" else f"boom in {where}"
    worker = 2 if counts[0] == 4 else 1
    named = f"envs 2-3 (worker {worker}" if where == "init" and counts[0] == 2 else f"env 2 (worker {worker}"
    assert text.startswith(named) and f"{kind.__name__}: {message}" in text and "in maybe\n" in text
    assert time.monotonic() - begin < 10 and set(children()) <= set(before), "the other workers have ended too"


def test_the_second_env_of_a_worker_is_named_when_it_cannot_be_built(ticking, boom, processes):
    with pytest.raises(WorkerError, match=r"env 3 \(worker 1, pid \d+\) raised ZeroDivisionError"):
        processes([ticking, ticking, ticking, functools.partial(boom, where="init")])


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_what_close_raises_is_a_warning_and_the_others_are_closed(ticking, boom, children, tmp_path, backend):
    class Noting(ticking):
        def close(self):
            (tmp_path / str(self.name)).touch()

    before = children()
    bad = functools.partial(boom, where="close")
    envs = [bad, *(functools.partial(Noting, name=name) for name in "abc")]
    vec = pufferlib.emulate(envs, num_workers=2, batch_size=2, backend=backend)
    vec.reset(seed=0)
    with pytest.warns(RuntimeWarning, match=r"env 0 .*ZeroDivisionError: boom in close"):
        vec.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"] and set(children()) <= set(before)


def test_errors_of_the_adapter_keep_their_type(ticking, processes):
    class NoReward(ticking):
        def step(self, action):
            return (*super().step(action)[:1], None, False, False, {})

    class NotANumber(ticking):
        def obs(self):
            return np.array([np.nan if self.t else 0, 0], np.float32)

    for env, kind, word in ((NoReward, EnvTypeError, "reward"), (NotANumber, NonFiniteEnvError, "NaN")):
        with pytest.raises(kind, match=rf"env 1 \(worker 0, pid \d+\) returned.*{word}"):
            run(processes([ticking, env, ticking, ticking]))


def test_after_a_failure_the_vec_is_closed_and_says_why(boom, processes):
    vec = processes(boom)
    with pytest.raises(WorkerError):
        run(vec)
    with pytest.raises(ClosedError, match=r"closed since env \d \(worker.*ZeroDivisionError"):
        vec.step(ACTIONS)
    begin = time.monotonic()
    vec.close()
    assert time.monotonic() - begin < 10


def test_a_failure_is_raised_while_another_worker_is_still_busy(ticking, processes):
    class Slow(ticking):
        def step(self, action):
            time.sleep(20)

    class Fails(ticking):
        def step(self, action):
            raise KeyError("speed")

    vec = processes([Slow, Fails], num_envs=2, num_workers=2)
    vec.reset(seed=0)
    begin = time.monotonic()
    with pytest.raises(WorkerError, match=r"env 1 .*KeyError: 'speed'"):
        vec.step([0, 0])
    assert time.monotonic() - begin < 10


def test_sys_exit_in_an_env_is_told_like_any_exception(ticking, processes):
    class Leaves(ticking):
        def step(self, action):
            raise SystemExit("no licence")

    with pytest.raises(WorkerError, match=r"env \d.*SystemExit: no licence"):
        run(processes(Leaves, num_workers=4))


def test_running_out_of_memory_is_told(ticking, processes):
    class Greedy(ticking):
        def step(self, action):
            np.zeros(1 << 60, np.uint8)

    with pytest.raises(WorkerError, match=r"env 0.*MemoryError"):
        run(processes(Greedy, num_workers=1))


# ---------------------------------------------------------------- S16


@pytest.mark.parametrize("batch", [4, 1], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("how", "words"),
    [("sigkill", ["SIGKILL", "-9", "memory"]), ("exit", ["exit code 3"]), ("hang", ["has not answered", "hang_timeout_s=1"])],
)
def test_a_worker_that_is_gone_or_hangs_is_named(ticking, vanish, processes, children, how, words, batch):
    before = children()
    envs = [ticking, ticking, functools.partial(vanish, how=how), ticking]
    vec = processes(envs, num_workers=4, batch_size=batch, options={"hang_timeout_s": 1 if how == "hang" else None})
    kind = WorkerTimeoutError if how == "hang" else WorkerError
    begin = time.monotonic()

    def go_on():
        vec.async_reset(seed=0)
        while time.monotonic() - begin < 20:  # with batches of one env, the other workers go on until somebody looks
            vec.send(np.zeros(len(vec.recv().rewards), int))

    with pytest.raises(kind, match=r"worker 2 \(pid \d+, env 2\)") as told:
        go_on()
    assert time.monotonic() - begin < 10 and all(word in str(told.value) for word in words) and "in step()" in str(told.value)
    assert isinstance(told.value, TimeoutError if how == "hang" else RuntimeError)
    begin = time.monotonic()
    vec.close()
    assert time.monotonic() - begin < 10 and set(children()) <= set(before)


def test_without_a_limit_a_hang_is_a_warning(ticking, processes, monkeypatch):
    class Slow(ticking):
        def step(self, action):
            time.sleep(0.8)
            return super().step(action)

    vec = processes([ticking, Slow, ticking, ticking], num_workers=4)
    vec.reset(seed=0)
    monkeypatch.setattr(back_end, "WARN_AFTER_S", 0.3)
    with pytest.warns(RuntimeWarning, match=r"worker 1 \(pid \d+, env 1\) has not answered.*hang_timeout_s") as caught:
        rewards = vec.step(ACTIONS)[1]
    assert len(caught) == 1 and rewards.tolist() == [1] * 4
    assert crew.WARN_AFTER_S < 60


def test_a_worker_that_dies_while_nobody_looks_is_told_in_the_next_step(ticking, processes):
    class Tells(ticking):
        def info(self):
            return {"pid": os.getpid()}

    vec = processes(Tells, num_workers=2)
    vec.reset(seed=0)
    pid = int(vec.step(ACTIONS)[4]["pid"][3])
    os.kill(pid, 9)
    begin = time.monotonic()
    with pytest.raises(WorkerError, match=rf"worker 1 \(pid {pid}, envs 2-3\) was killed by SIGKILL"):
        vec.step(ACTIONS)
    assert time.monotonic() - begin < 10


def test_a_worker_that_dies_while_it_builds_is_told(ticking, processes):
    class Dies(ticking):
        def __init__(self):
            os._exit(4)

    with pytest.raises(WorkerError, match=r"worker 1 \(pid \d+, envs 2-3\) ended with exit code 4 .*__init__"):
        processes([ticking, ticking, Dies, ticking])


def test_one_that_hangs_while_it_builds_is_told(ticking, processes):
    class Hangs(ticking):
        def __init__(self):
            time.sleep(10**6)

    with pytest.raises(WorkerTimeoutError, match=r"worker 1 .*__init__"):
        processes([ticking, ticking, Hangs, ticking], options={"hang_timeout_s": 0.1})


def test_the_death_of_a_worker_is_seen_though_a_child_of_it_lives_on(ticking, processes):
    class Parent(ticking):
        def step(self, action):
            multiprocessing.get_context("fork").Process(target=time.sleep, args=(6,), daemon=True).start()
            os._exit(3)

    vec = processes([ticking, Parent], num_envs=2, num_workers=2)
    vec.reset(seed=0)
    begin = time.monotonic()
    with pytest.raises(WorkerError, match="exit code 3"):
        vec.step([0, 0])
    assert time.monotonic() - begin < 10


def test_a_hanging_worker_does_not_keep_close_waiting(ticking, vanish, processes, children):
    before = children()
    vec = processes(functools.partial(vanish, how="hang"))
    vec.reset(seed=0)
    vec.step(ACTIONS)
    vec.step(ACTIONS)
    vec.send(ACTIONS)
    begin = time.monotonic()
    vec.close()
    assert time.monotonic() - begin < 10 and set(children()) <= set(before)


def test_workers_outlive_the_thread_that_made_them(ticking):
    made = []
    thread = threading.Thread(
        target=lambda: made.append(pufferlib.emulate(ticking, num_envs=2, num_workers=2, backend="processes"))
    )
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert made[0].reset(seed=0)[0].shape == (2, 2) and made[0].step([0, 0])[1].tolist() == [1, 1]
    made[0].close()


# ---------------------------------------------------------------- replacement


@pytest.mark.parametrize("batch", [4, 2], ids=["sync", "async"])
@pytest.mark.parametrize("how", ["sigkill", "exit", "hang", "raise"])
def test_a_lost_worker_is_replaced_and_its_rows_are_truncated(ticking, vanish, processes, tmp_path, how, batch):
    once = tmp_path / "once"
    lost = functools.partial(vanish, how=how, once=str(once))
    options = {"restart_workers": True, "hang_timeout_s": 1.0}
    vec = processes([ticking, ticking, lost, ticking], batch_size=batch, options=options)
    vec.reset(seed=0)
    for _ in range(2):
        before = vec.step(ACTIONS)[0].copy()
    with pytest.warns(RuntimeWarning, match=r"worker 1.*restarting"):
        observations, rewards, terminals, truncations, infos = vec.step(ACTIONS)
    assert truncations.tolist() == [False, False, True, True] and not terminals.any() and rewards.tolist() == [1, 1, 0, 0]
    assert vec.storage.masks[0].tolist() == [True, True, False, False]
    assert np.array_equal(infos["final_obs"][2:], before[2:]) and observations[:, 0].tolist() == [3, 3, 0, 0]
    assert len(set(observations[2:, 1])) == 2, "the new envs have seeds of their own"
    assert vec.step(ACTIONS)[0][:, 0].tolist() == [4, 4, 1, 1]
    assert vec.storage.masks.all() and vec.drain_log()["worker_restarts"] == 1
    for _ in range(4):
        vec.step(ACTIONS)
    log = vec.drain_log()
    assert log["worker_restarts"] == 1 and log["n"] == 4


def test_a_worker_lost_in_a_slot_of_a_rollout_leaves_the_other_slots_alone(ticking, vanish, processes, tmp_path):
    lost = functools.partial(vanish, once=str(tmp_path / "once"))
    vec = processes([ticking, lost], num_envs=2, num_workers=2, options={"restart_workers": True})
    storage = vec.allocate(5)
    vec.async_reset(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in range(1, 5):
            vec.recv()
            vec.send([0, 0], slot=t)
        vec.recv()
    assert storage.observations[:, 1, 0].tolist() == [0, 1, 2, 0, 1]
    assert storage.truncations[:, 1].tolist() == [False, False, False, True, False]
    assert storage.final_observations[3, 1].tolist() == storage.observations[2, 1].tolist()
    assert storage.observations[:, 0, 0].tolist() == [0, 1, 2, 3, 4]


def test_a_worker_lost_in_reset_is_replaced_with_the_same_seeds(ticking, processes, tmp_path):
    class LostInReset(ticking):
        def reset(self, **arguments):
            if not (tmp_path / "once").exists():
                (tmp_path / "once").touch()
                os._exit(5)
            return super().reset(**arguments)

    vec = processes([ticking, ticking, LostInReset, ticking], options={"restart_workers": True})
    with pytest.warns(RuntimeWarning, match="exit code 5 in reset"):
        observations = vec.reset(seed=9)[0]
    reference = pufferlib.emulate(ticking, num_envs=4, backend="serial").reset(seed=9)[0]
    assert np.array_equal(observations, reference) and not vec.storage.truncations.any()


def test_a_replacement_that_fails_at_once_is_an_error(ticking, processes, children):
    class Hopeless(ticking):
        def step(self, action):
            raise KeyError("speed")

    before = children()
    vec = processes([ticking, Hopeless], num_envs=2, num_workers=2, options={"restart_workers": True})
    vec.reset(seed=0)
    with pytest.warns(RuntimeWarning, match="restarting"):
        vec.step([0, 0])
    with pytest.raises(WorkerError, match="KeyError: 'speed'"):
        vec.step([0, 0])
    assert set(children()) <= set(before)
