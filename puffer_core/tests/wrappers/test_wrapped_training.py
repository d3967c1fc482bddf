"""PuffeRL trains on wrapped envs, and their statistics are part of its checkpoints."""

import numpy as np
import pytest
import torch

import pufferlib
from pufferlib.errors import CheckpointError
from pufferlib.policies import build_policy
from pufferlib.train.checkpoint import load_env_state
from pufferlib.wrappers import FrameStackObservation, NormalizeObservation, NormalizeReward


def trainer_of(env, policy="mlp"):
    torch.manual_seed(0)
    network = build_policy(policy, env.single_observation_space, env.single_action_space, hidden_size=32)
    return pufferlib.PuffeRL(
        env, network, device="cpu", seed=1, optimizer="adam", learning_rate=2e-3, batch_size=8 * 64, horizon=64,
        minibatch_size=256, update_epochs=4, total_timesteps=30_000,
    )  # fmt: skip


def cartpole(**kwargs):
    return pufferlib.make("gym-CartPole-v1", num_envs=8, backend="serial", **kwargs)


def test_a_stack_of_frames_is_learnt_from():
    with_batches = cartpole(num_workers=2, batch_size=4, in_order=True)
    trainer = trainer_of(FrameStackObservation(NormalizeObservation(with_batches), 3))
    returns = [logs["environment/episode_return"] for logs in trainer if "environment/episode_return" in logs]
    assert np.mean(returns[:5]) < 40 < 70 < np.mean(returns[-5:])
    trainer.close()


def test_a_rollout_holds_whole_stacks():
    trainer = trainer_of(FrameStackObservation(cartpole(), 2))
    for _ in range(2):
        trainer.evaluate()
        observations = trainer.rollout.observations
        ended = trainer.rollout.terminals | trainer.rollout.truncations
        goes_on = ~ended
        torch.testing.assert_close(observations[1:][goes_on][:, 0], observations[:-1][goes_on][:, 1])
        begun = observations[1:][ended]
        assert len(begun) and torch.equal(begun[:, 0], begun[:, 1])
    trainer.close()


def test_checkpoints_hold_the_statistics(tmp_path):
    def wrapped():
        return NormalizeReward(NormalizeObservation(cartpole()))

    trainer = trainer_of(wrapped())
    trainer.evaluate()
    trainer.train()
    trainer.save_checkpoint(tmp_path / "a.pt")
    resumed, evaluated = trainer_of(wrapped()), wrapped()
    resumed.load_checkpoint(tmp_path / "a.pt")
    load_env_state(evaluated, tmp_path / "a.pt")
    for env in (resumed.env, evaluated):
        for key, part in trainer.env.state_dict().items():
            for name, value in part.items():
                np.testing.assert_array_equal(env.state_dict()[key][name], value)
    assert evaluated.env.moments.count > 512
    with pytest.raises(CheckpointError, match=r"0/NormalizeObservation.*this run's env has none: wrap the env likewise"):
        trainer_of(cartpole()).load_checkpoint(tmp_path / "a.pt")
    plain = trainer_of(cartpole())
    plain.save_checkpoint(tmp_path / "b.pt")
    with pytest.raises(CheckpointError, match="of no wrapper"):
        resumed.load_checkpoint(tmp_path / "b.pt")
    for one in (trainer, resumed, plain):
        one.close()
