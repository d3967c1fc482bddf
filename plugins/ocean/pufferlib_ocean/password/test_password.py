"""Password: one fixed sequence, the same in every world; one wrong bit ends the episode."""

import itertools
import math

import numpy as np
import pytest

from pufferlib_ocean.password import Password
from pufferlib_ocean.performance_py.performance_py import Pcg32
from pufferlib_ocean.testing import play


def bits_of(length, map_seed):
    source = Pcg32(map_seed)
    return [source.u32() * 2 >> 32 for _ in range(length)]


def guess(bits):
    padded = np.array([*bits, 0], np.int32)
    return lambda observations, _rng: padded[observations.sum(1).astype(int)]


@pytest.mark.parametrize(("length", "map_seed"), [(1, 0), (5, 0), (5, 1), (16, 2**31 - 1)])
def test_the_bits_come_from_map_seed_alone(length, map_seed):
    log = play(
        Password(num_envs=40, length=length, map_seed=map_seed),
        guess(bits_of(length, map_seed)),
        steps=2 * length,
        seed=map_seed % 7,
    )
    assert log["n"] == 80 and log["score"] == log["perf"] == log["episode_return"] == 1 and log["episode_length"] == length


def test_exactly_one_of_all_sequences_is_right():
    sequences = np.array(list(itertools.product([0, 1], repeat=5)), np.int32)
    env = Password(num_envs=32)
    env.reset(seed=0)
    alive, wins = np.ones(32, bool), 0
    for t in range(5):
        known = env.observations.sum(1)
        assert (known[alive] == t).all() and (env.observations[alive, :t] == 1).all()
        _, rewards, terminals, truncations, _ = env.step(sequences[:, t])
        right = sequences[:, t] == bits_of(5, 0)[t]
        assert (terminals[alive] == (~right | (t == 4))[alive]).all() and not truncations.any()
        assert (rewards[alive] == (right & (t == 4))[alive]).all()
        assert (env.final_observations[alive & terminals].sum(1) == (t + right)[alive & terminals]).all()
        wins += int((rewards * alive).sum())
        alive &= ~terminals
    assert wins == 1


def test_random_policy_guesses_one_in_32():
    log = play(Password(num_envs=2000), None, steps=200)
    assert abs(log["score"] - 1 / 32) < 5 * math.sqrt(1 / 32 * 31 / 32 / log["n"])
