"""What loggers cost: training speed with three of them against none, and what a row takes of each.

Windows of training with loggers and without take turns in one process, first one and then the other first, so their ratio holds
on a noisy machine. The loggers start before a window and are closed after it; rows come every `--interval` seconds, as in a run,
and hold all metrics. wandb and neptune are offline, all files go to a temporary folder.

python benchmarks/loggers.py [--loggers wandb,tensorboard,mlflow] [--rounds 6] [--seconds 10]
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pufferlib
from common import machine
from pufferlib.policies import build_policy
from pufferlib.train.loggers import Loggers

OFFLINE = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "NEPTUNE_MODE": "offline", "MLFLOW_DISABLE_TELEMETRY": "true"}
BAR = 0.98
"""Of the speed without loggers."""
ROWS = 50
"""For the time that a row takes."""


def main() -> None:
    """Print the time of a row for each logger, then steps per second with and without them and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loggers", default="wandb,tensorboard,mlflow", help="names, with commas between")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a window")
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two rows; train.log_interval_s")
    parser.add_argument("--env", default="ocean-breakout")
    given = parser.parse_args()
    names = given.loggers.split(",")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ.update(OFFLINE, WANDB_DATA_DIR=folder, TRACKIO_DIR=str(home / "trackio"))
        os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{home / 'mlflow.db'}"  # one for all windows: making it takes seconds
        compare(given, names, home)


def compare(given: argparse.Namespace, names: list[str], home: Path) -> None:
    """Everything, on one trainer."""
    env = pufferlib.make(given.env, num_envs=1024)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space)
    trainer = pufferlib.PuffeRL(env, policy, total_timesteps=10**12, horizon=64, minibatch_size=8192, device="cpu")
    for _ in range(3):  # warms caches up, and makes a row with all metrics
        trainer.evaluate()
        trainer.train()
    row = trainer.mean_and_log()

    print(machine())
    print(f"{len(row)} metrics a row, a row every {given.interval:g} s, windows of {given.seconds:g} s")
    per_row = {name: cost_of_rows(name, row, home) for name in names}
    for name, (handing, cpu, wall) in per_row.items():
        print(f"{name:<12} a row: {handing:6.3f} ms of the training thread; of its own {cpu:6.2f} ms CPU in {wall:6.2f} ms")

    ratios, speeds, plain_speeds, drains = [], [], [], []
    for number in range(given.rounds):
        pair: dict[bool, float] = {}
        for with_loggers in (number % 2 == 0, number % 2 == 1):
            group = open_group(names, home / f"round-{number}") if with_loggers else None
            pair[with_loggers] = window(trainer, group, given.seconds, given.interval)
            if group:
                start = time.perf_counter()
                group.close()
                drains.append(time.perf_counter() - start)
        ratios.append(pair[True] / pair[False])
        speeds.append(pair[True])
        plain_speeds.append(pair[False])
        with_them, without = pair[True] / 1e3, pair[False] / 1e3
        print(f"round {number + 1}: {with_them:8.1f} k steps/s with, {without:8.1f} k without, ratio {ratios[-1]:.3f}")
    trainer.close()
    print(f"with {', '.join(names)}: {statistics.median(speeds) / 1e3:.1f} k steps/s")
    print(f"without any: {statistics.median(plain_speeds) / 1e3:.1f} k steps/s")
    print(f"ratio: median {statistics.median(ratios):.3f}, min {min(ratios):.3f}, max {max(ratios):.3f}; the bar is {BAR}")
    threads = sum(cpu for _, cpu, _ in per_row.values()) / 1e3 / given.interval
    print(f"their threads take {threads:.2%} of one core; closing them took {max(drains):.1f} s at most")


def open_group(names: list[str], folder: Path) -> Loggers:
    """Loggers of a run of its own."""
    folder.mkdir(exist_ok=True)
    return Loggers(names, folder, {"train": {"seed": 1}}, env_name="benchmark")


def window(trainer: Any, group: Loggers | None, seconds: float, interval: float) -> float:
    """Agent-steps per second of training for so many seconds, rows handed over as a run does."""
    start = row_at = time.perf_counter()
    before = trainer.global_step
    while (now := time.perf_counter()) - start < seconds:
        trainer.evaluate()
        trainer.train()
        if now - row_at >= interval:
            row_at = now
            row = trainer.mean_and_log()
            if group:
                group.log(row, trainer.global_step)
    return float((trainer.global_step - before) / (time.perf_counter() - start))


def cost_of_rows(name: str, row: dict[str, float], home: Path) -> tuple[float, float, float]:
    """Milliseconds for a row: in the thread that hands it over, of CPU in the logger's own thread, and of time there."""
    group = open_group([name], home / f"rows-{name}")
    (queue,) = group.queues
    inner, spent = queue.logger.log, [0.0, 0.0]

    def timed(metrics: dict[str, float], step: int) -> None:
        cpu, wall = time.thread_time(), time.perf_counter()
        inner(metrics, step)
        spent[0] += time.thread_time() - cpu
        spent[1] += time.perf_counter() - wall

    queue.logger.log = timed  # type: ignore[method-assign]
    start = time.thread_time()
    for step in range(1, ROWS + 1):
        group.log(row, step)
    handing = time.thread_time() - start
    group.close()
    return handing / ROWS * 1e3, spent[0] / ROWS * 1e3, spent[1] / ROWS * 1e3


if __name__ == "__main__":
    logging.basicConfig()
    main()
