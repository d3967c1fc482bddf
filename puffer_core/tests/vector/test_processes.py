"""The processes back end: the same results as without workers, in place, in every mode."""

import functools
import os
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.emulation.stacked import Stacked
from pufferlib.env import PufferEnv
from pufferlib.errors import ActionError, ConfigError, EnvError, OrderError, SpaceError
from pufferlib.plugins import BackendSpec, Registry
from pufferlib.plugins.loader import Plugin, load_all
from pufferlib.vector import make_vec
from pufferlib.vector.processes import ProcessesVec

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="envs defined in tests reach workers by fork only")
FORK = {"start_method": "fork"}


def trace(vec, steps, seed=7):
    """Everything that `steps` steps gave, copied."""
    rng = np.random.default_rng(0)
    out = [vec.reset(seed=seed)[0].copy()]
    for _ in range(steps):
        results = vec.step(rng.integers(0, vec.single_action_space.n, vec.num_agents))
        out += [np.copy(part) for part in results[:4]] + [results[4]]
    return out


def same(ours, theirs):
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, np.ndarray) and ours.dtype != object:
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    return str(ours) == str(theirs)


# ---------------------------------------------------------------- results


@pytest.mark.parametrize("counts", [(1, 4), (2, 4), (4, 4), (2, 2), (4, 1)], ids=str)
def test_results_and_infos_are_those_of_the_serial_back_end(ticking, processes, counts):
    workers, batch = counts
    ours = trace(processes(ticking, num_workers=workers, batch_size=batch), 12)
    theirs = trace(pufferlib.emulate(ticking, num_envs=4, backend="serial"), 12)
    assert all(same(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", ["ocean-breakout", "gym-CartPole-v1"])
def test_native_and_foreign_envs_give_the_same_bits_as_serial(name):
    pytest.importorskip("pufferlib_ocean")
    vecs = [pufferlib.make(name, num_envs=6, num_workers=3, backend=backend) for backend in ("processes", "serial")]
    ours, theirs = (trace(vec, 40) for vec in vecs)
    assert all(same(a, b) for a, b in zip(ours, theirs, strict=True))
    for vec in vecs:
        vec.close()


def test_auto_takes_processes_for_python_envs_with_several_workers(ticking):
    several = pufferlib.emulate(ticking, num_envs=4, num_workers=2)
    alone = pufferlib.emulate(ticking, num_envs=4)
    assert isinstance(several, ProcessesVec) and not isinstance(alone, ProcessesVec)
    several.close()


def test_every_batch_is_handed_over_in_turn_with_in_order(ticking, processes):
    vec = processes(ticking, num_envs=6, num_workers=3, batch_size=2, in_order=True)
    vec.async_reset(seed=0)
    for turn in range(9):
        batch = vec.recv()
        assert batch.rows == slice(2 * (turn % 3), 2 * (turn % 3) + 2) and (batch.observations[:, 0] == turn // 3).all()
        vec.send(np.zeros(2, int))


def test_a_slow_worker_does_not_keep_the_others_from_being_handed_over(ticking, processes, tmp_path):
    gate = tmp_path / "gate"

    class Slow(ticking):
        def step(self, action):
            while not gate.exists():  # not a time to sleep: a busy machine may stop the other worker for seconds
                time.sleep(0.01)
            return super().step(action)

    vec = processes([Slow, ticking], num_envs=2, num_workers=2, batch_size=1, hang_timeout_s=60)
    vec.reset(seed=0)
    for _ in range(2):
        vec.send([0])
    rows = []
    for _ in range(4):
        rows.append(vec.recv().rows.start)
        vec.send([0])
    assert rows == [1, 1, 1, 1]
    gate.touch()
    while vec.recv().rows.start != 0:
        vec.send([0])


def test_surplus_envs_step_while_nobody_waits(ticking, processes):
    vec = processes(ticking, num_envs=4, num_workers=4, batch_size=1, in_order=True)
    storage = vec.allocate(2)
    vec.async_reset(seed=0)
    for _ in range(4):
        vec.recv()
        vec.send([0], slot=1)
    deadline = time.monotonic() + 10
    while not (storage.observations[1, :, 0] == 1).all():
        assert time.monotonic() < deadline, "all four have stepped, though none was received"
        time.sleep(0.01)
    assert [vec.recv().rows.start for _ in range(4)] == [0, 1, 2, 3]


def test_sync_and_async_calls_mix_and_wrong_orders_are_named(ticking, processes):
    vec = processes(ticking, batch_size=2)
    with pytest.raises(OrderError):
        vec.step([0] * 4)
    vec.reset(seed=0)
    vec.send([0, 0])
    with pytest.raises(OrderError, match="on their way"):
        vec.step([0] * 4)
    vec.recv()
    assert vec.step([0] * 4)[0][:, 0].tolist() in ([2, 2, 1, 1], [1, 1, 2, 2])
    vec.async_reset(seed=0)
    assert sorted(vec.recv().rows.start for _ in range(2)) == [0, 2]


# ---------------------------------------------------------------- memory


class Writes(PufferEnv):
    """Writes into its arrays and then sleeps, still in `step`."""

    def __init__(self, num_envs=1, buf=None):
        self.single_observation_space, self.single_action_space = spaces.Box(0, 9, (3,), np.uint8), spaces.Discrete(10)
        self.num_envs = self.num_agents = num_envs
        super().__init__(buf)

    def reset(self, seed=None):
        self.observations[:] = 1
        return self.observations, []

    def step(self, actions):
        assert not actions.flags.owndata and self.observations.base is not None
        self.observations[:] = actions[:, None]
        time.sleep(0.7)
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_what_an_env_writes_is_in_the_storage_before_its_step_is_over():
    vec = make_vec(Writes, num_envs=2, num_workers=2, backend="processes", backend_options=FORK)
    vec.reset(seed=0)
    vec.send(np.array([4, 5]))
    seen, begin = False, time.monotonic()
    while not seen and time.monotonic() - begin < 0.6:
        seen = vec.storage.observations[0, :, 0].tolist() == [4, 5]
    batch = vec.recv()
    assert seen, "no copy on the way: the parent sees the env's own writes"
    assert np.shares_memory(batch.observations, vec.storage.observations)
    vec.close()


def test_a_rollout_lies_in_the_slots_and_storage_may_be_replaced_at_any_time(ticking, processes):
    vec = processes(ticking, horizon=3, truncates=True)
    vec.reset(seed=0)
    vec.step([0] * 4)
    for slots in (4, 1, 6):
        storage = vec.allocate(slots)
        vec.async_reset(seed=0)
        for t in range(1, slots):
            assert (vec.recv().observations[:, 0] == (t - 1) % 3).all()
            vec.send(np.arange(4) % 2, slot=t)
        vec.recv()
        assert storage.observations[:, 0, 0].tolist() == [t % 3 for t in range(slots)]
        assert storage.actions[:-1, 1].tolist() == [1] * (slots - 1)
        assert storage.truncations[:, 3].tolist() == [t > 0 and t % 3 == 0 for t in range(slots)]
        assert all(storage.final_observations[t, 0, 0] == 3 for t in range(3, slots, 3))


def test_old_storage_can_be_read_after_it_was_replaced_and_after_close(ticking, processes):
    vec = processes(ticking)
    vec.reset(seed=0)
    vec.step([0] * 4)
    old = vec.storage
    vec.allocate(2)
    assert old.observations[0, :, 0].tolist() == [1] * 4
    vec.reset(seed=0)
    new = vec.storage
    vec.close()
    assert old.observations[0, :, 0].tolist() == [1] * 4 and new.observations[0, :, 0].tolist() == [0] * 4


# ---------------------------------------------------------------- infos and logs


def test_infos_larger_than_a_pipe_arrive(ticking, processes):
    class Wordy(ticking):
        def info(self):
            return {"text": "x" * 1_000_000, "t": self.t}

    vec = processes(Wordy, num_workers=2)
    vec.reset(seed=0)
    for t in range(1, 4):
        infos = vec.step([0] * 4)[4]
        assert infos["t"].tolist() == [t] * 4 and all(len(text) == 1_000_000 for text in infos["text"])
    vec.send([0] * 4)  # nobody will read what this brings


def test_an_info_that_cannot_be_sent_is_named(ticking, processes):
    class Odd(ticking):
        def info(self):
            return {"hook": lambda: None} if self.t == 2 else {}

    vec = processes([ticking, ticking, ticking, Odd])
    vec.reset(seed=0)
    vec.step([0] * 4)
    with pytest.raises(RuntimeError, match=r"env 3 \(worker 1, pid \d+\) returned an info that cannot be sent.*hook"):
        vec.step([0] * 4)


def test_logs_are_means_over_all_workers(ticking, processes):
    vec = processes([functools.partial(ticking, horizon=h) for h in (2, 3, 4, 12)], num_workers=4)
    vec.reset(seed=0)
    assert vec.drain_log() == {}
    for _ in range(12):
        vec.step([0] * 4)
    assert vec.drain_log() == {"episode_return": 48 / 14, "episode_length": 48 / 14, "n": 14.0}
    assert vec.drain_log() == {}


def test_logs_can_be_drained_while_batches_are_on_their_way(ticking, processes):
    class Says(ticking):
        def info(self):
            return {"t": self.t}

    vec = processes(Says, num_envs=4, num_workers=2, batch_size=2, in_order=True, horizon=1, info=lambda: {"t": 1})
    vec.async_reset(seed=0)
    for _ in range(2):
        vec.recv()
        vec.send([0, 0])
    assert vec.drain_log()["n"] == 4
    assert sorted(info["env_index"] for _ in range(2) for info in vec.recv().infos) == [0, 1, 2, 3]


def test_reset_options_reach_the_envs_and_frames_come_back(ticking, processes):
    class Drawn(ticking):
        render_mode = "rgb_array"

        def reset(self, *, seed=None, options=None):
            obs, _ = super().reset(seed=seed)
            return obs, {"level": options["level"]} if options else {}

        def render(self):
            return np.full((4, 5, 3), self.t, np.uint8)

    vec = processes(Drawn)
    assert vec.reset(seed=0, options={"level": 3})[1]["level"].tolist() == [3] * 4
    vec.step([0] * 4)
    assert vec.render_mode == "rgb_array" and vec.render().tolist() == np.full((4, 5, 3), 1).tolist()


# ---------------------------------------------------------------- arguments


class Still(PufferEnv):
    single_observation_space, single_action_space, num_agents = spaces.Box(0, 9, (1,), np.uint8), spaces.Discrete(2), 1

    def reset(self, seed=None):
        self.observations[:] = 7
        return self.observations, []


def test_actions_that_are_wrong_leave_the_workers_alive(ticking, processes):
    vec = processes(ticking)
    vec.reset(seed=0)
    with pytest.raises(ActionError, match="row 3"):
        vec.step([0, 0, 0, 7])
    assert vec.reset(seed=0)[0][:, 0].tolist() == [0] * 4 and vec.step([0] * 4)[1].tolist() == [1] * 4


def test_options_that_no_env_takes_leave_the_workers_alive():
    vec = make_vec(functools.partial(Stacked, Still), num_envs=4, num_workers=4, backend="processes", backend_options=FORK)
    for _ in range(3):
        with pytest.raises(ConfigError, match="options="):
            vec.reset(options={"level": 3})
        assert vec.reset(seed=0)[0].tolist() == [[7]] * 4
    vec.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": "fork"}, ["'start'", "processes", "start_method"]),
        ({"start_method": "thread"}, ["start_method", "'thread'", "spawn"]),
        ({"hang_timeout_s": 0}, ["hang_timeout_s", "0"]),
        ({"hang_timeout_s": "3"}, ["hang_timeout_s", "'3'"]),
        ({"restart_workers": 1}, ["restart_workers", "1"]),
    ],
)
def test_options_are_checked_before_anything_starts(ticking, processes, children, options, words):
    before = children()
    with pytest.raises(ConfigError) as refused:
        processes(ticking, options=options)
    assert all(word in str(refused.value) for word in words) and children() == before


def test_options_of_another_back_end_are_refused_by_name(ticking):
    with pytest.raises(ConfigError, match=r"'hang_timeout_s'\]: backend 'serial' has no such option; it has none"):
        pufferlib.emulate(ticking, backend_options={"hang_timeout_s": 3})


def test_envs_that_differ_between_workers_are_refused(ticking, processes):
    class Wider(ticking):
        observation_space = spaces.Box(0, 1, (3,), np.float32)

    with pytest.raises(SpaceError, match="worker 1's envs have observation_space"):
        processes([ticking, ticking, Wider, Wider])


def test_wrong_keyword_arguments_are_a_type_error_as_without_workers(ticking, processes):
    class Plain(ticking):
        def __init__(self, size=1):
            pass

    with pytest.raises(TypeError, match="sizes"):
        processes(Plain, sizes=2)


# ---------------------------------------------------------------- hierarchies


def test_a_worker_may_step_a_whole_vector_env(ticking):
    def maker(num_envs):
        return pufferlib.emulate(ticking, num_envs=num_envs, num_workers=2, batch_size=2, backend="processes")

    vec = make_vec(maker, num_envs=8, num_workers=2, backend="processes", backend_options=FORK)
    reference = pufferlib.emulate(ticking, num_envs=8, backend="serial")
    ours, theirs = trace(vec, 12), trace(reference, 12)
    assert all(same(a, b) for a, b in zip(ours, theirs, strict=True))
    assert vec.drain_log() == reference.drain_log()
    vec.close()


def test_a_worker_may_step_gymnasiums_own_vector_env():
    def maker(num_envs):
        return pufferlib.from_vector(gymnasium.make_vec("CartPole-v1", num_envs=num_envs))

    vec = make_vec(maker, num_envs=4, num_workers=2, backend="processes", backend_options=FORK)
    assert len(np.unique(vec.reset(seed=0)[0], axis=0)) == 4
    for _ in range(30):
        observations, rewards, *_ = vec.step(np.arange(4) % 2)
    assert observations.shape == (4, 4) and (rewards == vec.storage.masks[0]).all() and vec.drain_log()["n"] > 0
    vec.close()


def test_a_raw_vector_env_is_refused_with_advice():
    with pytest.raises(EnvError, match=r"CartPoleVectorEnv.*from_vector"):
        make_vec(lambda num_envs: gymnasium.make_vec("CartPole-v1", num_envs=num_envs), num_workers=2, num_envs=2)


# ---------------------------------------------------------------- back ends of others


class Elsewhere(ProcessesVec):
    """A back end as a plugin would bring it."""

    def __init__(self, maker, shape, *, seed=None, in_order=False, address="local"):
        self.address = address
        super().__init__(maker, shape, seed=seed, in_order=in_order)


def test_a_back_end_of_a_plugin_runs_by_its_name_with_its_own_options(ticking, monkeypatch):
    spec = BackendSpec("elsewhere", target=Elsewhere, summary="Workers somewhere else")
    found = Registry([*load_all(), Plugin("mine", "mine", records=[spec])])
    monkeypatch.setattr("pufferlib.plugins.registry", lambda: found)
    vec = pufferlib.emulate(ticking, num_envs=2, backend="elsewhere", backend_options={"address": "there"})
    assert type(vec) is Elsewhere and vec.address == "there" and vec.reset(seed=0)[0].shape == (2, 2)
    vec.close()
    with pytest.raises(ConfigError, match=r"'adress'.*'elsewhere'.*address"):
        pufferlib.emulate(ticking, backend="elsewhere", backend_options={"adress": "there"})
