"""A training script to copy: an env, your own network, a trainer, a loop.

python examples/train_template.py --env-name ocean-cartpole --total-timesteps 500000 --checkpoint-dir checkpoints
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from torch import nn

import pufferlib
from pufferlib import PuffeRL
from pufferlib.pytorch import layer_init
from pufferlib.train.loggers import Loggers, check_loggers


class Policy(nn.Module):
    """Two hidden layers, a head for the logits of a Discrete action and one for the value."""

    def __init__(self, observation_space: spaces.Box, action_space: spaces.Discrete, width: int = 128) -> None:
        super().__init__()
        inputs = int(torch.Size(observation_space.shape).numel())
        self.body = nn.Sequential(layer_init(nn.Linear(inputs, width)), nn.GELU(), layer_init(nn.Linear(width, width)), nn.GELU())
        self.actor = layer_init(nn.Linear(width, int(action_space.n)), std=0.01)
        self.critic = layer_init(nn.Linear(width, 1), std=1.0)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """observations: [rows, *shape]. Returns logits [rows, actions] and values [rows, 1]."""
        features = self.body(observations.flatten(1).float())
        return self.actor(features), self.critic(features)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small network on any env with Discrete actions.")
    parser.add_argument("--env-name", default="ocean-cartpole", help="see `puffer list`")
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--total-timesteps", type=int, default=500_000, help="agent-steps")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:N or mps")
    parser.add_argument("--logger", default="none", help="none, or a logger of `puffer plugins`")
    parser.add_argument("--checkpoint-dir", type=Path, default=Path("checkpoints"), help="also gets metrics.jsonl")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    check_loggers([arguments.logger])  # a misspelt name stops here, not after the env is built
    env = pufferlib.make(arguments.env_name, num_envs=arguments.num_envs)
    if not isinstance(env.single_action_space, spaces.Discrete):
        raise SystemExit(f"this template's network chooses among Discrete actions, {env.name} has {env.single_action_space}")
    torch.manual_seed(1)
    policy = Policy(env.single_observation_space, env.single_action_space)
    trainer = PuffeRL(env=env, policy=policy, device=arguments.device, total_timesteps=arguments.total_timesteps)

    arguments.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {key: str(value) for key, value in vars(arguments).items()}
    loggers = Loggers([arguments.logger], arguments.checkpoint_dir, settings)
    try:
        for logs in trainer:
            loggers.log(logs, trainer.global_step)
            score = logs.get("environment/episode_return", float("nan"))
            print(f"{trainer.global_step:>9} steps  {logs['SPS']:>9,.0f} steps/s  episode return {score:.2f}")
        trainer.save_checkpoint(arguments.checkpoint_dir / f"{trainer.global_step}.pt")
    finally:
        loggers.close()
        trainer.close()


if __name__ == "__main__":
    main()
