"""Multiagent: the rewards of all four pairs of actions, and that each row sees its own number."""

import math

import numpy as np
import pytest

from pufferlib_ocean.multiagent import Multiagent
from pufferlib_ocean.testing import play


def test_every_world_has_two_rows_that_see_their_own_number():
    env = Multiagent(num_envs=3)
    observations, _ = env.reset(seed=0)
    assert env.num_agents == 6 and (observations == np.tile(np.eye(2), (3, 1))).all()


@pytest.mark.parametrize(("actions", "rewards"), [((0, 1), (1, 1)), ((1, 0), (0.5, 0.5)), ((0, 0), (0.5, 0)), ((1, 1), (0, 0.5))])
def test_rewards_of_every_pair_of_actions(actions, rewards):
    env = Multiagent(num_envs=4)
    env.reset(seed=0)
    for _ in range(3):
        observations, got, terminals, truncations, _ = env.step(np.tile(np.array(actions, np.int32), 4))
        assert (got == np.tile(rewards, 4)).all() and terminals.all() and not truncations.any()
        assert (observations == env.final_observations).all()
    log = env.drain_log()
    assert (
        log["n"] == 24 and log["score"] == log["perf"] == log["episode_return"] == np.mean(rewards) and log["episode_length"] == 1
    )


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.5, 1.0])
def test_policies_blind_to_the_number_earn_at_most_a_half(chance):
    log = play(Multiagent(num_envs=1000), lambda obs, rng: (rng.random(len(obs)) < chance).astype(np.int32), steps=20)
    mean = chance * (1 - chance) + 0.25
    assert mean <= 0.5 and abs(log["score"] - mean) < 5 * 0.5 / math.sqrt(20_000)


def test_choosing_the_own_number_earns_everything():
    assert play(Multiagent(num_envs=10), lambda obs, _: obs.argmax(1).astype(np.int32), steps=10)["score"] == 1
