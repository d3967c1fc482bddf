"""What every back end that takes Python envs promises of rewards, ends, infos and seeds: the same as one env alone."""

import random

import numpy as np
import pytest
from gymnasium import spaces

from pufferlib.errors import EnvTypeError, EnvValueError


def play(vec, steps, seed=0):
    """Copies of observations, rewards and final observations, and the infos as they were sent, of every step."""
    vec.async_reset(seed=seed)
    vec.recv()
    taken = []
    for _ in range(steps):
        vec.send(np.zeros(vec.action_space.shape, vec.action_space.dtype))
        batch = vec.recv()
        final = vec.storage.final_observations[0]
        taken.append((batch.observations.copy(), batch.rewards.copy(), final.copy(), batch.infos))
    return taken


def test_doubles_become_float32(make, counting):
    class Doubles(counting):
        observation_space = spaces.Box(-1, 1, (3,), np.float32)

        def obs(self):
            return np.array([0.1, -0.5, self.t / 10])

    observations = play(make(Doubles), 2)[1][0]
    assert observations.dtype == np.float32 and (observations == np.float32([0.1, -0.5, 0.2])).all()


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (np.bool_, [0, 1, 1]),
        (np.int8, [-128, 127, -1]),
        (np.uint16, [0, 65535, 1]),
        (np.int64, [2**53 + 1, -(2**62) - 1, 7]),
        (np.float16, [0.5, -65504, 6e-8]),
        (np.float64, [1 / 3, 1e300, -0.0]),
    ],
)
def test_plain_boxes_of_every_dtype_keep_their_bits(make, counting, dtype, values):
    limits = {"b": (0, 1), "f": (-np.inf, np.inf)}.get(np.dtype(dtype).kind) or (np.iinfo(dtype).min, np.iinfo(dtype).max)

    class Edges(counting):
        observation_space = spaces.Box(*limits, (3,), dtype)

        def obs(self):
            return np.array(values, dtype)

    observations = play(make(Edges, check="always"), 1)[0][0]
    assert observations.dtype == dtype and observations.tobytes() == np.array([values] * 4, dtype).tobytes()


@pytest.mark.parametrize("lazy", [False, True])
def test_envs_may_reuse_their_array_and_their_info(make, counting, lazy):
    class Frames:
        def __init__(self, source):
            self.source = source

        def __array__(self, dtype=None, copy=None):
            return np.array(self.source, dtype)

    class SameBuffer(counting):
        def __init__(self):
            super().__init__()
            self.buffer, self.said = np.zeros(1, np.float32), {}

        def obs(self):
            self.buffer[0] = self.t
            return Frames(self.buffer) if lazy else self.buffer

        def info(self):
            self.said["t"] = self.t
            return self.said

    steps = play(make(SameBuffer), 5)
    assert [int(observations[3, 0]) for observations, *_ in steps] == [1, 2, 3, 4, 0]
    assert (steps[4][2] == 5).all() and [info["final_info"] for info in steps[4][3]] == [{"t": 5}] * 4


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (1, 1.0),
        (np.float32(1.5), 1.5),
        (np.float64(1.5), 1.5),
        (np.array(2.0), 2.0),
        (np.array([2.5]), 2.5),
        (True, 1.0),
        (None, EnvTypeError),
        (np.ones(2), EnvValueError),
        ("1", EnvTypeError),
    ],
    ids=str,
)
def test_a_reward_is_one_number(make, counting, reward, expected):
    vec = make([lambda: counting(horizon=2), lambda: counting(reward=lambda: reward)] * 2)
    if isinstance(expected, float):
        assert [rewards.tolist() for _, rewards, *_ in play(vec, 3)] == [[1.0, expected] * 2] * 3
    else:
        with pytest.raises(expected, match=r"env [13] .*reward"):
            play(vec, 1)


def test_every_episode_reports_its_own_return_and_length(make, counting):
    vec = make([lambda: counting(horizon=3), lambda: counting(horizon=2)])
    assert vec.metadata["autoreset_mode"].name == "SAME_STEP"
    play(vec, 12)
    log = vec.drain_log()  # four episodes of 3 steps and six of 2
    assert log == {"episode_return": 2.4, "episode_length": 2.4, "n": 10.0}
    vec = make([lambda: counting(horizon=12), lambda: counting(horizon=12, reward=lambda: 2)])
    play(vec, 12)
    assert vec.drain_log() == {"episode_return": 18.0, "episode_length": 12.0, "n": 2.0}


def test_infos_of_any_kind_are_traced_to_their_env_and_averaged_over_numbers(make, counting):
    class Varying(counting):
        horizon = 60

        def info(self):
            nested = {"nested": {"score": 50, "log": [1, 2, 3]}}
            kinds = [{}, {"score": 3}, {"msg": "hi", "pos": np.arange(3)}, {"score": None, "ok": True}, nested, {"score": 7}]
            return kinds[(self.t + self.shift) % 6]

    vec = make([lambda shift=shift: Varying(shift=shift) for shift in range(4)])
    steps = play(vec, 60)
    for t, (*_, infos) in enumerate(steps[:-1], 1):
        speaking = [shift for shift in range(4) if (t + shift) % 6]
        assert [info["env_index"] for info in infos] == speaking
        for info in infos:
            assert ("msg" in info) == ((t + info["env_index"]) % 6 == 2)
    log = vec.drain_log()
    assert log["score"] == 5.0 and log["nested/score"] == 50.0 and log["ok"] == 1.0
    assert set(log) == {"score", "nested/score", "ok", "episode_return", "episode_length", "n"}


def test_seeds_are_the_envs_own(make, counting):
    class Rolls(counting):
        observation_space = spaces.Box(0, 1, (3,), np.float32)

        def obs(self):
            return np.array([self.np_random.random(), np.random.random(), random.random()], np.float32)

    vec = make(Rolls)
    first = vec.reset(seed=7)[0].copy()
    again = vec.reset(seed=7)[0].copy()
    other = make(Rolls).reset(seed=7)[0].copy()
    assert np.array_equal(first[:, 0], again[:, 0]) and np.array_equal(first[:, 0], other[:, 0])
    later = [vec.reset(seed=seed)[0][:, 0].copy() for seed in (None, 8, 0, 0)]
    assert np.array_equal(later[2], later[3]), "0 is a seed"
    everything = np.concatenate([first[:, 0], *later[:3]])
    assert len(np.unique(everything)) == 16, "no env repeats another's stream, a reset without a seed goes on"
    assert len(np.unique(first[:, 1:])) == 8, "global generators differ as well"
