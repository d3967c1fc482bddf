"""The batch's own logic, on an engine with gym-microrts' interface; `make test-microrts` runs the real one."""

import functools
import sys

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ActionError, ConfigError, EnvError
from pufferlib.testing import check_env, check_plugin
from pufferlib_microrts import env as adapter
from pufferlib_microrts.draw import CELL, frame
from pufferlib_microrts.env import MicroRTS


def make(**kwargs):
    env = MicroRTS(reward_weights=(10, 1, 0, 0, 0, 2), **kwargs)
    env.reset([0] * env.num_envs)
    return env


@pytest.mark.parametrize("opponent", ["coacAI", "self"])
def test_the_contract_is_kept(recorded, opponent, monkeypatch):
    assert check_plugin("microrts", steps=0)
    monkeypatch.setattr(adapter, "engine", functools.partial(recorded, ends=(2, 2)))  # whatever a game's place in the batch
    check_env(MicroRTS, num_envs=2, steps=12, opponent=opponent, max_steps=3)


def test_what_the_rules_end_is_a_terminal_and_the_limit_a_truncation(recorded):
    env = make(num_envs=2, max_steps=3)
    env.step(np.zeros((2, 4), np.int32))
    assert env.rewards.tolist() == [3, 3] and not env.terminals.any()
    env.step(np.zeros((2, 4), np.int32))
    assert env.rewards.tolist() == [13, 3] and env.terminals.tolist() == [True, False] and not env.truncations.any()
    env.step(np.zeros((2, 4), np.int32))
    assert env.truncations.tolist() == [False, True] and not env.terminals.any()
    log = env.drain_log()
    assert log["n"] == 2 and log["episode_return"] == (16 + 9) / 2 and log["episode_length"] == 2.5
    assert log["win"] == log["win_loss"] == 0.5 and log["resources"] == 5 and log["combat_units"] == 1.25


def test_the_last_position_is_kept_and_the_next_game_begun_in_the_same_step(recorded):
    env = make(num_envs=2, max_steps=3)
    for step in (1, 2, 3):
        env.step(np.zeros((2, 4), np.int32))
        if step == 2:
            assert env.observations[:, 0, 0, 1].tolist() == [0, 0] and env.final_observations[0, 0, 0, 1] == 0
    assert env.final_observations[1, 0, 0].tolist() == [1, 1, 0] and env.observations[1, 0, 0].tolist() == [1, 0, 0]


def test_both_sides_of_a_game_are_rows(recorded):
    env = make(num_envs=2, opponent="self", max_steps=9)
    assert env.num_agents == 4
    env.step(np.arange(16, dtype=np.int32).reshape(4, 4) % 2)
    _, _, _, _, infos = env.step(np.zeros((4, 4), np.int32))
    assert env.rewards.tolist() == [13, -7, 3, 3] and env.terminals.tolist() == [True, True, False, False] and infos == []
    assert env.drain_log()["win"] == 0.5 and env._engine.given[0].shape == (2, 2, 2)


def test_every_part_of_every_cell_has_a_choice(recorded):
    env = make(num_envs=1)
    assert env.action_mask_size == 10 and env.action_masks.tolist() == [[1, 1, 1, 0, 0, 1, 0, 1, 0, 0]]
    env._engine.mask[0, 1] = [0, 1, 0, 1, 1]
    env.step(np.zeros((1, 4), np.int32))
    assert env.action_masks.tolist() == [[1, 1, 1, 0, 0, 0, 1, 0, 1, 1]]


def test_actions_reach_their_cells_and_wrong_ones_are_refused(recorded):
    env = make(num_envs=1)
    env.step(np.array([[1, 2, 0, 1]], np.int32))
    assert env._engine.given[0].tolist() == [[[1, 2], [0, 1]]]
    with pytest.raises(ActionError, match="row 0"):
        env.step(np.array([[1, 3, 0, 1]], np.int32))


def test_closing_twice_closes_once(recorded):
    env = make(num_envs=1)
    engine = env._engine
    env.close()
    env.close()
    assert engine.closed == 1


def test_frames_show_whose_unit_stands_where():
    observation = np.zeros((2, 3, 27), np.uint8)
    observation[:, :, 10] = observation[:, :, 13] = 1
    observation[1, 2, [10, 11, 13, 15]] = 0, 1, 0, 1  # a base of one's own
    observation[0, 0, [10, 12, 13, 17]] = 0, 1, 0, 1  # a worker of the other's
    picture = frame(observation)
    assert picture.shape == (2 * CELL, 3 * CELL, 3) and picture.dtype == np.uint8
    own, other, none = picture[CELL + 16, 2 * CELL + 16], picture[16, 16], picture[16, CELL + 16]
    assert own.argmax() == 2 and other.argmax() == 0 and none.max() < 40


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"reward_weights": (1, 2)}, "reward_weights must be 6 numbers, of win_loss"),
        ({"max_steps": 0}, "max_steps must be"),
        ({"render_mode": "human"}, "rgb_array"),
    ],
)
def test_wrong_arguments_are_named(recorded, wrong, match):
    with pytest.raises(ConfigError, match=match):
        MicroRTS(**wrong)


def test_without_the_package_the_error_holds_the_lines_that_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "gym_microrts", None)
    with pytest.raises(EnvError, match=r"--ignore-requires-python gym-microrts==0\.6\.0\nand Java 17"):
        pufferlib.make("microrts", backend="serial")
