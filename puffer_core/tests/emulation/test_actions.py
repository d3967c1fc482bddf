"""Every env gets its own kind of action: its start, its shape, its dtype, within its bounds."""

import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ActionError, ShapeError, SpaceError

SPACES = [
    spaces.Discrete(3),
    spaces.Discrete(3, start=10),
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 3], start=[5, -1]),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
    spaces.MultiBinary(3),
    spaces.MultiBinary((2, 2)),
    spaces.Box(-1, 1, (2,), np.float32),
    spaces.Box(-1, 1, (2, 2), np.float64),
    spaces.Box(-1, 1, (), np.float32),
]


def vec_of(strict, space, n=2):
    class Env(strict):
        action_space = space

    return pufferlib.emulate(Env, num_envs=n)


def received(vec):
    return [env.got for env in vec._envs[0].envs]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_strict_env_never_refuses_a_sampled_action(strict, space):
    vec = vec_of(strict, space, 4)
    vec.action_space.seed(0)
    vec.reset(seed=0)
    for _ in range(200):
        vec.step(vec.action_space.sample())


def test_a_choice_counts_from_the_envs_start(strict):
    vec = vec_of(strict, spaces.Discrete(3, start=10))
    assert vec.single_action_space == spaces.Discrete(3)
    vec.reset(seed=0)
    vec.step([0, 2])
    assert received(vec) == [10, 12]


def test_choices_count_from_the_envs_starts(strict):
    vec = vec_of(strict, spaces.MultiDiscrete([2, 3], start=[5, -1]))
    vec.reset(seed=0)
    vec.step([[0, 0], [1, 2]])
    assert [got.tolist() for got in received(vec)] == [[5, -1], [6, 1]]


def test_choices_with_two_axes_are_heads_in_row_major_order(strict):
    vec = vec_of(strict, spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])))
    assert vec.single_action_space.nvec.tolist() == [2, 3, 4, 5]
    vec.reset(seed=0)
    vec.step([[1, 2, 3, 4], [0, 0, 0, 0]])
    assert received(vec)[0].tolist() == [[1, 2], [3, 4]]


def test_bits_are_heads_of_two(strict):
    vec = vec_of(strict, spaces.MultiBinary((2, 2)))
    assert vec.single_action_space.nvec.tolist() == [2, 2, 2, 2]
    vec.reset(seed=0)
    vec.step([[1, 0, 0, 1], [0, 0, 0, 0]])
    assert received(vec)[0].tolist() == [[1, 0], [0, 1]] and received(vec)[0].dtype == np.int8


def test_a_box_is_clipped_where_it_reaches_the_env(strict):
    low, high = np.array([-1, 0, -np.inf], np.float32), np.array([3, 0.5, np.inf], np.float32)
    vec = vec_of(strict, spaces.Box(low, high, dtype=np.float32))
    vec.reset(seed=0)
    raw = np.array([[9.0, -2.0, 1e3], [0, 0.25, -7]], np.float32)
    sent = raw.copy()
    vec.step(sent)
    assert received(vec)[0].tolist() == [3.0, 0.0, 1e3] and received(vec)[1].tolist() == [0.0, 0.25, -7.0]
    assert np.array_equal(sent, raw) and np.array_equal(vec.storage.actions[0], raw), "the sample itself stays"


def test_an_env_that_changes_its_action_changes_only_its_own_copy(strict):
    class Spoils(strict):
        action_space = spaces.Box(-1, 1, (2,), np.float32)

        def step(self, action):
            action[:] = 0
            return super().step(action)

    vec = pufferlib.emulate(Spoils, num_envs=2)
    vec.reset(seed=0)
    actions = np.ones((2, 2), np.float32)
    vec.step(actions)
    assert (actions == 1).all() and (vec.storage.actions == 1).all()


@pytest.mark.parametrize(
    ("space", "actions", "words"),
    [
        (spaces.Discrete(3), [0, 3], "row 1 is 3"),
        (spaces.Discrete(3, start=10), [-1, 0], "row 0 is -1"),
        (spaces.MultiDiscrete([2, 3]), [[0, 0], [1, 3]], "row 1"),
        (spaces.MultiBinary(2), [[0, 2], [0, 0]], "row 0"),
        (spaces.Box(-1, 1, (2,), np.float32), [[0, 0], [np.nan, 0]], "row 1"),
    ],
    ids=str,
)
def test_actions_outside_of_the_space_are_refused(strict, space, actions, words):
    vec = vec_of(strict, space)
    vec.reset(seed=0)
    with pytest.raises(ActionError, match=words):
        vec.step(actions)


def test_floats_for_choices_are_refused(strict):
    vec = vec_of(strict, spaces.Discrete(3))
    vec.reset(seed=0)
    with pytest.raises(ShapeError, match="float64"):
        vec.step([0.0, 1.0])


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (spaces.Text(3), "action_space is a Text space"),
        (spaces.Box(0, 255, (2,), np.uint8), "floats"),
        (spaces.Box(-1, 1, (0,), np.float32), "empty"),
    ],
    ids=str,
)
def test_unsupported_action_spaces_are_refused_when_it_is_built(strict, space, words):
    with pytest.raises(SpaceError, match=words):
        vec_of(strict, space)
