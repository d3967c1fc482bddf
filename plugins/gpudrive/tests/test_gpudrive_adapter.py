"""The batch's own logic, on a simulator with the documented interface of GPUDriveTorchEnv. GPUDrive itself was never run."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ActionError, ConfigError, EnvError
from pufferlib.testing import check_env, check_plugin
from pufferlib_gpudrive import env as adapter
from pufferlib_gpudrive.env import GPUDrive


class Simulator:
    """Two places per world more than cars. In world w cars stand at places 1, ..., w + 1; a car shows its world, place and time.

    The car at place 1 comes to its goal in step 2 (reward 1); at the end of the scene everybody is done.
    """

    device = "cpu"

    def __init__(self, worlds, data, dataset_size, max_cars, device, seed, settings):
        self.length, self.worlds, self.places = settings["episode_len"], worlds, max_cars + 2
        self.action_space, self.given, self.swaps, self.closed = spaces.Discrete(5), [], 0, False
        self.cont_agent_mask = torch.zeros(worlds, self.places, dtype=torch.bool)
        for world in range(worlds):
            self.cont_agent_mask[world, 1 : world + 2] = True
        self.time = 0

    def reset(self):
        self.time = 0
        return self.get_obs()

    def step_dynamics(self, actions):
        self.given.append(actions.clone())
        self.time += 1

    def get_obs(self):
        world, place = torch.meshgrid(torch.arange(self.worlds), torch.arange(self.places), indexing="ij")
        return torch.stack([world, place, torch.full_like(place, self.time)], dim=-1).float()

    def at_goal(self):
        return (torch.arange(self.places) == 1).expand(self.worlds, -1) & (self.time >= 2)

    def get_rewards(self):
        return (self.at_goal() & (self.time == 2)).float() + 7 * ~self.cont_agent_mask

    def get_dones(self):
        return (self.at_goal() | (self.time >= self.length)).float()

    def get_infos(self):
        never = torch.zeros(self.worlds, self.places)
        return SimpleNamespace(goal_achieved=self.at_goal().float(), collided=never, off_road=never)

    def swap_data_batch(self):
        self.swaps += 1
        self.cont_agent_mask = self.cont_agent_mask.roll(1, dims=1)

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    monkeypatch.setattr(adapter, "simulator", Simulator)


def make(**kwargs):
    env = GPUDrive(**{"num_envs": 2, "max_cars": 3, "episode_length": 3, **kwargs})
    env.reset()
    return env


def idle(env):
    return np.zeros(env.num_agents, np.int32)


def test_the_contract_is_kept():
    assert check_plugin("gpudrive", steps=0)
    check_env(GPUDrive, num_envs=1, steps=9, max_cars=2, episode_length=3)


def test_rows_are_the_cars_and_the_rest_is_masked():
    env = make()
    assert env.num_agents == 6 and env.masks.tolist() == [True, False, False, True, True, False]
    assert env.observations[:, :2].tolist() == [[0, 1], [0, 0], [0, 0], [1, 1], [1, 2], [0, 0]]
    env.step(np.array([4, 0, 0, 3, 2, 0], np.int32))
    assert env._sim.given[0].tolist() == [[0, 4, 0, 0, 0], [0, 3, 2, 0, 0]]
    assert not env.rewards.any()


def test_a_car_at_its_goal_ends_and_is_masked_until_the_scene_is_over():
    env = make()
    env.step(idle(env))
    env.step(idle(env))
    assert env.terminals.tolist() == [True, False, False, True, False, False] and not env.truncations.any()
    assert env.rewards.tolist() == [1, 0, 0, 1, 0, 0] and env.masks.sum() == 3
    assert env.final_observations[3].tolist() == [1, 1, 2]
    env.step(idle(env))
    assert env.masks.tolist() == [False] * 4 + [True, False]
    assert env.truncations.tolist() == [False] * 4 + [True, False] and not env.terminals.any() and not env.rewards.any()
    assert env.final_observations[4].tolist() == [1, 2, 3] and env.observations[4].tolist() == [1, 2, 0]
    log = env.drain_log()
    assert log["n"] == 3 and log["goal"] == pytest.approx(2 / 3) and log["collision"] == 0
    assert log["episode_return"] == pytest.approx(2 / 3) and log["episode_length"] == pytest.approx(7 / 3)
    env.step(idle(env))
    assert env.masks.tolist() == [True, False, False, True, True, False]


def test_a_goal_in_the_last_step_is_a_terminal():
    env = make(episode_length=2)
    env.step(idle(env))
    env.step(idle(env))
    assert env.terminals.tolist() == [True, False, False, True, False, False]
    assert env.truncations.tolist() == [False, False, False, False, True, False]


def test_new_scenes_come_after_so_many():
    env = make(swap_every=2)
    for _ in range(5):
        env.step(idle(env))
    assert env._sim.swaps == 0
    env.step(idle(env))
    assert env._sim.swaps == 1 and env.observations[:, 1].tolist() == [2, 0, 0, 2, 3, 0]


def test_wrong_actions_and_arguments_are_named():
    env = make()
    with pytest.raises(ActionError, match="row 1"):
        env.step(np.array([0, 5, 0, 0, 0, 0], np.int32))
    for wrong in ({"max_cars": 0}, {"episode_length": 0}, {"swap_every": -1}, {"render_mode": "rgb_array"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            GPUDrive(**wrong)
    env.close()
    env.close()


def test_without_gpudrive_the_error_holds_the_lines_that_build_it(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "gpudrive", None)
    with pytest.raises(EnvError, match=r"(?s)git clone --recursive .*cmake .*ocean-drive"):
        pufferlib.make("gpudrive", backend="serial")
