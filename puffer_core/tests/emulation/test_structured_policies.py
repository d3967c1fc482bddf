"""The default policies on structured observations, as they are."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib.policies import build_policy


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
    loaded = pufferlib.load_policy(tmp_path / "a.pt", vec.single_observation_space, vec.single_action_space)
    assert type(loaded) is type(policy)
    other = pufferlib.structure_of(spaces.Dict({"a": spaces.Discrete(4), "b": spaces.Box(-1, 1, (4,))})).box
    assert other.shape == vec.single_observation_space.shape
    with pytest.raises(pufferlib.errors.CheckpointError, match="observation_space"):
        pufferlib.load_policy(tmp_path / "a.pt", other, vec.single_action_space)
