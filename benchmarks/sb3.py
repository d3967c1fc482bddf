"""PuffeRL against Stable-Baselines3's PPO on Gymnasium's CartPole-v1: the same network, the same settings, the same cores.

Both train 8 envs with one shared network of two GELU layers of 64 (our default MLP; a features extractor for SB3), 32 steps, 20
epochs over minibatches of 256, the rates falling linearly: the settings that SB3's authors publish for this task. A run has
solved it when the last 20 episodes, of which each ended in training, return 475 on the average.

python benchmarks/sb3.py [--seeds 10] [--total 100000]     needs stable-baselines3
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import deque
from typing import Any

import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

import pufferlib
from common import machine
from pufferlib.policies import build_policy

NUM_ENVS, HORIZON, MINIBATCH, EPOCHS, WIDTH = 8, 32, 256, 20, 64
RATE, CLIP, GAMMA, LAMBDA = 1e-3, 0.2, 0.98, 0.8
SOLVED, WINDOW = 475.0, 20


class Solved:
    """Watches returns as they come in."""

    def __init__(self) -> None:
        self.returns: deque[float] = deque(maxlen=WINDOW)
        self.at: int | None = None

    def add(self, episode_return: float, step: int) -> None:
        self.returns.append(episode_return)
        if self.at is None and len(self.returns) == WINDOW and statistics.fmean(self.returns) >= SOLVED:
            self.at = step


class Body(BaseFeaturesExtractor):
    """The layers of our MLP."""

    def __init__(self, observation_space: gymnasium.spaces.Box) -> None:
        super().__init__(observation_space, WIDTH)
        self.layers = nn.Sequential(nn.Linear(observation_space.shape[0], WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)


class Watch(BaseCallback):
    """Hands SB3's episodes to `Solved`."""

    def __init__(self, solved: Solved) -> None:
        super().__init__()
        self.solved = solved

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                self.solved.add(info["episode"]["r"], self.num_timesteps)
        return True


def run_sb3(seed: int, total: int) -> tuple[float, int | None]:
    """Steps per second, and the step at which it was solved."""
    env = DummyVecEnv([lambda: Monitor(gymnasium.make("CartPole-v1")) for _ in range(NUM_ENVS)])
    solved = Solved()
    model = PPO(
        "MlpPolicy", env, seed=seed, device="cpu", n_steps=HORIZON, batch_size=MINIBATCH, n_epochs=EPOCHS, gamma=GAMMA,
        gae_lambda=LAMBDA, learning_rate=lambda left: RATE * left, clip_range=lambda left: CLIP * left, ent_coef=0.0,
        policy_kwargs={"features_extractor_class": Body, "net_arch": []},
    )  # fmt: skip
    start = time.perf_counter()
    model.learn(total, callback=Watch(solved))
    seconds = time.perf_counter() - start
    env.close()
    return model.num_timesteps / seconds, solved.at


def run_pufferl(seed: int, total: int) -> tuple[float, int | None]:
    """The same for PuffeRL."""
    torch.manual_seed(seed)
    env = pufferlib.make("gym-CartPole-v1", num_envs=NUM_ENVS, backend="serial")
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, hidden_size=WIDTH)
    trainer = pufferlib.PuffeRL(
        env=env, policy=policy, seed=seed, device="cpu", total_timesteps=total, horizon=HORIZON, minibatch_size=MINIBATCH,
        update_epochs=EPOCHS, gamma=GAMMA, gae_lambda=LAMBDA, learning_rate=RATE, anneal_schedule="linear", clip_coef=CLIP,
        vf_clip_coef=0.0, ent_coef=0.0, rho_clip=1.0, c_clip=1.0, adam_eps=1e-5,
    )  # fmt: skip
    solved = Solved()
    start = time.perf_counter()
    for logs in trainer:
        count, mean = int(logs.get("environment/n", 0)), logs.get("environment/episode_return", 0.0)
        for _ in range(count):  # the rollout's episodes, by their mean
            solved.add(mean, trainer.global_step)
    seconds = time.perf_counter() - start
    trainer.close()
    return trainer.global_step / seconds, solved.at


def describe(name: str, runs: list[tuple[float, int | None]]) -> str:
    reached = sorted(at for _, at in runs if at is not None)
    steps = f"median {statistics.median(reached):,.0f}, {reached[0]:,} to {reached[-1]:,}" if reached else "never"
    speed = statistics.median(speed for speed, _ in runs)
    return f"{name:24} {speed:9,.0f} steps/s   solved {len(reached)} of {len(runs)}: {steps}"


def main() -> None:
    """Print speeds, their ratio, and the steps to a return of 475."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--total", type=int, default=100_000)
    given = parser.parse_args()
    ours: list[Any] = []
    theirs: list[Any] = []
    for seed in range(1, given.seeds + 1):
        ours.append(run_pufferl(seed, given.total))
        theirs.append(run_sb3(seed, given.total))
    print(machine())
    print(f"torch threads {torch.get_num_threads()}, {NUM_ENVS} envs, {given.total:,} steps")
    print(describe("PuffeRL", ours))
    print(describe("Stable-Baselines3 PPO", theirs))
    ratios = [a[0] / b[0] for a, b in zip(ours, theirs, strict=True)]
    print(f"speed ratio: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}   (bar 2, aim 4)")


if __name__ == "__main__":
    main()
