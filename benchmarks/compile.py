"""What `compile` and `precision="bfloat16"` do to training speed on breakout, side by side with plain torch and the C kernels.

All take turns in one process, so their ratios hold on a noisy machine. The time that compiling takes is told apart.

python benchmarks/compile.py [--device cuda] [--rounds 8] [--num-envs 1024]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch

import pufferlib
from common import machine
from pufferlib.policies import build_policy

WAYS: dict[str, dict[str, Any]] = {
    "torch": {"learner": "torch"},
    "torch, bfloat16": {"learner": "torch", "precision": "bfloat16"},
    "torch, compiled": {"learner": "torch", "compile": True},
    "torch, compiled, bfloat16": {"learner": "torch", "compile": True, "precision": "bfloat16"},
    "C kernels (CPU only)": {"learner": "auto"},
}


def main() -> None:
    """Print steps per second of each, and the median of the ratios to plain torch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--horizon", type=int, default=64)
    parser.add_argument("--minibatch-size", type=int, default=8192)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    given = parser.parse_args()

    trainers = {}
    for name in given.ways:
        env = pufferlib.make("ocean-breakout", num_envs=given.num_envs)
        policy = build_policy("mlp", env.single_observation_space, env.single_action_space, seed=1)
        trainers[name] = pufferlib.PuffeRL(
            env=env, policy=policy, device=given.device, horizon=given.horizon, minibatch_size=given.minibatch_size, **WAYS[name]
        )
    speeds: dict[str, list[float]] = {name: [] for name in trainers}
    compiling = {}
    for round_number in range(given.rounds + 1):
        for name, trainer in trainers.items():
            start = time.perf_counter()
            trainer.evaluate()
            trainer.train()
            logs = trainer.mean_and_log()  # reads the losses, and so waits for a GPU
            if round_number:
                speeds[name].append(trainer.global_batch / (time.perf_counter() - start))
            else:
                compiling[name] = logs.get("time/compile", 0.0)
    print(machine())
    if given.device.startswith("cuda"):
        print(torch.cuda.get_device_name(given.device))
    print(f"torch threads {torch.get_num_threads()}, {given.num_envs} rows x {given.horizon}, minibatch {given.minibatch_size}\n")
    print("| way | k steps/s, median | ratio to the first: median, min, max | compiling, s |\n|---|---|---|---|")
    first = speeds[given.ways[0]]
    for name, trainer in trainers.items():
        ratios = [own / other for own, other in zip(speeds[name], first, strict=True)]
        spread = f"{statistics.median(ratios):.2f}, {min(ratios):.2f}, {max(ratios):.2f}"
        print(f"| {name} | {statistics.median(speeds[name]) / 1e3:.1f} | {spread} | {compiling[name]:.1f} |")
        trainer.close()


if __name__ == "__main__":
    main()
