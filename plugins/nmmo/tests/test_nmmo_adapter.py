"""The adapter's own logic, on an env with Neural MMO's interface; `make test-nmmo` runs the real one."""

import multiprocessing

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import EnvError
from pufferlib.testing import check_env, check_plugin
from pufferlib_nmmo import maps
from pufferlib_nmmo.env import NeuralMMO, make_env


def test_the_plugin_is_sound(recorded):
    assert check_plugin("nmmo", steps=0)
    check_env(lambda: NeuralMMO(recorded()), num_envs=2, steps=9)


def test_action_targets_become_masks_in_the_order_of_the_actions(recorded):
    env = recorded()
    vec = pufferlib.emulate(lambda: NeuralMMO(env))
    observations, _ = vec.reset(seed=0)
    assert vec.single_action_space.nvec.tolist() == [3, 5, 4] and vec.action_mask_size == 12
    odd, even = [0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1], [1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0]
    assert vec.storage.action_masks[0].tolist() == [odd, even, odd]
    seen = pufferlib.unflatten(observations[2], pufferlib.structure_of(vec.single_observation_space))
    assert set(seen) == {"AgentId", "Tile"} and seen["AgentId"] == 3 and (seen["Tile"] == 30).all()
    vec.step(np.array([[1, 3, 1], [0, 0, 0], [1, 1, 3]], np.int32))
    assert env.given[0][1] == {"Attack": {"Style": 1, "Target": 3}, "Move": {"Direction": 1}}
    assert env.given[0][3]["Move"]["Direction"] == 3
    vec.close()


def test_deaths_are_terminals_the_horizon_a_truncation_and_figures_come_at_the_end(recorded):
    vec = pufferlib.emulate(lambda: NeuralMMO(recorded()))
    vec.reset(seed=0)
    actions = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1]], np.int32)
    _, rewards, terminals, truncations, infos = vec.step(actions)
    assert rewards.tolist() == [1, 2, 3] and terminals.tolist() == [False, True, False] and not truncations.any()
    assert "final_info" not in infos
    assert vec.storage.masks[0].all()
    _, rewards, terminals, truncations, _ = vec.step(actions)
    assert vec.storage.masks[0].tolist() == [True, False, True] and rewards.tolist() == [1, 0, 3]
    assert not terminals.any() and truncations.tolist() == [True, False, True]
    log = vec.drain_log()
    assert log["task_progress"] == pytest.approx((1 + 2 + 3) / 4 / 3)
    assert log["tasks_completed"] == pytest.approx(1 / 3) and log["survivors"] == pytest.approx(2 / 3)
    assert {name for name in log if "/" in name} == set()
    vec.close()


def test_without_neural_mmo_the_error_holds_the_lines_that_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "nmmo", None)
    with pytest.raises(
        EnvError, match=r"--no-build-isolation --no-cache-dir --no-binary nmmo --ignore-requires-python nmmo==2\.1\.2"
    ):
        make_env()


class Generator:
    def __init__(self, config):
        self.config = config

    def generate_all_maps(self, seed):
        with open(f"{self.config.PATH_MAPS}/map", "w") as file:
            file.write(str(seed))


class Config:
    MAP_GENERATOR, MAP_BORDER = Generator, 4

    def __init__(self, size=8):
        self.settings = {"MAP_SIZE": size, "HORIZON": 3, "PATH_MAPS": "maps"}

    def items(self):
        return self.settings.items()

    def set(self, name, value):
        setattr(self, name, value)


def test_maps_are_made_once_for_each_size_and_version(tmp_path):
    first = maps.use_kept_maps(Config(), tmp_path, "2.1.2")
    (first / "mark").touch()
    again = maps.use_kept_maps(Config(), tmp_path, "2.1.2")
    assert again == first and (again / "mark").exists() and (again / "map").exists()
    others = {maps.use_kept_maps(Config(size), tmp_path, version) for size, version in ((8, "2.2"), (9, "2.1.2"))}
    assert len(others | {first}) == 3 == len(list(tmp_path.iterdir()))


def test_a_generator_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(self, seed):
        raise ValueError("no room")

    monkeypatch.setattr(Generator, "generate_all_maps", fail)
    with pytest.raises(ValueError, match="no room"):
        maps.use_kept_maps(Config(), tmp_path, "2.1.2")
    assert list(tmp_path.iterdir()) == []


def make_maps(folder):
    maps.use_kept_maps(Config(), folder, "2.1.2")


def test_processes_that_make_the_same_maps_do_not_disturb_each_other(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=make_maps, args=(tmp_path,)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes) and len(list(tmp_path.iterdir())) == 1
