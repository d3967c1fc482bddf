"""What tower_climb promises: its rules and its towers (checked in C, under sanitizers), and a random player's score."""

from __future__ import annotations

import numpy as np

from pufferlib_ocean.testing import play, random_actions, rule_test
from pufferlib_ocean.tower_climb import TowerClimb

test_rule = rule_test(__file__)


def test_map_seeds_make_different_towers_and_the_same_seed_the_same():
    def first(map_seed):
        return TowerClimb(num_envs=64, map_seed=map_seed, num_maps=64).reset(seed=3)[0].copy()

    assert (first(0) == first(0)).all() and (first(0) != first(1)).any()
    assert len(np.unique(first(0)[:, :225], axis=0)) > 40


def test_the_agent_never_stands_in_a_block_nor_in_the_air():
    """Under its feet (middle of layer 1 of 5) is a block, or the ground; its own cell is empty."""
    env = TowerClimb(num_envs=64)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(500):
        box = env.observations[:, :225].reshape(-1, 5, 5, 9)
        assert (box[:, 2, 2, 4] == 0).all()
        assert (box[:, 1, 2, 4] == np.where(env.observations[:, 226] == 0, 2, 1)).all()
        env.step(random_actions(env, rng))


def test_baseline_scores():
    random = play(TowerClimb(num_envs=256), None, 1000)
    assert random["n"] >= 500
    assert 0.06 <= random["perf"] <= 0.08, "0.069, measured; 2 of 23 levels"
