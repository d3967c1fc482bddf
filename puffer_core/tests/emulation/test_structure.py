"""How structured observations lie in rows, and the way back in numpy and torch."""

import pickle

import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pufferlib
from pufferlib.emulation.codec import ObservationCodec
from pufferlib.errors import ShapeError, SpaceError
from pufferlib.structure import StructuredBox, structure_of

DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]
MIXED = spaces.Dict(
    {
        "img": spaces.Box(0, 255, (3, 5, 1), np.uint8),
        "pos": spaces.Box(-1e12, 1e12, (2,), np.float64),
        "bag": spaces.Tuple((spaces.Discrete(7), spaces.MultiBinary(3), spaces.Dict({"hp": spaces.Box(-9, 9, (), np.int16)}))),
    }
)


def any_box(dtype, shape):
    kind = np.dtype(dtype).kind
    low, high = {"b": (0, 1), "f": (-np.inf, np.inf)}.get(kind) or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return spaces.Box(np.full(shape, low, dtype), np.full(shape, high, dtype), dtype=dtype)


@st.composite
def leaf_spaces(draw):
    kind = draw(st.sampled_from(["box", "discrete", "bits", "choices"]))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, max_side=3))
    if kind == "box":
        return any_box(draw(st.sampled_from(DTYPES)), draw(st.sampled_from([shape, (0,), (2, 0)])))
    if kind == "discrete":
        dtype = draw(st.sampled_from([np.int64, np.int32, np.int8]))
        return spaces.Discrete(draw(st.integers(1, 100)), start=draw(st.integers(-20, 20)), dtype=dtype)
    if kind == "bits":
        return spaces.MultiBinary(shape or 2)
    nvec = draw(hnp.arrays(np.int64, shape or (2,), elements=st.integers(1, 9)))
    start = draw(hnp.arrays(np.int64, nvec.shape, elements=st.integers(-5, 5)))
    return spaces.MultiDiscrete(nvec, start=draw(st.sampled_from([None, start])))


def nested(inner):
    keys = st.text("abxyz", min_size=1, max_size=2)
    return st.one_of(
        st.dictionaries(keys, inner, max_size=3).map(spaces.Dict),
        st.lists(inner, max_size=3).map(lambda parts: spaces.Tuple(tuple(parts))),
    )


any_space = st.recursive(leaf_spaces(), nested, max_leaves=6)


@st.composite
def any_value(draw, space):
    """Every bit pattern of a Box, also NaN and -0.0."""
    if isinstance(space, spaces.Dict):
        return {key: draw(any_value(part)) for key, part in draw(st.permutations(list(space.spaces.items())))}
    if isinstance(space, spaces.Tuple):
        return tuple(draw(any_value(part)) for part in space.spaces)
    if isinstance(space, spaces.Box):
        return draw(hnp.arrays(space.dtype, space.shape))
    space.seed(draw(st.integers(0, 99)))
    return space.sample()


def same(space, one, other):
    """Equal in structure, order of keys, dtype, shape and bits."""
    if isinstance(space, spaces.Dict):
        return list(other) == list(space.spaces) and all(same(s, one[k], other[k]) for k, s in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return isinstance(other, tuple) and all(same(*parts) for parts in zip(space.spaces, one, other, strict=True))
    one, other = np.asarray(one, space.dtype), np.asarray(other)
    return one.shape == other.shape == (space.shape or ()) and one.dtype == other.dtype and one.tobytes() == other.tobytes()


@settings(deadline=None, max_examples=150)
@given(data=st.data(), space=any_space)
def test_any_observation_comes_back_bit_for_bit_from_any_row(data, space):
    if is_empty(space):
        with pytest.raises(SpaceError, match="empty"):
            ObservationCodec(space)
        return
    codec = ObservationCodec(space)
    values = [data.draw(any_value(space)) for _ in range(3)]
    batch = np.stack([codec.encode(value) for value in values])
    for row, value in zip(batch, values, strict=True):
        assert same(space, value, codec.decode(row))
    # Four slots of those rows, in numpy and in torch: the slot and the row are found by the leading axes.
    rollout = np.stack([batch] * 4)
    structure = codec.structure
    leaves = [leaf for leaf in structure.leaves if leaf.size]
    for flat in (rollout, torch.from_numpy(rollout)):
        for slot, row in ((0, 0), (3, 2)):
            part = pick(space, structure.unflatten(flat), (slot, row))
            assert same(space, values[row], part)
        for leaf in leaves:
            assert stored_inside(structure.stored(flat, leaf), flat), "a view"


def is_empty(space):
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        return all(is_empty(part) for part in (space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces))
    return 0 in (space.shape or ())


def pick(space, value, index):
    if isinstance(space, spaces.Dict):
        return {key: pick(part, value[key], index) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(pick(part, value[k], index) for k, part in enumerate(space.spaces))
    return value[index].numpy() if isinstance(value, torch.Tensor) else value[index]


def stored_inside(part, flat):
    if isinstance(part, torch.Tensor):
        return part.untyped_storage().data_ptr() == flat.untyped_storage().data_ptr()
    return np.shares_memory(part, flat)


@settings(deadline=None, max_examples=60)
@given(space=any_space, seed=st.integers(0, 99))
def test_a_rows_space_samples_contains_pickles_and_compares_like_a_box(space, seed):
    assume(not is_empty(space))
    box = structure_of(space).box
    assert isinstance(box, spaces.Box)
    box.seed(seed)
    first = box.sample()
    box.seed(seed)
    again = box.sample()
    assert first.tobytes() == again.tobytes() and box.contains(first)
    copy = pickle.loads(pickle.dumps(box))
    assert copy == box and box == copy and copy.shape == box.shape and copy.dtype == box.dtype
    assert batch_space(box, 3).shape == (3, *box.shape) and structure_of(copy) == structure_of(box)


def test_mixed_leaves_lie_aligned_in_a_row_of_bytes():
    structure = structure_of(MIXED)
    assert structure.is_bytes and structure.shape == (48,) and structure.box.dtype == np.uint8
    placed = {leaf.path: (leaf.offset, leaf.length) for leaf in structure.leaves}
    assert placed == {
        ("bag", 0): (0, 8),
        ("bag", 1): (8, 3),
        ("bag", 2, "hp"): (12, 2),
        ("img",): (14, 15),
        ("pos",): (32, 16),
    }


def test_leaves_of_one_dtype_make_a_plain_row_of_it():
    space = spaces.Dict({"b": spaces.Box(-1, 1, (2,)), "a": spaces.Tuple((spaces.Box(0, 9, ()), spaces.Box(0, 1, (0,))))})
    box = structure_of(space).box
    assert box.dtype == np.float32 and box.low.tolist() == [0, -1, -1] and box.high.tolist() == [9, 1, 1]


def test_a_plain_box_stays_itself():
    space = spaces.Box(-1, 1, (2, 3), np.float32)
    structure = structure_of(space)
    assert structure.box == space and type(structure.box) is spaces.Box
    rows = np.zeros((4, 2, 3), np.float32)
    assert pufferlib.unflatten(rows, structure) is rows


def test_rows_of_another_space_are_not_equal_though_they_are_as_long():
    one, other = (structure_of(spaces.Tuple((spaces.Discrete(n), spaces.MultiBinary(2)))).box for n in (3, 4))
    assert one.shape == other.shape and one != other and one != spaces.Box(0, 255, one.shape, np.uint8)
    assert spaces.Box(0, 255, one.shape, np.uint8) != one and isinstance(one, StructuredBox)


@pytest.mark.parametrize("flat", [np.zeros((2, 47), np.uint8), np.zeros((2, 48), np.int8), torch.zeros(2, 48), np.uint8(0)])
def test_what_is_no_row_is_refused(flat):
    with pytest.raises(ShapeError, match=r"rows of Dict.*uint8 \[\.\.\., 48\]"):
        pufferlib.unflatten(flat, structure_of(MIXED))


def test_rows_that_are_not_contiguous_are_copied():
    structure = structure_of(MIXED)
    row = structure.box.sample()
    spread = np.asfortranarray(np.stack([row] * 3))
    assert np.array_equal(pufferlib.unflatten(spread, structure)["pos"][1], pufferlib.unflatten(row, structure)["pos"])


def test_numbers_wider_than_64_bits_are_refused():
    with pytest.raises(SpaceError, match=r"\['x'\] has dtype .*128"):
        structure_of(spaces.Dict({"x": spaces.Box(-1, 1, (2,), np.longdouble)}))


def test_gradients_flow_through_float_rows():
    structure = structure_of(spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Box(-1, 1, (1,))}))
    flat = torch.ones(4, 3, requires_grad=True)
    pufferlib.unflatten(flat, structure)["b"].sum().backward()
    assert flat.grad.tolist() == [[0, 0, 1]] * 4
