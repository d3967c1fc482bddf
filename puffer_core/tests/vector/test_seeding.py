import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pufferlib.errors import ConfigError
from pufferlib.vector.seeding import env_seeds, spread_seed


@settings(max_examples=30)
@given(st.integers(0, 2**63), st.integers(1, 3000), st.integers(1, 3000))
def test_an_envs_seed_does_not_depend_on_how_many_there_are(seed, few, many):
    few, many = sorted((few, many))
    assert env_seeds(seed, few) == env_seeds(seed, many)[:few]


def test_seeds_are_distinct_31_bit_numbers_even_for_very_many_envs():
    seeds = env_seeds(0, 200_000)  # about 9 collisions are to be expected among so many draws
    assert len(set(seeds)) == 200_000 and min(seeds) >= 0 and max(seeds) < 2**31


def test_neighbouring_seeds_share_no_env_seed():
    assert not set(env_seeds(7, 1000)) & set(env_seeds(8, 1000))


def test_zero_is_a_seed_and_none_is_fresh():
    assert env_seeds(0, 3) == env_seeds(0, 3)
    assert env_seeds(None, 3) != env_seeds(None, 3)


def test_one_seed_per_env_is_taken_as_it_is():
    assert spread_seed(np.array([3, 1, 2]), 3) == [3, 1, 2]


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7", [1, 2], [1, 2, -3], [1, 2, "3"], {"a": 1}])
def test_anything_else_is_refused(seed):
    with pytest.raises(ConfigError, match="seed"):
        spread_seed(seed, 3)
