"""What pong promises: its rules (checked in C, under sanitizers), its observations, self-play, and its baseline scores."""

from __future__ import annotations

import numpy as np

from pufferlib_ocean.pong import Pong
from pufferlib_ocean.testing import rule_test

OWN_Y, OTHER_Y, X, Y, VX, VY, OWN_POINTS, OTHER_POINTS = range(8)


test_rule = rule_test(__file__)


def test_first_observation():
    observations, _ = Pong(num_envs=256, seed=3).reset()
    assert observations.shape == (256, 8)
    assert (observations[:, [OWN_Y, OTHER_Y, X]] == 0.5).all()
    assert (observations[:, Y] >= 0.2).all()
    assert (observations[:, Y] <= 0.8).all()
    assert np.allclose(np.hypot(observations[:, VX], observations[:, VY]), 5 / 8)
    assert (np.abs(observations[:, VY]) <= 5 / 8 * np.sin(0.6) + 1e-6).all()
    assert {-1.0, 1.0} == set(np.sign(observations[:, VX]))
    assert (observations[:, [OWN_POINTS, OTHER_POINTS]] == 0).all()


def test_up_and_down_move_the_paddle_by_16_px_in_a_step():
    env = Pong(num_envs=3, seed=0)
    env.reset()
    observations, *_ = env.step(np.array([0, 1, 2]))
    assert np.allclose(observations[:, OWN_Y] * 200, [100, 84, 116])


def test_out_of_range_actions_stay_and_are_counted():
    env = Pong(num_envs=2, seed=0, max_steps=10)
    env.reset()
    for _ in range(10):
        env.step(np.array([3, -1]))
    assert np.allclose(env.final_observations[:, OWN_Y], 0.5)
    assert env.drain_log()["invalid_actions"] == 10


def test_the_two_rows_of_self_play_see_one_court_from_both_ends():
    env = Pong(num_envs=32, seed=4, opponent="self", points=3)
    observations, _ = env.reset()
    rng, points = np.random.default_rng(0), 0
    for _ in range(2000):
        right, left = observations[0::2], observations[1::2]
        assert (right[:, [OWN_Y, OTHER_Y, Y, VY, OWN_POINTS]] == left[:, [OTHER_Y, OWN_Y, Y, VY, OTHER_POINTS]]).all()
        assert (right[:, VX] == -left[:, VX]).all()
        assert np.allclose(right[:, X] + left[:, X], 1)
        observations, rewards, terminals, _, _ = env.step(rng.integers(0, 3, 64))
        assert (rewards[0::2] == -rewards[1::2]).all()
        assert (terminals[0::2] == terminals[1::2]).all()
        points += np.abs(rewards).sum()
    log = env.drain_log()
    assert points > 100
    assert log["n"] % 2 == 0
    assert log["score"] == 0
    assert log["perf"] == 0.5
    assert log["episode_return"] == 0


def test_the_points_observed_are_the_rewards_summed():
    env = Pong(num_envs=64, seed=2)
    observations, _ = env.reset()
    rng, lead = np.random.default_rng(0), np.zeros(64)
    for _ in range(500):
        observations, rewards, terminals, _, _ = env.step(rng.integers(0, 3, 64))
        lead += rewards
        seen = np.where(terminals[:, None], env.final_observations, observations)
        assert np.allclose(lead, 21 * (seen[:, OWN_POINTS] - seen[:, OTHER_POINTS]), atol=1e-4)
        lead[terminals] = 0


def first_scores(policy, num_envs, **kwargs):
    """float64[num_envs]: the score of each world's first episode, which its rewards add up to."""
    env = Pong(num_envs=num_envs, seed=11, **kwargs)
    observations, _ = env.reset()
    scores, playing = np.zeros(num_envs), np.ones(num_envs, bool)
    while playing.any():
        observations, rewards, terminals, truncations, _ = env.step(policy(observations))
        scores += rewards * playing
        playing &= ~(terminals | truncations)
    return scores


def hand_policy(observations):
    """Meet the ball so that u = .7 or -.7, whichever sends it away from the other paddle's half; dead zone half a step."""
    u = np.where(observations[:, OTHER_Y] < 0.5, 0.7, -0.7)
    target = np.clip(200 * observations[:, Y] - 20 * u, 20, 180)
    away = target - 200 * observations[:, OWN_Y]
    return np.where(np.abs(away) <= 8, 0, np.where(away < 0, 1, 2))


# Bands: the mean measured over 16,384 first episodes, plus and minus 5 standard errors of a mean of 1,024.


def test_random_play_scores_in_its_band():
    rng = np.random.default_rng(5)
    scores = first_scores(lambda observations: rng.integers(0, 3, len(observations)), 1024)
    assert -19.22 <= scores.mean() <= -18.67


def test_the_hand_policy_scores_in_its_band():
    scores = first_scores(hand_policy, 1024)
    assert 11.09 <= scores.mean() <= 12.36


def test_a_faster_bot_is_harder():
    slow, fast = (first_scores(hand_policy, 64, bot_speed=speed).mean() for speed in (2.0, 3.5))
    assert slow > fast
