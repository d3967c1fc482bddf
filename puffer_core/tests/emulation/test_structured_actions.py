"""Envs with structured actions, on every back end: what is chosen arrives in the env's own structure, shape, dtype and start."""

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import pufferlib
from pufferlib.emulation.actions import ActionCodec
from pufferlib.errors import ActionError, SpaceError


def told(vec, actions):
    """What each env got, for one step."""
    vec.async_reset(seed=0)
    vec.recv()
    vec.send(np.asarray(actions))
    return [info["got"] for info in vec.recv().infos]


def test_a_dict_of_choices_arrives_as_the_env_declares_it(make, telling):
    space = spaces.Dict({"move": spaces.Discrete(3, start=-1), "fire": spaces.MultiDiscrete([2, 2])})
    vec = make(lambda: telling(action_space=space))
    assert vec.single_action_space == spaces.MultiDiscrete([2, 2, 3]), "in the space's order: fire, then move"
    got = told(vec, [[1, 0, 0], [0, 1, 1], [0, 0, 2], [1, 1, 0]])
    assert [action["move"] for action in got] == [-1, 0, 1, -1]
    assert [action["fire"].tolist() for action in got] == [[1, 0], [0, 1], [0, 0], [1, 1]]
    assert got[0]["fire"].shape == (2,) and got[0]["fire"].dtype == np.int64 and list(got[0]) == ["fire", "move"]
    vec.action_space.seed(0)
    for _ in range(200):
        vec.step(vec.action_space.sample())


@pytest.mark.parametrize(
    ("space", "heads", "action", "arrives"),
    [
        (spaces.MultiDiscrete([[2, 3], [4, 5]]), [2, 3, 4, 5], [1, 2, 3, 4], [[1, 2], [3, 4]]),
        (spaces.MultiDiscrete([2, 3], start=[5, -1]), [2, 3], [1, 0], [6, -1]),
        (spaces.MultiBinary((2, 2)), [2, 2, 2, 2], [0, 1, 1, 0], [[0, 1], [1, 0]]),
    ],
    ids=["nd choices", "starts", "nd bits"],
)
def test_each_number_of_a_choice_is_a_head(make, telling, space, heads, action, arrives):
    vec = make(lambda: telling(action_space=space))
    assert vec.single_action_space.nvec.tolist() == heads
    got = told(vec, [action] * 4)
    assert got[3].tolist() == arrives and got[3].dtype == space.dtype


def test_nested_boxes_become_one_box_and_are_clipped_part_by_part(make, telling):
    space = spaces.Tuple((spaces.Box(-1, 1, (2,)), spaces.Dict({"gas": spaces.Box(0, 0.5, (), np.float64)})))
    vec = make(lambda: telling(action_space=space))
    assert vec.single_action_space == spaces.Box(np.float32([-1, -1, 0]), np.float32([1, 1, 0.5]))
    for steer, pedals in told(vec, np.full((4, 3), 9, np.float32)):
        assert steer.tolist() == [1, 1] and steer.dtype == np.float32
        assert pedals["gas"].shape == () and pedals["gas"] == 0.5 and pedals["gas"].dtype == np.float64


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_choice_of_any_structure_is_a_member_of_the_space(data):
    leaf = st.one_of(
        st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 5), st.integers(-9, 9)),
        st.sampled_from(
            [spaces.MultiBinary((2, 1)), spaces.MultiDiscrete([[2], [3]], start=[[4], [-4]]), spaces.MultiDiscrete([4])]
        ),
    )
    parts = st.lists(leaf, min_size=1, max_size=3)
    space = data.draw(
        st.recursive(leaf, lambda inner: parts.flatmap(lambda some: inner.map(lambda one: spaces.Tuple((one, *some)))))
    )
    space = data.draw(st.sampled_from([space, spaces.Dict({"z": space, "a": spaces.Tuple(()), "b": spaces.Discrete(2)})]))
    codec = ActionCodec(space)
    sizes = [codec.space.n] if isinstance(codec.space, spaces.Discrete) else codec.space.nvec
    rows = np.stack([data.draw(st.tuples(*[st.integers(0, int(n) - 1) for n in sizes])) for _ in range(4)]).astype(np.int32)
    shape = (4,) if isinstance(codec.space, spaces.Discrete) else rows.shape
    actions = codec.decode(rows.reshape(shape))
    assert len(actions) == 4 and all(space.contains(action) for action in actions)
    different = {str(action) for action in actions}
    assert len(different) == len({tuple(row) for row in rows.tolist()}), "no two choices are one action"


def test_choices_mixed_with_floats_are_refused_by_path(strict):
    space = spaces.Dict({"move": spaces.Discrete(3), "turn": spaces.Box(-1, 1, (2,))})
    with pytest.raises(SpaceError, match=r"action_space\['move'\] is Discrete.*action_space\['turn'\] is Box"):
        pufferlib.emulate(lambda: strict(action_space=space))


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (spaces.Dict({"a": spaces.Tuple(())}), "empty"),
        (spaces.Tuple((spaces.Box(0, 9, (2,), np.int32),)), r"action_space\[0\] Box.*floats"),
    ],
)
def test_other_structures_that_cannot_be_acted_in(strict, space, words):
    with pytest.raises(SpaceError, match=words):
        pufferlib.emulate(lambda: strict(action_space=space))


def test_a_choice_outside_of_its_head_is_refused(strict):
    vec = pufferlib.emulate(lambda: strict(action_space=spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3)))), num_envs=2)
    vec.reset(seed=0)
    with pytest.raises(ActionError, match="row 1"):
        vec.step([[1, 2], [2, 0]])
