"""Ranks in forked processes: `python ranks.py SIZE FOLDER SCENARIO ...`.

Each rank runs the scenarios in order and leaves {scenario: result or error} in FOLDER/<rank>.pt. A scenario of one process, named
`alone`, runs the same training with the envs of all ranks. Nothing here uses autograd before the fork.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from pufferlib.env import PufferEnv
from pufferlib.policies import build_policy
from pufferlib.policies.distributions import masked_log_softmax
from pufferlib.train.puffe_rl import PuffeRL
from pufferlib.vector import make_vec
from pufferlib.wrappers import NormalizeObservation

ENVS, HORIZON, SEED = 3, 6, 5
"""Worlds of each rank."""


class World(PufferEnv):
    """Worlds that differ by their seeds: they walk by chance and action, end by chance, and sleep (mask 0) by chance."""

    def __init__(self, num_envs: int = 1, *, asleep: float = 0.2, box: bool = False, buf: Any = None) -> None:
        self.num_envs = self.num_agents = num_envs
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.single_action_space = spaces.Box(-1, 1, (2,), np.float32) if box else spaces.Discrete(3)
        self.asleep, self.seeds, self.actions_seen = asleep, [], []
        self.steps, self.failing, self.returns, self.episodes = 0, {}, np.zeros(num_envs), 0
        self.observed: list[Any] = []
        self.ended: list[float] = []
        super().__init__(buf)

    def reset(self, seed: Any = None) -> Any:
        self.seeds += list(seed)
        self.chance = [np.random.default_rng(number) for number in seed]
        self.place = np.stack([chance.normal(size=3) for chance in self.chance])
        self.observations[:] = self.place
        self.observed += list(self.observations.copy())
        self.terminals[:] = self.truncations[:] = False
        self.masks[:] = True
        return self.observations, []

    def step(self, actions: Any) -> Any:
        self.steps += 1
        if self.steps in self.failing:
            self.failing[self.steps](self)
        self.actions_seen.append(np.array(actions))
        first = np.asarray(actions, np.float64).reshape(self.num_envs, -1)[:, 0]
        drawn = np.stack([chance.random(6) for chance in self.chance])
        self.place = 0.9 * self.place + drawn[:, :3] - 0.5 + 0.1 * first[:, None]
        self.rewards[:] = self.place[:, 0] * first
        self.returns += self.rewards
        self.terminals[:] = drawn[:, 3] < 0.1
        self.truncations[:] = (drawn[:, 4] < 0.1) & ~self.terminals
        self.masks[:] = drawn[:, 5] >= self.asleep
        self.final_observations[:] = self.place
        over = self.terminals | self.truncations
        self.observed += list(self.final_observations.copy())
        self.episodes += int(over.sum())
        self.ended += self.returns[over].tolist()
        self.returns[over] = 0
        self.place[over] = 0
        self.observations[:] = self.place
        self.observed += list(self.observations[over])
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def drain_log(self) -> dict[str, float]:
        log = {"episode_return": float(np.mean(self.ended)), "n": float(len(self.ended))} if self.ended else {}
        self.ended = []
        return log


class SharedDraws:
    """A distribution whose actions come from one stream of numbers for the rows of all ranks."""

    def __init__(self, own: Any, first: int, total: int) -> None:
        self.own, self.first, self.total = own, first, total
        self.generator = torch.Generator().manual_seed(1)

    def sample(self, parameters: Any, generator: Any = None, mask: Any = None) -> Any:
        if isinstance(parameters, tuple):
            mean, log_std = parameters
            noise = torch.randn(self.total, *mean.shape[1:], generator=self.generator)[self.first : self.first + len(mean)]
            actions = mean + noise * log_std.exp()
        else:
            cumulated = masked_log_softmax(parameters, mask).exp().cumsum(-1)
            uniform = torch.rand(self.total, 1, generator=self.generator)[self.first : self.first + len(parameters)]
            actions = (cumulated <= uniform * cumulated[:, -1:]).sum(-1)
        return actions, self.own.evaluate(parameters, actions, mask)[0]

    def to_env(self, actions: Any) -> Any:
        return self.own.to_env(actions)


def build(envs: int = ENVS, *, policy: str = "mlp", world: Any = None, wrap: Any = None, **settings: Any) -> tuple[Any, World]:
    """A trainer and its batch of worlds."""
    built: list[World] = []

    def maker(num_envs: int = 1) -> World:
        built.append(World(num_envs, **(world or {})))
        return built[-1]

    vec = make_vec(maker, num_envs=envs, backend="serial")
    vec = wrap(vec) if wrap else vec
    network = build_policy(policy, vec.single_observation_space, vec.single_action_space, seed=3, hidden_size=8)
    chosen = {"seed": SEED, "device": "cpu", "horizon": HORIZON, "learning_rate": 0.02, "total_timesteps": 10**6, **settings}
    return PuffeRL(env=vec, policy=network, **chosen), built[0]


def weights(trainer: PuffeRL) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trainer.policy.state_dict().items()}


def report(trainer: PuffeRL, world: World, rollouts: int) -> dict[str, Any]:
    """Train; what came of it."""
    updates, step = [], trainer.optimizer.step
    trainer.optimizer.step = lambda: (updates.append(trainer.epoch), step())
    for _ in range(rollouts):
        trainer.evaluate()
        trainer.train()
    log = trainer.mean_and_log()
    return {
        "weights": weights(trainer), "log": {k: v for k, v in log.items() if not k.startswith(("time", "SPS", "uptime"))},
        "seeds": world.seeds, "actions": np.stack(world.actions_seen), "episodes": world.episodes, "observed": world.observed,
        "updates": len(updates),
    }  # fmt: skip


VARIANTS = {
    "mlp": {},
    "torch": {"learner": "torch", "target_kl": 1e-4, "update_epochs": 6},
    "muon": {"optimizer": "muon", "vf_clip_coef": 0.0},
    "lstm": {"policy": "lstm", "max_grad_norm": 0.05},
    "box": {"world": {"box": True}, "normalize_advantages": False},
    "bfloat16": {"precision": "bfloat16", "world": {"asleep": 0.0}},
}


def train_variant(name: str, rank: int, size: int) -> dict[str, Any]:
    """Every rollout is one minibatch, so that one process and several see the same ones."""
    settings = {"update_epochs": 2, "minibatch_size": 10_000, **VARIANTS[name]}
    envs = ENVS * size if rank < 0 else ENVS
    trainer, world = build(envs, **settings)
    trainer.rollout.distribution = SharedDraws(trainer.distribution, max(rank, 0) * ENVS, ENVS * size)
    result = report(trainer, world, 3)
    trainer.close()
    return result


def uneven(rank: int, size: int) -> dict[str, Any]:
    """Ranks with other numbers of envs, of minibatches, and one whose worlds all sleep."""
    trainer, world = build(ENVS + 4 * rank, minibatch_size=7, update_epochs=2, world={"asleep": 1.0 if rank == 0 else 0.3})
    result = report(trainer, world, 3)
    trainer.close()
    return result


def nan_reward(rank: int, size: int, nonfinite: str = "raise") -> dict[str, Any]:
    trainer, world = build(nonfinite=nonfinite, world={"asleep": 0.0}, minibatch_size=7)
    trainer.evaluate()
    trainer.train()
    before = weights(trainer)
    if rank == size - 1:
        world.failing[world.steps + 2] = lambda world: world.place.__setitem__((0, 0), np.nan)
    try:
        return {**report(trainer, world, 1), "before": before}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "before": before, "weights": weights(trainer)}
    finally:
        trainer.close()


def nan_skipped(rank: int, size: int) -> dict[str, Any]:
    return nan_reward(rank, size, "skip")


def infinite_gradient(rank: int, size: int) -> dict[str, Any]:
    """Finite losses with an infinite gradient, on one rank."""
    trainer, _ = build(learner="torch")
    before = weights(trainer)
    if rank == 0:
        trainer.policy.heads.linear.weight.register_hook(lambda gradient: gradient * np.inf)
    try:
        trainer.evaluate()
        trainer.train()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "before": before, "weights": weights(trainer)}
    finally:
        trainer.close()
    return {}


def resume(rank: int, size: int) -> dict[str, Any]:
    """Only rank 0 knows where the file is."""
    trainer, world = build(minibatch_size=7)
    first = report(trainer, world, 2)
    folder = Path(tempfile.mkdtemp()) if rank == 0 else Path("/nowhere")
    trainer.save_checkpoint(folder / "here.pt")
    trainer.close()
    trainer, world = build(minibatch_size=7)
    trainer.load_checkpoint(folder / "here.pt")
    loaded, step, seed = weights(trainer), trainer.global_step, trainer.generator.initial_seed()
    again = report(trainer, world, 1)
    try:
        trainer.load_checkpoint(folder / "not_here.pt")
    except Exception as error:
        again["error"] = f"{type(error).__name__}: {error}"
    trainer.close()
    return {"before": first["weights"], "loaded": loaded, "step": step, "draws": seed, **again}


def other_settings(rank: int, size: int) -> dict[str, Any]:
    try:
        build(gamma=0.9 if rank else 0.99)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {}


def statistics(rank: int, size: int) -> dict[str, Any]:
    trainer, world = build(wrap=NormalizeObservation, world={"asleep": 0.0})
    result = report(trainer, world, 3)
    result["state"] = trainer.env.state_dict()
    trainer.close()
    return result


def stop(rank: int, size: int) -> dict[str, Any]:
    trainer, _ = build()
    for logs in trainer:
        if rank and logs["epoch"] == 2:
            trainer.stop()
    epoch = trainer.epoch
    trainer.close()
    return {"epoch": epoch}


def raises(rank: int, size: int) -> dict[str, Any]:
    """The env of one rank raises in its second rollout."""
    trainer, world = build()

    def fail(world: World) -> None:
        raise KeyError("speed")

    if rank == 1:
        world.failing[HORIZON + 2] = fail
    return ends(trainer)


def raises_outside(rank: int, size: int) -> dict[str, Any]:
    """The script of one rank raises between two iterations, and closes its trainer on the way out."""
    trainer, _ = build()
    try:
        try:
            for logs in trainer:
                if rank == 1 and logs["epoch"] == 2:
                    raise ZeroDivisionError("in the user's loop")
        finally:
            trainer.close()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {}


def hangs(rank: int, size: int) -> dict[str, Any]:
    trainer, world = build(rank_timeout_s=4)
    if rank == 1:
        world.failing[HORIZON + 2] = lambda world: time.sleep(8)
    return ends(trainer)


def killed(rank: int, size: int) -> dict[str, Any]:
    trainer, world = build()
    if rank == 1:
        world.failing[HORIZON + 2] = lambda world: os.kill(os.getpid(), signal.SIGKILL)
    return ends(trainer)


def ends(trainer: PuffeRL) -> dict[str, Any]:
    """Train until something happens."""
    start = time.monotonic()
    try:
        for _ in range(50):
            trainer.evaluate()
            trainer.train()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "seconds": time.monotonic() - start}
    finally:
        trainer.close()
    return {}


def run(rank: int, size: int, port: int, folder: str, names: list[str]) -> None:
    """One rank; -1: the process that trains alone."""
    if rank >= 0:
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
        )
    results = {}
    for name in names:
        if name in VARIANTS:
            results[name] = train_variant(name, rank, size)
        elif rank >= 0:
            results[name] = globals()[name](rank, size)
        torch.save(results, Path(folder) / f"{rank}.pt")


def main() -> None:
    size, folder, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    torch.set_num_threads(1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=run, args=(rank, size, port, folder, names)) for rank in range(-1, size)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()


if __name__ == "__main__":
    main()
