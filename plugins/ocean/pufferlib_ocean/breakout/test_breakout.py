"""What breakout promises: its rules (checked in C, under sanitizers), its observations, and its baseline scores."""

from __future__ import annotations

import numpy as np

from pufferlib_ocean.breakout import Breakout
from pufferlib_ocean.testing import rule_test

X, Y, VX, VY, PADDLE, WIDTH, LIVES, WALL, SPEED, SERVE, BRICKS = range(11)


test_rule = rule_test(__file__)


def test_first_observation():
    with_defaults = Breakout(num_envs=256, seed=3).reset()[0]
    assert with_defaults.shape == (256, 118)
    assert (with_defaults[:, X] >= 60 / 360).all()
    assert (with_defaults[:, X] <= 300 / 360).all()
    assert (with_defaults[:, PADDLE] == 0.5).all()
    assert np.allclose(with_defaults[:, Y], 130 / 240)
    assert np.allclose(np.hypot(with_defaults[:, VX], with_defaults[:, VY]), 3 / 5)
    assert (with_defaults[:, VY] >= 0.6 * np.cos(np.pi / 4) - 1e-6).all()
    assert (with_defaults[:, [WIDTH, LIVES, SERVE]] == 1).all()
    assert (with_defaults[:, WALL] == 0).all()
    assert np.allclose(with_defaults[:, SPEED], 3 / 5)
    assert (with_defaults[:, BRICKS:] == 1).all()


def test_left_and_right_move_the_paddle_by_16_px_in_a_step():
    env = Breakout(num_envs=3, seed=0)
    env.reset()
    observations, *_ = env.step(np.array([0, 1, 2]))
    assert np.allclose(observations[:, PADDLE] * 360, [180, 164, 196])


def test_out_of_range_actions_stay_and_are_counted():
    env = Breakout(num_envs=2, seed=0, max_steps=10)
    env.reset()
    for _ in range(10):
        env.step(np.array([3, -1]))
    assert np.allclose(env.final_observations[:, PADDLE], 0.5)
    assert env.drain_log()["invalid_actions"] == 10


def test_rewards_count_the_bricks_that_vanish():
    env = Breakout(num_envs=64, seed=1)
    observations, _ = env.reset()
    points = np.repeat([7, 7, 4, 4, 1, 1], 18)
    actions, broken = np.random.default_rng(0).integers(0, 3, (300, 64)), 0
    for action in actions:
        before = observations[:, BRICKS:].copy()
        observations, rewards, terminals, _, _ = env.step(action)
        after = np.where(terminals[:, None], env.final_observations[:, BRICKS:], observations[:, BRICKS:])
        assert np.allclose(((before - after) @ points) / 7, rewards, atol=1e-5)
        broken += int((before - after).sum())
    assert broken > 100


def first_scores(policy, num_envs, **kwargs):
    """float64[num_envs]: the score of each world's first episode, which its rewards add up to."""
    env = Breakout(num_envs=num_envs, seed=11, **kwargs)
    observations, _ = env.reset()
    scores, playing = np.zeros(num_envs), np.ones(num_envs, bool)
    while playing.any():
        observations, rewards, terminals, truncations, _ = env.step(policy(observations))
        scores += 7 * rewards * playing
        playing &= ~(terminals | truncations)
    return scores


def hand_policy(num_envs):
    """Move towards `ball + 9 * ((hits mod 5) - 2)`, dead zone 3. Hits show as the ball turning upwards near the paddle."""
    hits, falling = np.zeros(num_envs, int), np.zeros(num_envs, bool)

    def act(observations):
        rising = observations[:, VY] < 0
        hits[falling & rising & (observations[:, Y] > 0.75)] += 1
        hits[observations[:, SERVE] > 0] = 0
        falling[:] = ~rising
        away = 360 * (observations[:, X] - observations[:, PADDLE]) + 9 * (hits % 5 - 2)
        return np.where(np.abs(away) <= 3, 0, np.where(away < 0, 1, 2))

    return act


# Bands: the mean measured over 16,384 first episodes, plus and minus 5 standard errors of a mean of 1,024.


def test_random_play_scores_in_its_band():
    rng = np.random.default_rng(5)
    scores = first_scores(lambda observations: rng.integers(0, 3, len(observations)), 1024)
    assert 0.85 <= scores.mean() <= 1.21


def test_the_hand_policy_scores_in_its_band():
    scores = first_scores(hand_policy(1024), 1024)  # it misses with the halved paddle, whose reach is below its aim of 18 px
    assert 207 <= scores.mean() <= 240


def test_meeting_the_ball_where_it_will_land_clears_both_walls():
    def act(observations):
        x, y, vx, vy = (observations[:, [X, Y, VX, VY]] * [360, 240, 5, 5]).T
        to_paddle = np.maximum(222 - y, 0) / np.maximum(vy, 0.1)
        unfolded = (x + vx * to_paddle - 2) % 712  # the sides mirror the ball at 2 and 358
        landing = 2 + np.where(unfolded > 356, 712 - unfolded, unfolded)
        away = np.where(vy > 0, landing, x) - 360 * observations[:, PADDLE]
        return np.where(np.abs(away) <= 8, 0, np.where(away < 0, 1, 2))

    assert first_scores(act, 256).mean() > 0.95 * 864
