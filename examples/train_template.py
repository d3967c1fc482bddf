"""A training script to copy: an env, your own network, a trainer, a loop.

python examples/train_template.py --env-name ocean-cartpole --total-timesteps 500000 --checkpoint-dir checkpoints
torchrun --nproc_per_node=4 examples/train_template.py --num-envs 64        # four processes of 64 envs each learn together
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from torch import nn

import pufferlib
from pufferlib import PuffeRL, TrainConfig
from pufferlib.pytorch import layer_init
from pufferlib.train.loggers import Loggers, check_loggers

SETTINGS = (
    "total_timesteps", "seed", "device", "precision", "optimizer", "learning_rate", "batch_size", "horizon", "minibatch_size",
    "update_epochs", "gamma", "gae_lambda", "clip_coef", "vf_coef", "vf_clip_coef", "ent_coef", "max_grad_norm", "target_kl",
)  # fmt: skip
"""Settings of the trainer that are flags here; their defaults are TrainConfig's."""


class Policy(nn.Module):
    """Two hidden layers, a head for the action and one for the value."""

    def __init__(self, observation_space: spaces.Box, action_space: spaces.Space[Any], width: int = 128) -> None:
        super().__init__()
        inputs = int(torch.Size(observation_space.shape).numel())
        self.body = nn.Sequential(layer_init(nn.Linear(inputs, width)), nn.GELU(), layer_init(nn.Linear(width, width)), nn.GELU())
        self.action_space = action_space
        if isinstance(action_space, spaces.Discrete):
            outputs = int(action_space.n)
        elif isinstance(action_space, spaces.MultiDiscrete):
            outputs = int(action_space.nvec.sum())
        else:
            outputs = int(torch.Size(action_space.shape).numel())
            self.log_std = nn.Parameter(torch.zeros(action_space.shape))
        self.actor = layer_init(nn.Linear(width, outputs), std=0.01)
        self.critic = layer_init(nn.Linear(width, 1), std=1.0)

    def forward(self, observations: torch.Tensor) -> tuple[Any, torch.Tensor]:
        """observations: [rows, *shape]. Returns (action parameters, values [rows, 1]).

        Action parameters are logits (Discrete), one tensor of logits for each choice (MultiDiscrete), or (mean, log_std) (Box).
        """
        features = self.body(observations.flatten(1).float())
        out, value = self.actor(features), self.critic(features)
        if isinstance(self.action_space, spaces.Discrete):
            return out, value
        if isinstance(self.action_space, spaces.MultiDiscrete):
            return torch.split(out, self.action_space.nvec.reshape(-1).tolist(), 1), value
        mean = out.reshape(len(out), *self.action_space.shape)
        return (mean, self.log_std.expand_as(mean)), value


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small network of your own on any env.")
    parser.add_argument("--env-name", default="ocean-cartpole", help="see `puffer list`")
    parser.add_argument("--num-envs", type=int, default=256, help="of this process")
    parser.add_argument("--num-workers", type=int, default=None, help="threads or processes that step them")
    parser.add_argument("--compile", action="store_true", help="compile the network with torch.compile")
    parser.add_argument("--logger", default="none", help="none, or one of `puffer plugins`: wandb, neptune, tensorboard, ...")
    parser.add_argument("--checkpoint-dir", type=Path, default=Path("checkpoints"), help="also gets metrics.jsonl")
    parser.add_argument("--resume", type=Path, default=None, help="a checkpoint to go on from")
    defaults = TrainConfig(total_timesteps=500_000)
    for name in SETTINGS:
        default = getattr(defaults, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=str if isinstance(default, str) else float, default=default)
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    check_loggers([arguments.logger])  # a misspelt name stops here, not after the env is built
    env = pufferlib.make(arguments.env_name, num_envs=arguments.num_envs, num_workers=arguments.num_workers)
    torch.manual_seed(int(arguments.seed))
    policy = Policy(env.single_observation_space, env.single_action_space)
    settings = {name: getattr(arguments, name) for name in (*SETTINGS, "compile")}
    trainer = PuffeRL(env=env, policy=policy, **settings)  # under torchrun, it joins the other processes
    is_main = trainer.rank == 0  # prints and writes
    try:
        if arguments.resume:
            trainer.load_checkpoint(arguments.resume)
        with open_loggers(arguments) if is_main else contextlib.nullcontext() as loggers:
            for logs in trainer:
                if loggers:
                    loggers.log(logs, trainer.global_step)
                    score = logs.get("environment/episode_return", float("nan"))
                    print(f"{trainer.global_step:>9} steps  {logs['SPS']:>9,.0f} steps/s  episode return {score:.2f}")
        trainer.save_checkpoint(arguments.checkpoint_dir / f"{trainer.global_step}.pt")
    finally:
        trainer.close()


def open_loggers(arguments: argparse.Namespace) -> contextlib.closing[Loggers]:
    arguments.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {key: str(value) for key, value in vars(arguments).items()}
    return contextlib.closing(Loggers([arguments.logger], arguments.checkpoint_dir, settings))


if __name__ == "__main__":
    main()
