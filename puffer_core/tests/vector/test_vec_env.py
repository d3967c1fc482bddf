"""The contract of VecEnv, on the serial back end with a batch env that counts."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib.env import PufferEnv
from pufferlib.errors import ClosedError, ConfigError, OrderError, ShapeError
from pufferlib.vector import VecEnv, make_vec

HORIZON = 3


class Counters(PufferEnv):
    """Row k of env e observes (e's seed, steps); the reward is the action; truncated after HORIZON steps."""

    agents = 1
    action = spaces.Discrete(5)

    def __init__(self, num_envs=1, buf=None):
        self.single_observation_space = spaces.Box(0, 2**31, (2,), np.float64)
        self.single_action_space = self.action
        self.num_envs, self.num_agents = num_envs, num_envs * self.agents
        self.closed = 0
        super().__init__(buf)

    def reset(self, seed=None):
        if seed is not None:
            self.seeds = np.repeat(seed, self.agents)
        self.t = np.zeros(self.num_agents)
        self.rewards[:] = 0
        self.terminals[:] = self.truncations[:] = False
        self.write(self.observations)
        return self.observations, []

    def step(self, actions):
        self.t += 1
        self.rewards[:] = actions if actions.ndim == 1 else actions.sum(axis=1)
        self.terminals[:] = False
        self.truncations[:] = self.t == HORIZON
        self.final_observations[self.truncations, 0] = self.seeds[self.truncations]
        self.final_observations[self.truncations, 1] = HORIZON
        self.t[self.t == HORIZON] = 0
        self.write(self.observations)
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def write(self, place):
        place[:, 0], place[:, 1] = self.seeds, self.t

    def close(self):
        self.closed += 1


class Pairs(Counters):
    agents = 2


class Continuous(Counters):
    action = spaces.Box(-1, 1, (2,), np.float32)


class Choices(Counters):
    action = spaces.MultiDiscrete([3, 4])


def test_it_is_gymnasiums_vector_env():
    vec = make_vec(Counters, num_envs=4)
    assert isinstance(vec, gymnasium.vector.VectorEnv) and isinstance(vec, VecEnv)
    assert vec.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert vec.single_action_space == spaces.Discrete(5) and vec.observation_space.shape == (4, 2)
    observations, infos = vec.reset(seed=3)
    assert observations.shape == (4, 2) and infos == {}
    assert vec.action_space.contains(vec.action_space.sample())
    observations, rewards, terminations, truncations, infos = vec.step(np.arange(4))
    assert rewards.tolist() == [0, 1, 2, 3] and rewards.dtype == np.float32 and infos == {}
    assert terminations.dtype == truncations.dtype == np.bool_ and (observations[:, 1] == 1).all()


def test_the_last_observation_stands_in_final_obs():
    vec = make_vec(Counters, num_envs=2)
    vec.reset(seed=0)
    for _ in range(HORIZON):
        observations, _, _, truncations, infos = vec.step(np.zeros(2, int))
    assert truncations.all() and (observations[:, 1] == 0).all(), "the next episode's first observation"
    assert (infos["final_obs"][:, 1] == HORIZON).all() and infos["_final_obs"].all()
    assert vec.step(np.zeros(2, int))[4] == {}


def test_gymnasiums_wrappers_and_statistics_run_on_it():
    vec = gymnasium.wrappers.vector.RecordEpisodeStatistics(make_vec(Counters, num_envs=2))
    vec.reset(seed=0)
    for _ in range(HORIZON):
        infos = vec.step(np.array([1, 2]))[4]
    assert infos["episode"]["r"].tolist() == [3, 6] and infos["episode"]["l"].tolist() == [3, 3]


def test_a_rollout_lies_in_the_slots():
    vec = make_vec(Counters, num_envs=2)
    storage = vec.allocate(HORIZON + 1)
    vec.async_reset(seed=0)
    for t in range(HORIZON):
        assert (vec.recv().observations[:, 1] == t).all()
        vec.send(np.array([t, t + 1]), slot=t + 1)
    vec.recv()
    assert storage.observations[:, 0, 1].tolist() == [0, 1, 2, 0]
    assert storage.actions[:HORIZON].tolist() == [[0, 1], [1, 2], [2, 3]], "slot t: what was done at observation t"
    assert storage.rewards[1:].tolist() == [[0, 1], [1, 2], [2, 3]], "slot t + 1: what action t brought"
    assert storage.truncations[:, 0].tolist() == [False, False, False, True]
    assert storage.final_observations[HORIZON, :, 1].tolist() == [HORIZON, HORIZON]


def test_actions_written_into_the_storage_are_not_copied():
    vec = make_vec(Counters, num_envs=2)
    storage = vec.allocate(2)
    vec.async_reset(seed=0)
    vec.recv()
    storage.actions[0] = [3, 4]
    vec.send(storage.actions[0], slot=1)
    assert vec.recv().rewards.tolist() == [3, 4]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), workers=st.sampled_from([1, 2, 3, 4, 6]), agents=st.sampled_from([Counters, Pairs]))
def test_every_row_is_handed_over_exactly_once_per_step(data, workers, agents):
    batch = data.draw(st.sampled_from([b for b in (1, 2, 3, 4, 6, 12) if b % (12 // workers) == 0]))
    in_order = data.draw(st.booleans())
    vec = make_vec(agents, num_envs=12, num_workers=workers, batch_size=batch, in_order=in_order, backend="serial")
    assert vec.agents_per_batch * vec.num_batches == vec.num_agents
    vec.async_reset(seed=1)
    for _ in range(3):
        seen = np.zeros(vec.num_agents, int)
        for _ in range(vec.num_batches):
            received = vec.recv()
            assert len(received.observations) == vec.agents_per_batch
            seen[received.rows] += 1
            vec.send(np.zeros(vec.agents_per_batch, int))
        assert (seen == 1).all()
    vec.close()


@pytest.mark.parametrize(
    "counts", [{}, {"num_workers": 4}, {"num_workers": 4, "batch_size": 2}, {"num_workers": 2, "batch_size": 4}]
)
def test_the_same_bits_however_the_envs_are_split(counts):
    vec = make_vec(Pairs, num_envs=8, backend="serial", **counts)
    reference = make_vec(Pairs, num_envs=8)
    rng = np.random.default_rng(0)
    assert np.array_equal(vec.reset(seed=5)[0], reference.reset(seed=5)[0])
    for _ in range(7):
        actions = rng.integers(0, 5, 16)
        for ours, theirs in zip(vec.step(actions)[:4], reference.step(actions)[:4], strict=True):
            assert np.array_equal(ours, theirs)


def test_several_batches_may_be_held_and_are_answered_in_turn():
    vec = make_vec(Counters, num_envs=4, num_workers=2, batch_size=2, backend="serial")
    vec.async_reset(seed=0)
    first, second = vec.recv(), vec.recv()
    vec.send([1, 1])
    vec.send([2, 2])
    assert (first.rows, second.rows) == (slice(0, 2), slice(2, 4))
    assert vec.recv().rewards.tolist() == [1, 1] and vec.recv().rewards.tolist() == [2, 2]


def test_synchronous_and_asynchronous_calls_mix():
    vec = make_vec(Counters, num_envs=4, num_workers=2, batch_size=2, backend="serial")
    vec.reset(seed=0)
    vec.send([1, 1])
    with pytest.raises(OrderError, match="on their way"):
        vec.step([0, 0, 0, 0])
    vec.recv()
    assert vec.step([1, 2, 3, 4])[1].tolist() == [1, 2, 3, 4]
    vec.send([0, 0])
    assert vec.reset()[0].shape == (4, 2), "a reset waits for what is on its way"


def test_seeds_come_from_the_reset_else_from_make_and_go_on_without():
    vec = make_vec(Counters, num_envs=3, seed=9)
    seeded = vec.reset()[0].copy()
    assert np.array_equal(seeded, make_vec(Counters, num_envs=3).reset(seed=9)[0])
    assert np.array_equal(vec.reset()[0], seeded), "no seed: the env keeps its generators (here: its seed)"
    assert not np.array_equal(vec.reset(seed=0)[0], seeded)
    assert vec.reset(seed=[4, 5, 6])[0][:, 0].tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("maker", "actions", "words"),
    [
        (Counters, [0, 1, 2], "shape"),
        (Counters, [[0, 1]], "shape"),
        (Counters, [0.0, 1.0], "float64"),
        (Counters, [True, False], "bool"),
        (Counters, ["0", "1"], "dtype"),
        (Counters, [0, 2**32], "do not fit"),
        (Choices, [0, 1], "shape"),
        (Continuous, [0.0, 0.0], "shape"),
        (Continuous, [[True, False]] * 2, "bool"),
        (Counters, [None, None], "object"),
    ],
)
def test_actions_that_do_not_fit_are_refused_and_nothing_is_lost(maker, actions, words):
    vec = make_vec(maker, num_envs=2)
    vec.reset(seed=0)
    with pytest.raises(ShapeError, match=words):
        vec.step(actions)
    assert (vec.step(vec.action_space.sample())[0][:, 1] == 1).all()


def test_whole_numbers_and_doubles_become_float32_for_a_box():
    vec = make_vec(Continuous, num_envs=2)
    vec.reset(seed=0)
    assert vec.step(np.array([[1, 0], [0, 0]]))[1].tolist() == [1, 0]
    assert vec.step(np.array([[0.5, 0.25], [0, 0]]))[1].tolist() == [0.75, 0]


def test_send_answers_the_batch_whose_rows_it_names():
    vec = make_vec(Counters, num_envs=4, num_workers=2, batch_size=2, backend="serial")
    vec.async_reset(seed=0)
    first, second = vec.recv().rows, vec.recv().rows
    vec.send([0, 0], rows=second)
    assert vec.recv().rows == second, "the first one still waits"
    with pytest.raises(OrderError, match=r"slice\(1, 3"):
        vec.send([0, 0], rows=slice(1, 3))
    vec.send([0, 0], rows=first)
    with pytest.raises(OrderError, match=rf"{second.start}, {second.stop}"):
        vec.send([0, 0], rows=first)


def test_calls_in_an_order_that_cannot_work_say_what_to_do():
    vec = make_vec(Counters, num_envs=2)
    with pytest.raises(OrderError, match=r"reset\(\) first"):
        vec.step([0, 0])
    with pytest.raises(OrderError, match=r"async_reset\(\) first"):
        vec.recv()
    with pytest.raises(OrderError, match=r"recv\(\) first"):
        vec.send([0, 0])
    vec.async_reset(seed=0)
    vec.recv()
    with pytest.raises(OrderError, match=r"send\(\)"):
        vec.recv()
    with pytest.raises(ConfigError, match=r"slot must be in \[0, 0\]"):
        vec.send([0, 0], slot=1)
    with pytest.raises(ConfigError, match="slots"):
        vec.allocate(0)


@pytest.mark.parametrize("before", [[], ["reset"], ["async_reset"], ["reset", "send"]])
def test_close_may_come_at_any_time_and_again(before):
    vec = make_vec(Counters, num_envs=2)
    for call in before:
        getattr(vec, call)(*([[0, 0]] if call == "send" else []))
    vec.close()
    vec.close()
    assert vec.is_closed and vec._envs[0].closed == 1
    calls = [
        vec.reset,
        vec.recv,
        vec.async_reset,
        vec.render,
        lambda: vec.step([0, 0]),
        lambda: vec.send([0, 0]),
        lambda: vec.allocate(2),
    ]
    for call in calls:
        with pytest.raises(ClosedError, match="closed"):
            call()


def test_a_step_that_raises_leaves_a_vec_that_can_be_reset():
    class Fails(Counters):
        fail = False

        def step(self, actions):
            if self.fail:
                raise ZeroDivisionError("boom")
            return super().step(actions)

    vec = make_vec(Fails, num_envs=2)
    vec.reset(seed=0)
    Fails.fail = True
    with pytest.raises(ZeroDivisionError):
        vec.step([0, 0])
    Fails.fail = False
    with pytest.raises(OrderError, match="reset"):
        vec.step([0, 0])
    assert vec.reset(seed=0)[0].shape == (2, 2)


def test_an_unknown_back_end_names_those_there_are():
    with pytest.raises(ConfigError, match=r"backend='procesess'.*serial.*threads"):
        make_vec(Counters, num_envs=2, backend="procesess")


def test_threads_are_for_native_envs():
    with pytest.raises(ConfigError, match=r"backend='threads'.*native"):
        make_vec(Counters, num_envs=2, backend="threads")


def test_counts_are_checked_before_any_env_is_made():
    made = []
    with pytest.raises(ConfigError):
        make_vec(lambda **kwargs: made.append(kwargs), num_envs=5, num_workers=2)
    assert not made


def test_a_maker_that_fails_for_the_second_batch_closes_the_first():
    made = []

    def maker(num_envs):
        if made:
            raise RuntimeError("no more")
        made.append(Counters(num_envs))
        return made[0]

    with pytest.raises(RuntimeError, match="no more"):
        make_vec(maker, num_envs=4, num_workers=2, batch_size=2, backend="serial")
    assert made[0].closed == 1
