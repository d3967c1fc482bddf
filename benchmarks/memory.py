"""Peak memory of training on breakout against the arrays that must exist for it.

Those are: the rollout's storage (observations, actions, rewards, flags, masks), what is learnt from it (log-probabilities,
values, bootstrapped values, episode starts, advantages, targets), one minibatch, the network's activations and gradients for it,
and weights with the optimizer's moments. The interpreter with its libraries is measured before, and printed apart.

python benchmarks/memory.py [--num-envs 16384] [--horizon 64]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import pufferlib
from common import machine
from pufferlib.policies import build_policy

MIB = 1 << 20


def memory(key: str) -> int:
    """Bytes, by a line of /proc/self/status: VmRSS now, VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


def must_exist(trainer: pufferlib.PuffeRL) -> dict[str, int]:
    """Bytes of what no implementation of this algorithm can do without."""
    rollout, config = trainer.rollout, trainer.config
    needed = ("observations", "actions", "rewards", "terminals", "truncations", "masks", "action_masks")
    arrays = [getattr(rollout.storage, name) for name in needed]
    samples, weights = config.batch_size, sum(p.numel() for p in trainer.policy.parameters())
    one_observation = rollout.observations[0, 0].numel() * rollout.observations.element_size()
    widths = [module.out_features for module in trainer.policy.modules() if isinstance(module, torch.nn.Linear)]
    return {
        "rollout": sum(array.nbytes for array in arrays if array is not None),
        "learnt from": samples * (4 * 5 + 1),  # log-probability, value, bootstrap, advantage, target: float32; start: bool
        "minibatch": config.minibatch_size * (one_observation + 4 * 5),
        "activations": config.minibatch_size * 4 * 2 * 2 * sum(widths),  # before and after the activation, and their gradients
        "weights": weights * 4 * 4,  # themselves, gradients, two moments
    }


def main() -> None:
    """Train two rollouts and print the peak beside the sum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-envs", type=int, default=16_384)
    parser.add_argument("--horizon", type=int, default=64)
    parser.add_argument("--minibatch-size", type=int, default=8192)
    parser.add_argument("--rollouts", type=int, default=3)
    parser.add_argument("--env", default="ocean-breakout")
    parser.add_argument("--policy", default="mlp")
    given = parser.parse_args()

    small = pufferlib.make(given.env, num_envs=8)  # whatever is loaded on first use is loaded now
    policy = build_policy(given.policy, small.single_observation_space, small.single_action_space)
    warm = pufferlib.PuffeRL(small, policy, device="cpu", horizon=given.horizon, minibatch_size=8 * given.horizon)
    for _ in range(2):
        warm.evaluate()
        warm.train()
    warm.close()
    base = memory("VmRSS")

    env = pufferlib.make(given.env, num_envs=given.num_envs)
    policy = build_policy(given.policy, env.single_observation_space, env.single_action_space)
    trainer = pufferlib.PuffeRL(env, policy, device="cpu", horizon=given.horizon, minibatch_size=given.minibatch_size)
    worlds = memory("VmRSS") - base
    for _ in range(given.rollouts):
        trainer.evaluate()
        trainer.train()
    peak = memory("VmHWM")
    needed = must_exist(trainer)
    trainer.close()

    whole = sum(needed.values())
    print(machine())
    shape = f"{given.num_envs:,} worlds x {given.horizon} steps, minibatches of {given.minibatch_size:,}"
    print(f"{given.env}, {given.policy}: {shape}\n")
    print("| what | MiB |\n|---|---|")
    for name, size in needed.items():
        print(f"| {name} | {size / MIB:,.1f} |")
    print(f"| **must exist** | {whole / MIB:,.1f} |")
    print(f"| interpreter, torch, libraries | {base / MIB:,.1f} |")
    print(f"| env and trainer before the first rollout | {worlds / MIB:,.1f} |")
    print(f"| **peak** | {peak / MIB:,.1f} |")
    print(
        f"\npeak without the interpreter: {(peak - base) / whole:.2f} x what must exist (bar 1.30); with it: {peak / whole:.2f} x"
    )


if __name__ == "__main__":
    main()
