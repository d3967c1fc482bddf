"""Stochastic: the return is the closeness of the share of action 0 to p, and deterministic policies cannot be close."""

import math

import numpy as np
import pytest

from pufferlib_ocean.stochastic import Stochastic
from pufferlib_ocean.testing import play


def expected_score(chance, p=0.75, steps=100):
    """The exact mean and standard deviation of the score when every action is 0 with that chance."""
    weights = [math.comb(steps, k) * chance**k * (1 - chance) ** (steps - k) for k in range(steps + 1)]
    scores = [1 - abs(k / steps - p) / p for k in range(steps + 1)]
    mean = sum(w * s for w, s in zip(weights, scores, strict=True))
    return mean, math.sqrt(sum(w * (s - mean) ** 2 for w, s in zip(weights, scores, strict=True)))


def mixed(chance):
    return lambda observations, rng: (rng.random(len(observations)) >= chance).astype(np.int32)


@pytest.mark.parametrize(("chance", "about"), [(0.5, 0.667), (1.0, 2 / 3), (0.0, 0.0), (0.75, 0.954)])
def test_scores_of_fixed_chances_are_those_of_the_binomial_law(chance, about):
    log = play(Stochastic(num_envs=500), mixed(chance), steps=400)
    mean, deviation = expected_score(chance)
    assert log["n"] == 2000 and abs(mean - about) < 1e-3
    assert abs(log["score"] - mean) < 5 * deviation / math.sqrt(2000) + 1e-6
    assert abs(log["share"] - chance) < 5 * 0.5 / math.sqrt(200_000)


def test_rewards_tell_how_much_closer_the_share_came():
    env = Stochastic(p=0.6)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    share, zeros, total = 0.0, 0, 0.0
    for t in range(1, 101):
        action = rng.integers(0, 2)
        _, rewards, terminals, truncations, _ = env.step(np.array([action], np.int32))
        zeros += action == 0
        reward = (abs(share - 0.6) - abs(zeros / t - 0.6)) / 0.6
        share = zeros / t
        total += reward
        assert rewards[0] == pytest.approx(reward, abs=1e-5) and terminals[0] == (t == 100) and not truncations[0]
    log = env.drain_log()
    assert log["episode_return"] == pytest.approx(total, abs=1e-5) == log["score"]


def test_a_score_below_0_gives_perf_0():
    log = play(Stochastic(p=0.25), mixed(1.0), steps=100)
    assert log["score"] == pytest.approx(-2) and log["perf"] == 0
