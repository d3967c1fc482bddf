"""The compiled loop of emulation: its arrays are checked, and it finds what numpy finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pufferlib.native._emulation import Stepper, all_finite, holds_nan, row_bytes


@settings(deadline=None)
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]))
def test_nan_and_infinity_are_found_as_by_numpy(data, dtype):
    array = data.draw(hnp.arrays(dtype, hnp.array_shapes(max_dims=2)))
    assert holds_nan(array) == np.isnan(array).any()
    if dtype == np.float32:
        assert all_finite(array) == np.isfinite(array).all()


@settings(deadline=None)
@given(data=st.data(), dtype=st.sampled_from([np.uint8, np.float16, np.float32, np.int64]))
def test_views_are_packed_as_by_numpy(data, dtype):
    """Transposed, flipped, with gaps, repeated, empty."""
    array = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
    view = array.transpose(data.draw(st.permutations(range(array.ndim))))
    view = view[tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in range(view.ndim))]
    assert row_bytes(view) == view.tobytes()
    repeated = np.broadcast_to(view, (2, *view.shape))
    assert row_bytes(repeated) == repeated.tobytes()


def arrays(rows=2, **changed):
    made = {
        "observations": np.zeros((rows, 1), np.float32),
        "rewards": np.zeros(rows, np.float32),
        "terminals": np.ones(rows, bool),
        "truncations": np.ones(rows, bool),
        "masks": np.zeros(rows, bool),
        "returns": np.ones(rows),
    }
    return {**made, **changed}


def stepper(seen=b"\0\0\0\0"):
    return Stepper(np.dtype(np.float32), (1,), lambda _: seen, float, lambda flag, _: bool(flag), dict, None)


def test_rows_are_written_in_place_and_ends_and_infos_are_named():
    results = [(np.float32([5]), 2, False, False, {}), ("other", 0.5, True, True, {"a": 1})]
    given = arrays()
    loop = stepper(np.float32(7).tobytes())
    ended, said = loop.step([lambda action: results[action]] * 2, [0, 1], **given)
    assert (ended, said) == ([1], {1: {"a": 1}})
    assert {name: array.reshape(-1).tolist() for name, array in given.items()} == {
        "observations": [5, 7],
        "rewards": [2, 0.5],
        "terminals": [False, True],
        "truncations": [False, False],
        "masks": [True, True],
        "returns": [3, 1.5],
    }


def test_what_was_stepping_when_an_exception_came_is_known():
    loop = stepper()
    with pytest.raises(ZeroDivisionError):
        loop.step([lambda _: (0, 0.0, False, False, {}), lambda _: 1 // 0], [0, 0], **arrays())
    assert loop.index == 1 and loop.result is None
    with pytest.raises(ValueError, match="unpack"):
        loop.step([lambda _: (1, 2)], [0], **arrays(1))
    assert loop.index == 0 and loop.result == (1, 2)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"observations": np.zeros((2, 2), np.float32)}, "a row has 8 bytes, its observation 4"),
        ({"rewards": np.zeros(2)}, "float32"),
        ({"returns": np.zeros(2, np.float32)}, "float64"),
        ({"masks": np.zeros(1, bool)}, "1 bytes cannot hold 2 rows"),
        ({"terminals": np.zeros(4, bool)[::2]}, "contiguous"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changed, words):
    with pytest.raises((ValueError, BufferError), match=words):
        stepper().step([lambda _: (0, 0.0, False, False, {})] * 2, [0, 0], **arrays(**changed))
    with pytest.raises(ValueError, match="2 envs were given 1 actions"):
        stepper().step([print] * 2, [0], **arrays())
