import mmap
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.buffers import Buffers, action_layout, forget
from pufferlib.errors import PufferError, SpaceError
from pufferlib.spaces import make_space

BOX = spaces.Box(0, 255, (2, 3), np.uint8)


@given(st.lists(st.integers(0, 4), max_size=3), st.integers(0, 5))
def test_buffers_have_the_leading_axes_and_documented_dtypes(leading, mask):
    buffers = Buffers.allocate(BOX, spaces.MultiDiscrete([2, 3]), *leading, action_mask_size=mask)
    lead = tuple(leading)
    assert buffers.observations.shape == buffers.final_observations.shape == (*lead, 2, 3)
    assert buffers.observations.dtype == buffers.final_observations.dtype == np.uint8
    assert buffers.actions.shape == (*lead, 2) and buffers.actions.dtype == np.int32
    assert buffers.rewards.dtype == np.float32 and buffers.masks.all()
    assert {a.dtype for a in (buffers.terminals, buffers.truncations, buffers.masks)} == {np.dtype(bool)}
    assert (buffers.action_masks is None) == (mask == 0)


def test_slices_are_views():
    buffers = Buffers.allocate(BOX, spaces.Discrete(2), 4, 6)
    part = buffers[1][2:4]
    part.rewards[:] = 5
    part.observations[0] = 7
    assert buffers.rewards[1, 2:4].tolist() == [5, 5] and buffers.rewards.sum() == 10 and (buffers.observations[1, 2] == 7).all()


@pytest.mark.parametrize(
    ("space", "shape", "dtype"),
    [
        (spaces.Discrete(3), (), np.int32),
        (spaces.MultiDiscrete([2, 2, 2]), (3,), np.int32),
        (spaces.Box(-1, 1, (2, 2), np.float64), (2, 2), np.float32),
    ],
)
def test_a_rows_action(space, shape, dtype):
    assert action_layout(space) == (shape, np.dtype(dtype))


def test_other_action_spaces_are_refused():
    with pytest.raises(SpaceError, match="Discrete, MultiDiscrete or Box"):
        action_layout(spaces.MultiBinary(3))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.sampled_from(["uint8", "int32", "float32", "float64"]))
def test_make_space_holds_its_shape_and_dtype(shape, dtype):
    space = make_space(tuple(shape), dtype=dtype)
    assert space.shape == tuple(shape) and space.dtype == dtype and space.contains(space.sample())


def test_every_error_of_the_library_has_one_root():
    from pufferlib import errors

    classes = [c for c in vars(errors).values() if isinstance(c, type)]
    assert len(classes) > 10 and all(issubclass(c, PufferError) and c.__doc__ for c in classes)


@pytest.mark.skipif(not hasattr(mmap, "MADV_NOHUGEPAGE"), reason="only Linux lets a process choose the size of its pages")
def test_last_observations_that_nobody_writes_cost_no_memory_and_can_be_forgotten():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    space = spaces.Box(-1, 1, (1024,), np.float32)
    before = resident()
    buffers = Buffers.allocate(space, spaces.Discrete(2), 16, 1024)
    assert buffers.final_observations.nbytes == 1 << 26
    buffers[3].final_observations[::64] = 1.0  # one row in 64: huge pages would take them all
    assert resident() - before < 1 << 24
    assert buffers.final_observations.sum() == 1024 * 16
    forget(buffers[3].final_observations)
    assert not buffers.final_observations.any()
    forget(buffers.rewards)
    assert buffers.masks.all()
