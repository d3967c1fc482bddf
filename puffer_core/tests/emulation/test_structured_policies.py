"""The default policies on structured observations, as they are."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ConfigError
from pufferlib.policies import build_policy
from pufferlib.policies.observations import ObservationEncoder


class Guess(gymnasium.Env):
    """Reward for naming the code, and the bit's float."""

    observation_space = spaces.Dict(
        {"code": spaces.Discrete(4, start=-1), "x": spaces.Box(-1, 1, (2,)), "im": spaces.Box(0, 255, (3,), np.uint8)}
    )
    action_space = spaces.Tuple((spaces.Discrete(4), spaces.Discrete(2)))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 1.0, True, False, {}


def test_default_policies_read_every_part_in_its_own_way():
    vec = pufferlib.emulate(Guess, num_envs=5)
    observations = torch.from_numpy(vec.reset(seed=0)[0].copy())
    policy = build_policy("mlp", vec.single_observation_space, vec.single_action_space, seed=0)
    parts = pufferlib.unflatten(observations, vec.observation_structure)
    expected = torch.cat([torch.nn.functional.one_hot(parts["code"] + 1, 4), parts["im"] / 255, parts["x"]], 1)
    torch.testing.assert_close(policy.encoder(observations), expected)
    parameters, value = policy(observations)
    assert [part.shape for part in parameters] == [(5, 4), (5, 2)] and value.shape == (5,)


@pytest.mark.parametrize("name", ["mlp", "lstm", "mingru"])
def test_structured_envs_train_and_their_checkpoints_fit_no_other_structure(name, tmp_path):
    vec = pufferlib.emulate(Guess, num_envs=4)
    policy = build_policy(name, vec.single_observation_space, vec.single_action_space, hidden_size=8)
    trainer = pufferlib.PuffeRL(env=vec, policy=policy, horizon=8, minibatch_size=16, total_timesteps=64, device="cpu")
    trainer.fit()
    trainer.save_checkpoint(tmp_path / "a.pt")
    trainer.close()
    loaded = pufferlib.load_policy(tmp_path / "a.pt", env=vec)
    assert type(loaded) is type(policy)
    other = pufferlib.structure_of(spaces.Dict({"a": spaces.Discrete(4), "b": spaces.Box(-1, 1, (4,))})).box
    assert other.shape == vec.single_observation_space.shape
    spaces_of_another = SimpleNamespace(single_observation_space=other, single_action_space=vec.single_action_space)
    with pytest.raises(pufferlib.errors.CheckpointError, match="observation_space"):
        pufferlib.load_policy(tmp_path / "a.pt", env=spaces_of_another)


def encoded(space, value, **settings):
    structure = pufferlib.structure_of(space)
    encoder = ObservationEncoder(structure.box, **settings)
    return encoder(torch.from_numpy(np.stack([structure.flatten(value)] * 2)))[1].tolist()


def test_choices_are_one_hot_from_their_start_on():
    assert encoded(spaces.Discrete(3, start=5), 6) == [0, 1, 0]
    assert encoded(spaces.MultiDiscrete([2, 3], start=[0, -1]), np.array([1, -1])) == [0, 1, 1, 0, 0]
    assert encoded(spaces.MultiBinary((2, 2)), np.array([[0, 1], [1, 0]], np.int8)) == [0, 1, 1, 0]


def test_very_many_choices_are_scaled():
    assert encoded(spaces.Discrete(2001), 500) == [0.25]
    assert encoded(spaces.Tuple((spaces.Discrete(2001), spaces.Discrete(2))), (1000, 1)) == [0.5, 0, 1]


def test_parts_of_one_dtype_are_scaled_together_each_by_its_own_bounds():
    space = spaces.Tuple((spaces.Box(0, 255, (2,), np.uint8), spaces.Box(0, 5, (), np.uint8), spaces.Box(0, 1, (1,), np.uint8)))
    assert encoded(space, (np.array([51, 255]), 1, [1])) == pytest.approx([0.2, 1, 0.2, 1])


def test_onehot_is_for_whole_numbers_and_floats_beside_them_stay():
    space = spaces.Tuple((spaces.Box(-1, 1, (2,), np.int8), spaces.Box(-9, 9, (1,))))
    assert encoded(space, (np.array([-1, 1]), [7.5]), encode="onehot") == [1, 0, 0, 0, 0, 1, 7.5]
    with pytest.raises(ConfigError, match="needs integer observations"):
        encoded(spaces.Tuple((spaces.Box(-1, 1, (2,)),)), (np.zeros(2),), encode="onehot")
    with pytest.raises(ConfigError, match="100000 inputs"):
        encoded(spaces.Dict({"a": spaces.Discrete(100_000), "b": space}), None, encode="onehot")
