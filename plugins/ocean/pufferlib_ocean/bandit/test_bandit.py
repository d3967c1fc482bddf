"""Bandit: every arm's chance, one step an episode."""

import math

import numpy as np
import pytest

from pufferlib_ocean.bandit import Bandit
from pufferlib_ocean.testing import play


@pytest.mark.parametrize(("arms", "best"), [(2, 1), (4, 2), (64, 63)])
def test_the_best_arm_pays_nine_times_in_ten_and_the_others_once(arms, best):
    for arm in {0, best, arms - 1}:
        log = play(Bandit(num_envs=500, arms=arms, best=best), lambda obs, _, arm=arm: np.full(len(obs), arm, np.int32), steps=40)
        chance = 0.9 if arm == best else 0.1
        assert log["n"] == 20_000 and abs(log["score"] - chance) < 5 * math.sqrt(0.09 / 20_000)


def test_every_step_is_a_whole_episode():
    env = Bandit(num_envs=100)
    env.reset(seed=0)
    for _ in range(50):
        observations, rewards, terminals, truncations, _ = env.step(np.full(100, 2, np.int32))
        assert terminals.all() and not truncations.any() and not observations.any() and not env.final_observations.any()
        assert set(rewards.tolist()) <= {0.0, 1.0}
    log = env.drain_log()
    assert log["score"] == log["perf"] == log["episode_return"] and log["episode_length"] == 1


def test_random_policy_earns_three_tenths():
    log = play(Bandit(num_envs=1000), None, steps=50)
    assert abs(log["score"] - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 50_000)


def test_best_must_be_one_of_the_arms():
    assert Bandit(arms=2).args.best == 1 and Bandit().args.best == 2
    with pytest.raises(ValueError, match=r"bandit: best must be below arms=4, got 4"):
        Bandit(best=4)
