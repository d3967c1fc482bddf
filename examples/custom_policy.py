"""Train your own network: any nn.Module with forward(observations) -> (action_parameters, value).

python examples/custom_policy.py
"""

from __future__ import annotations

import torch
from torch import nn

import pufferlib
from pufferlib.pytorch import layer_init


class TwoTowers(nn.Module):
    """Separate networks for actions and value."""

    def __init__(self, inputs: int, actions: int, width: int = 64) -> None:
        super().__init__()
        self.actor = nn.Sequential(
            layer_init(nn.Linear(inputs, width)), nn.Tanh(), layer_init(nn.Linear(width, actions), std=0.01)
        )
        self.critic = nn.Sequential(layer_init(nn.Linear(inputs, width)), nn.Tanh(), layer_init(nn.Linear(width, 1), std=1.0))

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """observations: [rows, inputs]. Returns logits [rows, actions] and values [rows, 1]."""
        flat = observations.flatten(1).float()
        return self.actor(flat), self.critic(flat)


if __name__ == "__main__":
    env = pufferlib.make("ocean-cartpole", num_envs=256)
    policy = TwoTowers(env.single_observation_space.shape[0], env.single_action_space.n)
    trainer = pufferlib.PuffeRL(env=env, policy=policy, device="cpu", learning_rate=3e-3, total_timesteps=500_000)
    for logs in trainer:
        print(f"{logs['global_step']:>7} steps: mean episode length {logs.get('environment/episode_length', float('nan')):.0f}")
    trainer.close()
