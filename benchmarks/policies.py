"""Speed of the recurrent policies, side by side: one step of acting, and learning from whole segments.

Acting: one step of our LSTM core against torch's nn.LSTM called for that step; then of the whole `lstm` policy (a hidden layer,
LSTM, heads) as a module and as the trainer runs it, against the same layers around nn.LSTM.
Learning: forward and backward of the cores alone over segments; then PuffeRL.train() on ocean-memory, by torch and by what
`learner="auto"` takes.

python benchmarks/policies.py [--hidden-size 128] [--horizon 64] [--threads 1] [--seconds 0.3] [--device cpu]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from gymnasium import spaces

import pufferlib
from common import best_rates, machine
from pufferlib.policies import build_policy
from pufferlib.policies.attention import AttentionCore
from pufferlib.policies.cores import GRUCore, LSTMCore, MinGRUCore, loop_over_time, scan_over_time
from pufferlib.train.native import native_network

ROWS = (1, 4, 16, 64, 256, 1024, 4096)


def synchronised(work: Callable[[], Any], device: str) -> Callable[[], Any]:
    """`work`, and on a GPU waiting for it to be done."""
    if device == "cpu":
        return work

    def run() -> None:
        work()
        torch.cuda.synchronize()

    return run


class Plain(torch.nn.Module):
    """The layers of an `lstm` policy around nn.LSTM, called for each step."""

    def __init__(self, policy: Any, size: int) -> None:
        super().__init__()
        self.policy, self.lstm = policy, torch.nn.LSTM(size, size)

    def forward(self, observations: torch.Tensor, state: Any) -> Any:
        features, state = self.lstm(self.policy.body(self.policy.encoder(observations)).unsqueeze(0), state)
        return self.policy.heads(features[0]), state


def acting(size: int, seconds: float, device: str) -> None:
    """Microseconds of one step, and how many times faster ours is."""
    core, bare = LSTMCore(size, size).to(device), torch.nn.LSTM(size, size).to(device)
    policy = build_policy("lstm", spaces.Box(-1, 1, (32,)), spaces.Discrete(4), hidden_size=size).to(device)
    plain, native = Plain(policy, size).to(device), native_network(policy, policy.distribution, torch.device(device))
    print(
        f"one step, {size} wide, us: rows | nn.LSTM, LSTMCore, ratio | policy around nn.LSTM, lstm policy, ratio | trainer, ratio"
    )
    with torch.inference_mode():
        for rows in ROWS:
            x, seen = torch.randn(rows, size, device=device), torch.randn(rows, 32, device=device)
            state = core.initial_state(rows)
            whole = tuple(part.unsqueeze(0) for part in state)
            works: dict[str, Callable[[], Any]] = {
                "nn.LSTM": lambda x=x, whole=whole: bare(x.unsqueeze(0), whole),
                "core": lambda x=x, state=state: core.step(x, state),
                "plain": lambda seen=seen, whole=whole: plain(seen, whole),
                "policy": lambda seen=seen, state=state: policy(seen, state),
            }
            if native is not None:
                works["native"] = lambda seen=seen, state=state: native(seen, state)
            rates = best_rates({name: (synchronised(work, device), 1) for name, work in works.items()}, seconds)
            took = {name: 1e6 / rate for name, rate in rates.items()}
            line = [f"  {rows:5d} |"]
            for reference, name in (("nn.LSTM", "core"), ("plain", "policy"), ("plain", "native")):
                if name in took:
                    both = "" if name == "native" else f"{took[reference]:9.1f} "
                    line.append(f"{both}{took[name]:9.1f} {took[reference] / took[name]:6.2f} |")
            print(" ".join(line))


def cores(size: int, horizon: int, rows: int, seconds: float, device: str) -> None:
    """Forward and backward over segments in which one episode in 32 steps begins somewhere, per row."""
    makers = {
        "lstm": LSTMCore(size, size), "gru": GRUCore(size, size), "mingru": MinGRUCore(size), "attention": AttentionCore(size)
    }  # fmt: skip
    features = torch.randn(horizon, rows, size, device=device)
    starts = torch.rand(horizon, rows, device=device) < 1 / 32

    def learn(core: Any) -> Callable[[], None]:
        core.to(device)
        state = core.initial_state(rows)

        def run() -> None:
            core.zero_grad(set_to_none=True)
            core.sequence(features, state, starts)[0].square().mean().backward()

        return synchronised(run, device)

    rates = best_rates({name: (learn(core), horizon * rows) for name, core in makers.items()}, seconds)
    print(f"forward and backward of the core, {rows} rows x {horizon}: k samples/s, ratio to lstm")
    for name, value in rates.items():
        print(f"  {name:10s} {value / 1e3:8.0f} {value / rates['lstm']:6.2f}")
    keep, add = torch.rand(horizon, rows, size, device=device), torch.randn(horizon, rows, size, device=device)
    ways = {"loop": loop_over_time, "scan": scan_over_time}
    passes = {name: (synchronised(lambda way=way: way(keep, add, keep[0]), device), horizon * rows) for name, way in ways.items()}
    rates = best_rates(passes, seconds)
    print("the recurrence alone: " + ", ".join(f"{name} {value / 1e6:.2f} M steps/s" for name, value in rates.items()))


def learning(size: int, horizon: int, rounds: int, device: str) -> None:
    """Seconds of PuffeRL.train() on rollouts of 256 rows, the policies taking turns; the best round of each."""
    trainers = {}
    for learner in ("torch", "auto"):
        for name in ("lstm", "gru", "mingru", "attention"):
            env = pufferlib.make("ocean-memory", num_envs=256, num_workers=1)
            policy = build_policy(name, env.single_observation_space, env.single_action_space, seed=0, hidden_size=size)
            trainers[name, learner] = pufferlib.PuffeRL(
                env, policy, device=device, horizon=horizon, minibatch_size=64 * horizon, learner=learner
            )
    best = dict.fromkeys(trainers, 0.0)
    for _ in range(rounds):
        for key, trainer in trainers.items():
            trainer.evaluate()
            start = time.perf_counter()
            trainer.train()
            best[key] = max(best[key], trainer.config.batch_size / (time.perf_counter() - start))
    print(f"PuffeRL.train(), 256 rows x {horizon}: learner, policy, k samples/s, ratio to lstm with the same learner")
    for (name, learner), value in best.items():
        print(f"  {learner:6s} {name:10s} {value / 1e3:8.0f} {value / best['lstm', learner]:6.2f}")
    for trainer in trainers.values():
        trainer.close()


def main() -> None:
    """Print all three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--horizon", type=int, default=64)
    parser.add_argument("--rows", type=int, default=128, help="segments of the cores' passes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each window; the best of three counts")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(machine())
    print(f"torch threads {given.threads}, device {given.device}")
    acting(given.hidden_size, given.seconds, given.device)
    cores(given.hidden_size, given.horizon, given.rows, given.seconds, given.device)
    learning(given.hidden_size, given.horizon, given.rounds, given.device)


if __name__ == "__main__":
    main()
