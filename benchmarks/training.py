"""Training speed on breakout against a bare PyTorch loop that runs the same network on tensors of the same shapes.

The bare loop (`pufferlib.train.floor`, which `puffer profile` uses as well) has no env, no sampling, no advantages and no losses
but a sum of squares. Both take turns in one process, so their ratio holds on a noisy machine.

python benchmarks/training.py [--policy mlp] [--rounds 8]
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

import pufferlib
from common import machine
from pufferlib.policies import build_policy
from pufferlib.train.floor import BareLoop


def main() -> None:
    """Print steps per second of both, and the median of the pairwise ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default="mlp", help="mlp, lstm, mingru, ...; the bar is 0.9 for mlp, 0.8 for the other two")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--num-envs", type=int, default=4096)
    parser.add_argument("--horizon", type=int, default=64)
    parser.add_argument("--minibatch-size", type=int, default=8192)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--num-workers", type=int, default=None)
    parser.add_argument(
        "--batch-size", type=int, default=None, help="envs of one batch; fewer than num-envs overlaps policy and envs"
    )
    given = parser.parse_args()

    env = pufferlib.make(
        "ocean-breakout",
        num_envs=given.num_envs,
        backend=given.backend,
        num_workers=given.num_workers,
        batch_size=given.batch_size,
    )
    trainer = pufferlib.PuffeRL(
        env=env, policy=build_policy(given.policy, env.single_observation_space, env.single_action_space), device="cpu",
        batch_size=given.num_envs * given.horizon, minibatch_size=given.minibatch_size, update_epochs=1,
    )  # fmt: skip
    bare_policy = build_policy(given.policy, env.single_observation_space, env.single_action_space)
    observations = torch.rand(given.horizon, given.num_envs, *env.single_observation_space.shape)
    loop = BareLoop(bare_policy, observations, given.minibatch_size)

    steps = given.num_envs * given.horizon
    ours, bare = [], []
    for round_number in range(given.rounds + 1):
        start = time.perf_counter()
        trainer.evaluate()
        trainer.train()
        middle = time.perf_counter()
        loop.run()
        end = time.perf_counter()
        if round_number:  # the first one warms caches up
            ours.append(steps / (middle - start))
            bare.append(steps / (end - middle))
    split = {name: value for name, value in trainer.mean_and_log().items() if name.startswith("time/")}
    trainer.close()
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    print(machine())
    print(f"torch threads {torch.get_num_threads()}, {given.num_envs} rows x {given.horizon}, minibatch {given.minibatch_size}")
    print(f"PuffeRL, {given.policy}, on ocean-breakout  {statistics.median(ours) / 1e3:8.1f} k steps/s")
    print(f"bare PyTorch loop  {statistics.median(bare) / 1e3:8.1f} k steps/s")
    print(f"ratio: median {statistics.median(ratios):.3f}, min {min(ratios):.3f}, max {max(ratios):.3f}")
    print("time split:", {name: round(value, 4) for name, value in split.items()})


if __name__ == "__main__":
    main()
