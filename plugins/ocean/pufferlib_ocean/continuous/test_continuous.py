"""Continuous: moves, rewards, the two kinds of actions, and the scores of two policies."""

import numpy as np
import pytest

from pufferlib_ocean.continuous import Continuous
from pufferlib_ocean.testing import play


def distances(observations):
    return np.linalg.norm(observations[:, 2:] - observations[:, :2], axis=1)


def straight(observations, _rng=None):
    return np.clip((observations[:, 2:] - observations[:, :2]) / 0.1, -1, 1).astype(np.float32)


def test_starts_fill_the_square_and_are_three_tenths_apart():
    observations, _ = Continuous(num_envs=5000).reset(seed=0)
    assert distances(observations).min() >= 0.3 and np.abs(observations).max() <= 1
    assert (observations.min(0) < -0.99).all() and (observations.max(0) > 0.99).all()
    assert np.abs(observations.mean(0)).max() < 5 / np.sqrt(3 * 5000)


def test_the_position_moves_by_a_tenth_of_the_clipped_action_and_stays_inside():
    env = Continuous(num_envs=300)
    observations = env.reset(seed=0)[0].copy()
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.uniform(-2, 2, (300, 2)).astype(np.float32)
        actions[rng.random((300, 2)) < 0.02] = np.nan
        before = observations
        observations, rewards, terminals, truncations, _ = env.step(actions)
        observations = observations.copy()
        ended = terminals | truncations
        after = np.where(ended[:, None], env.final_observations, observations)
        move = 0.1 * np.clip(np.nan_to_num(actions, nan=0.0), -1, 1)
        np.testing.assert_allclose(after[:, :2], np.clip(before[:, :2] + move, -1, 1), atol=1e-6)
        assert (after[:, 2:] == before[:, 2:]).all()
        np.testing.assert_allclose(rewards, distances(before) - distances(after) + terminals, atol=1e-6)
        assert (terminals == (distances(after) <= 0.1)).all()


def test_who_does_not_move_is_truncated_at_50():
    env = Continuous(num_envs=5)
    env.reset(seed=0)
    for t in range(1, 51):
        _, rewards, terminals, truncations, _ = env.step(np.zeros((5, 2), np.float32))
        assert not rewards.any() and not terminals.any() and (truncations == (t == 50)).all()


def test_discretized_choices_are_five_values_an_axis():
    choices = np.array([(i, k) for i in range(5) for k in range(5)], np.int32)
    discrete, box = Continuous(num_envs=25, discretize=True), Continuous(num_envs=25)
    discrete.reset(seed=1), box.reset(seed=1)
    for _ in range(5):
        discrete.step(choices), box.step(((choices - 2) / 2).astype(np.float32))
        assert (discrete.observations == box.observations).all() and (discrete.rewards == box.rewards).all()


def test_random_policy_reaches_few_targets():
    log = play(Continuous(num_envs=500), None, steps=500)
    assert log["n"] > 500 and 0.02 < log["score"] < 0.07 and log["perf"] == log["score"]


@pytest.mark.parametrize("discretize", [False, True])
def test_moving_straight_always_arrives(discretize):
    def policy(observations, _rng):
        moves = straight(observations)
        return np.rint(moves * 2 + 2).astype(np.int32) if discretize else moves

    log = play(Continuous(num_envs=200, discretize=discretize), policy, steps=150)
    assert log["n"] > 500 and log["score"] == 1 and log["episode_return"] > 1
