"""Neural MMO itself, where it is installed."""

import numpy as np
import pytest

import pufferlib
from pufferlib import PuffeRL, TrainConfig
from pufferlib.errors import ConfigError
from pufferlib.policies import build_policy
from pufferlib.testing import check_env

nmmo = pytest.importorskip("nmmo")
from pufferlib_nmmo.env import make_env  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # the package's own
SMALL = {"size": "small", "players": 16, "horizon": 12}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("maps")


def test_the_contract_is_kept(folder):
    check_env(make_env, num_envs=2, steps=14, map_folder=folder, **SMALL)


def test_a_game_from_its_begin_to_its_end(folder):
    vec = pufferlib.make("nmmo", num_envs=2, map_folder=folder, **SMALL)
    vec.reset(seed=0)
    assert vec.num_agents == 32 and len(vec.single_action_space.nvec) == 13
    assert vec.action_mask_size == vec.single_action_space.nvec.sum()
    for step in range(1, 13):
        _, rewards, terminals, truncations, _ = vec.step(vec.action_space.sample())
        assert np.isfinite(rewards).all() and truncations.any() == (step == 12) and not (terminals & truncations).any()
    log = vec.drain_log()
    assert log["n"] == 32 and 0 < log["survivors"] <= 1 and 0 <= log["tasks_completed"] <= 1 and 0 < log["task_progress"] <= 1
    vec.close()


def test_action_targets_allow_what_neural_mmo_takes(folder):
    env = make_env(map_folder=folder, **SMALL)
    observations, _ = env.reset(seed=1)
    targets = env.env.obs[1].to_gym()["ActionTargets"]
    mask = observations[1]["action_mask"]
    assert mask[:3].tolist() == targets["Attack"]["Style"].tolist()
    assert mask[-13:].tolist() == targets["Use"]["InventoryItem"].tolist()
    assert "ActionTargets" not in observations[1]["observation"]


def test_a_seed_repeats_the_world(folder):
    def tiles(seed):
        env = make_env(map_folder=folder, **SMALL)
        env.reset(seed=seed)
        return env.env.tile_map[:, :, 2].copy()

    assert (tiles(5) == tiles(5)).all() and (tiles(5) != tiles(6)).any()
    assert len(list(folder.iterdir())) == 1


def test_configs_of_your_own(folder):
    class Peaceful(nmmo.config.Small, nmmo.config.Terrain, nmmo.config.Resource):
        PROVIDE_ACTION_TARGETS = False

    vec = pufferlib.emulate(make_env, config=Peaceful, players=8, map_folder=folder)
    vec.reset(seed=0)
    assert vec.num_agents == 8 and vec.action_mask_size == vec.single_action_space.nvec.sum()
    assert vec.storage.action_masks.all()
    vec.close()


def test_training(folder):
    vec = pufferlib.make("neuralmmo", num_envs=1, map_folder=folder, **SMALL)
    policy = build_policy("mlp", vec.single_observation_space, vec.single_action_space, hidden_size=8)
    trainer = PuffeRL(vec, policy, TrainConfig(device="cpu", batch_size=16 * 16, total_timesteps=16 * 16))
    trainer.evaluate()
    trainer.train()
    assert np.isfinite([value for name, value in trainer.mean_and_log().items() if name.startswith("losses/")]).all()
    trainer.close()


@pytest.mark.parametrize(("wrong", "match"), [({"size": "tiny"}, "size must be one of"), ({"players": 0}, "players must be")])
def test_wrong_arguments_are_named(wrong, match):
    with pytest.raises(ConfigError, match=match):
        make_env(**wrong)
