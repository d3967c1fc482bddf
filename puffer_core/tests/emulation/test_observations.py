"""Observations arrive bit for bit, and never by a silent cast, broadcast or alias."""

import warnings

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pufferlib
from pufferlib.emulation.codec import ObservationCodec
from pufferlib.errors import EnvError, EnvTypeError, EnvValueError, NonFiniteEnvError, SpaceError


def stepped(env, steps=1, n=3, **kwargs):
    """The observations of `n` copies after some steps."""
    vec = pufferlib.emulate(env, num_envs=n, **kwargs)
    observations = vec.reset(seed=0)[0]
    for _ in range(steps):
        observations = vec.step(np.zeros(vec.action_space.shape, int))[0]
    return observations


def test_doubles_become_float32_without_a_warning(counting):
    class Doubles(counting):
        observation_space = spaces.Box(-1, 1, (3,), np.float32)

        def obs(self):
            return np.array([0.1, -0.5, self.t / 10])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        observations = stepped(Doubles, 2)
    assert observations.dtype == np.float32 and observations.shape == (3, 3)
    assert np.array_equal(observations[1], np.float32([0.1, -0.5, 0.2]))


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
def test_every_dtype_keeps_its_bits(counting, dtype, values):
    low, high = {"b": (0, 1), "f": (-np.inf, np.inf)}.get(np.dtype(dtype).kind) or (np.iinfo(dtype).min, np.iinfo(dtype).max)

    class Edges(counting):
        observation_space = spaces.Box(low, high, (3,), dtype)

        def obs(self):
            return np.array(values, dtype)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        observations = stepped(Edges)
    assert observations.dtype == dtype
    assert all(row.tobytes() == np.array(values, dtype).tobytes() for row in observations)


@given(data=st.data(), dtype=st.sampled_from([np.uint8, np.int16, np.int64, np.float32, np.float64]))
def test_a_box_observation_survives_the_way_there_and_back(data, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, max_side=4))
    low, high = (-np.inf, np.inf) if np.dtype(dtype).kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    codec = ObservationCodec(spaces.Box(low, high, shape, dtype))
    observation = data.draw(hnp.arrays(dtype, shape))
    back = codec.decode(codec.encode(observation))
    assert back.dtype == dtype and back.shape == shape and back.tobytes() == observation.tobytes()


@given(data=st.data(), n=st.integers(1, 9), start=st.integers(-5, 5))
def test_choices_are_stored_from_zero_and_come_back(data, n, start):
    for space in (
        spaces.Discrete(n, start=start),
        spaces.MultiDiscrete([[n, 2], [3, 1]], start=[[start, 0], [1, -1]]),
        spaces.MultiBinary((2, 3)),
    ):
        space.seed(data.draw(st.integers(0, 1000)))
        codec = ObservationCodec(space)
        observation = space.sample()
        row = codec.encode(observation)
        assert codec.box.contains(row) and row.min() >= 0
        assert np.array_equal(codec.decode(row), observation) and space.contains(codec.decode(row))


def test_a_scalar_box_gives_rows_of_one_number(counting):
    class Scalar(counting):
        observation_space = spaces.Box(-np.inf, np.inf, (), np.float32)

        def obs(self):
            return np.float32(self.t) if self.t % 2 else 0.5 * self.t

    assert stepped(Scalar, 3).tolist() == [[3.0]] * 3
    assert stepped(Scalar, 2).tolist() == [[1.0]] * 3


def test_one_buffer_for_an_envs_whole_life_is_no_trap(counting):
    class SameBuffer(counting):
        def __init__(self):
            super().__init__()
            self.buffer, self.said = np.zeros(1, np.float32), {}

        def obs(self):
            self.buffer[0] = self.t
            return self.buffer

        def info(self):
            self.said["t"] = self.t
            self.said["deep"] = {"t": self.buffer}
            return self.said

    vec = pufferlib.emulate(SameBuffer, num_envs=3)
    seen = [vec.reset(seed=0)[0].copy()]
    for _ in range(5):
        observations, _, _, _, infos = vec.step(np.zeros(3, int))
        seen.append(observations.copy())
    assert [int(rows[0, 0]) for rows in seen] == [0, 1, 2, 3, 4, 0]
    assert infos["final_obs"].tolist() == [[5.0]] * 3
    assert infos["final_info"]["t"].tolist() == [5] * 3 and infos["final_info"]["deep"]["t"].tolist() == [[5.0]] * 3


def test_two_envs_that_share_one_buffer_keep_their_rows(counting):
    buffer = np.zeros(1, np.float32)

    class Shared(counting):
        def obs(self):
            buffer[0] = self.t * self.scale
            return buffer

    left = iter([1, 2])
    assert stepped(lambda: Shared(scale=next(left)), 2, n=2).tolist() == [[2.0], [4.0]]


def test_lazy_objects_that_only_have_array_are_read_at_once(counting):
    class LazyFrames:
        def __init__(self, source):
            self.source = source

        def __array__(self, dtype=None, copy=None):
            return np.array(self.source, dtype)

    class Lazy(counting):
        buffer = np.zeros(1, np.float32)

        def obs(self):
            self.buffer[0] = self.t
            return LazyFrames(self.buffer)

    assert stepped(Lazy, 3).tolist() == [[3.0]] * 3


def test_lists_and_python_numbers_are_welcome(counting):
    class Lists(counting):
        observation_space = spaces.Box(-9, 9, (2,), np.float32)

        def obs(self):
            return [1, self.t / 2]

    assert stepped(Lists, 3).tolist() == [[1.0, 1.5]] * 3


BOX = spaces.Box(0, 200, (2,), np.float32)
BYTES = spaces.Box(0, 255, (2,), np.uint8)


@pytest.mark.parametrize(
    ("space", "bad", "error", "words"),
    [
        (BOX, np.zeros(3, np.float32), EnvValueError, r"shape \(3,\)"),
        (BOX, np.float32(1), EnvValueError, r"shape \(\)"),
        (BOX, np.zeros((1, 2), np.float32), EnvValueError, r"shape \(1, 2\)"),
        (BOX, np.zeros(2, int), EnvTypeError, "int64"),
        (BOX, [[1, 2], [3]], EnvValueError, "no array"),
        (BOX, None, EnvTypeError, "None"),
        (BOX, ["1", "2"], EnvTypeError, "numbers"),
        (BOX, {"a": 1}, EnvTypeError, "dict"),
        (BOX, np.array([0, np.nan], np.float32), NonFiniteEnvError, "NaN"),
        (BYTES, np.array([0, 300]), EnvValueError, "does not fit uint8"),
        (BYTES, np.array([-1, 0]), EnvValueError, "does not fit uint8"),
        (BYTES, np.zeros(2), EnvTypeError, "float64"),
        (spaces.Discrete(4, start=-2), 2, EnvValueError, "not in Discrete"),
        (spaces.Discrete(4), 2.0, EnvTypeError, "float64"),
        (spaces.MultiBinary(2), np.array([0.0, 1.0]), EnvTypeError, "float64"),
    ],
)
@pytest.mark.parametrize("when", [0, 2])
def test_what_the_space_does_not_allow_is_refused_with_the_envs_number(counting, each, space, bad, error, words, when):
    class Bad(counting):
        observation_space = space
        bad_from = 10**9

        def obs(self):
            good = space.sample() if not isinstance(space, spaces.Box) else np.zeros(space.shape, space.dtype)
            return bad if self.t >= self.bad_from else good

    vec = each([Bad, lambda: Bad(bad_from=when), Bad])

    def play():
        vec.reset(seed=0)
        for _ in range(3):
            vec.step(np.zeros(3, int))

    with pytest.raises(error, match=words) as refused:
        play()
    assert "env 1" in str(refused.value) and isinstance(refused.value, EnvError)


def test_whole_numbers_of_another_size_pass_where_they_fit(counting):
    class Wide(counting):
        observation_space = BYTES

        def obs(self):
            return np.array([255, self.t])

    assert stepped(Wide, 2).tolist() == [[255, 2]] * 3


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (spaces.Box(0, 1, (0,), np.float32), "empty"),
        (spaces.Dict({"a": spaces.Dict({})}), "empty"),
        (spaces.Text(8), "Text"),
        (spaces.Sequence(BOX), "Sequence"),
        (spaces.Graph(BOX, None), "Graph"),
        ("Box", "gymnasium space"),
    ],
)
def test_spaces_that_are_no_plain_row_are_refused_before_a_reset(counting, space, words):
    class Odd(counting):
        observation_space = space

        def reset(self, **kwargs):
            raise AssertionError("too late")

    with pytest.raises(SpaceError, match=words):
        pufferlib.emulate(Odd, num_envs=2)


def test_envs_with_different_spaces_are_refused(counting, each):
    with pytest.raises(SpaceError, match="env 1 has observation_space"):
        each([counting, lambda: counting(observation_space=spaces.Box(0, 1, (2,), np.float32))])
