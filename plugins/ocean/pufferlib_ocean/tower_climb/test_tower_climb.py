"""What tower_climb promises: its rules and its towers (checked in C, under sanitizers), and a random player's score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pufferlib_ocean.testing import compile_rules, play, random_actions, rules_in, run_rule
from pufferlib_ocean.tower_climb import TowerClimb

SOURCE = Path(__file__).with_name("test_tower_climb.c")


@pytest.fixture(scope="module")
def rules_program(tmp_path_factory):
    return compile_rules(SOURCE, tmp_path_factory.mktemp("tower_climb"))


@pytest.mark.parametrize("rule", rules_in(SOURCE))
def test_rule(rules_program, rule):
    run_rule(rules_program, rule)


def test_every_rule_is_found_in_the_c_file():
    assert len(rules_in(SOURCE)) >= 12
    assert SOURCE.read_text().count("TEST(test_") == len(rules_in(SOURCE))


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
