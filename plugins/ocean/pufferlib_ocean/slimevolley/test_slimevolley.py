"""What slimevolley promises: its rules (checked in C, under sanitizers), self-play, and its baseline scores."""

from __future__ import annotations

import numpy as np

from pufferlib_ocean.slimevolley import Slimevolley
from pufferlib_ocean.testing import play, rule_test

test_rule = rule_test(__file__)


def test_the_two_rows_of_self_play_see_one_court_from_both_ends():
    env = Slimevolley(num_envs=16, opponent="self", lives=2, seed=4)
    observations, _ = env.reset()
    rng, turned = np.random.default_rng(0), np.array([-1, 1, -1, 1])
    for _ in range(600):
        left, right = observations[0::2], observations[1::2]
        assert (left[:, :4] * turned == right[:, 8:12]).all() and (left[:, 8:12] * turned == right[:, :4]).all()
        assert (left[:, 4:8] * turned == right[:, 4:8]).all() and (left[:, 12] == right[:, 13]).all()
        observations, rewards, terminals, _, _ = env.step(rng.integers(0, 6, 32))
        assert (rewards[0::2] == -rewards[1::2]).all() and (terminals[0::2] == terminals[1::2]).all()
    log = env.drain_log()
    assert log["n"] >= 16 and log["score"] == 0 and log["perf"] == 0.5 and log["episode_return"] == 0


# ---------------------------------------------------------------- baselines


def like_the_bot(observations, rng):
    """The hand policy: what the bot does, by what a row sees: to 0.8 behind where the ball lands, and jump at it."""
    x, y = observations[:, 0] * 24, observations[:, 1] * 10
    ball_x, ball_y, ball_vx, ball_vy = (observations[:, k] * scale for k, scale in ((4, 24), (5, 24), (6, 40), (7, 40)))
    time = (ball_vy + np.sqrt(ball_vy**2 + 70 * np.maximum(0, ball_y - 1))) / 35
    landing = ball_x + ball_vx * time
    landing = np.where(abs(landing) > 23, np.sign(landing) * (23 - 0.98 * (abs(landing) - 23)), landing)
    goal, near = np.clip(landing - 0.8, -21, -3.5), 17 / 30
    jumps = (np.hypot(ball_x - x, ball_y - y) < 5) & (ball_y > y)
    run = np.where(goal > x + near, 1, np.where(goal < x - near, 2, 0))
    return (run + 3 * jumps).astype(np.int32)


def test_baseline_scores():
    """Measured: -4.99, 0 (two such players keep the ball up for ever) and 4.96."""
    random = play(Slimevolley(num_envs=256), None, 1500)
    hand = play(Slimevolley(num_envs=512, max_steps=1000), like_the_bot, 1000)
    easy = play(Slimevolley(num_envs=320, bot_epsilon=1.0), like_the_bot, 1500)
    assert random["n"] >= 500 and hand["n"] >= 500 and easy["n"] >= 500
    assert random["score"] <= -4.95
    assert abs(hand["score"]) < 0.2
    assert easy["score"] >= 4.9
