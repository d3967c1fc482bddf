"""How many envs, workers and batches fit, and what the refusals say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.errors import ConfigError
from pufferlib.vector import check_shape

# num_envs, num_workers, batch_size, the words that a refusal must hold (none: accepted)
CASES = [
    (8, 4, 8, None),
    (8, 4, 4, None),
    (8, 4, None, None),
    (np.int64(8), 4, 2, None),
    (5, 2, 5, ["num_envs=5", "num_workers=2", "4, 6", "1, 5"]),
    (4, 8, 4, ["num_envs=4", "num_workers=8", "nearest num_workers: 4"]),
    (8, 4, 3, ["batch_size=3", "num_envs=8", "num_workers=4", "2, 4"]),
    (8, 4, 12, ["batch_size=12", "8"]),
    (8, 2, 2, ["batch_size=2", "num_workers=2", "nearest: 4"]),
    (0, 1, 0, ["num_envs", "0"]),
    (8, 0, 8, ["num_workers", "0"]),
    (8, -1, 8, ["num_workers", "-1"]),
    (8, 1, 0, ["batch_size"]),
    (7.5, 1, None, ["num_envs", "7.5", "7, 8"]),
    ("8", 1, None, ["num_envs", "'8'"]),
    (True, 1, None, ["num_envs", "True"]),
    (8, 2.0, None, ["num_workers", "2.0"]),
    (8, 1, True, ["batch_size", "True"]),
]


@pytest.mark.parametrize(("num_envs", "num_workers", "batch_size", "words"), CASES)
def test_counts_that_fit_and_counts_that_do_not(num_envs, num_workers, batch_size, words):
    if words is None:
        shape = check_shape(num_envs, num_workers, batch_size)
        assert shape.num_batches * shape.batch_size == shape.num_envs == 8
        return
    with pytest.raises(ConfigError) as refused:
        check_shape(num_envs, num_workers, batch_size)
    assert all(word in str(refused.value) for word in words), str(refused.value)
    assert isinstance(refused.value, ValueError)


def test_envs_per_worker_must_agree():
    assert check_shape(64, 2, envs_per_worker=32).envs_per_worker == 32
    assert check_shape(64, envs_per_worker=16).num_workers == 4
    with pytest.raises(ConfigError, match=r"envs_per_worker=16 must equal num_envs=64 / num_workers=2 = 32"):
        check_shape(64, 2, envs_per_worker=16)


def test_workers_are_chosen_to_fit():
    assert check_shape(64, default_workers=6).num_workers == 4, "the largest divisor that is not above the cores"
    assert check_shape(7, default_workers=4).num_workers == 1
    assert check_shape(32, batch_size=16, default_workers=1).num_workers == 2, "a batch is whole shares"


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 60))
def test_accepted_counts_are_exactly_the_documented_ones(num_envs, num_workers, batch_size):
    fits = num_envs % num_workers == 0 and num_envs % batch_size == 0 and batch_size % (num_envs // num_workers) == 0
    if fits:
        check_shape(num_envs, num_workers, batch_size)
    else:
        with pytest.raises(ConfigError, match=f"num_envs={num_envs}"):
            check_shape(num_envs, num_workers, batch_size)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 8))
def test_chosen_workers_always_fit(num_envs, batch_size, cores):
    if num_envs % batch_size == 0:
        shape = check_shape(num_envs, None, batch_size, default_workers=cores)
        assert batch_size % shape.envs_per_worker == 0
