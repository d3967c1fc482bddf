"""Run directories as `puffer train` leaves them, made by hand."""

from __future__ import annotations

import json

import pytest

from pufferlib.config.run_config import RunConfig
from pufferlib.train.run_dir import RunDirectory


def make_row(step, episodes=100, uptime=None, **statistics):
    """A row of metrics.jsonl with some episode statistics."""
    found = {"global_step": step, "uptime": step / 1000 if uptime is None else uptime, "SPS": 1000.0, "losses/entropy": 1.5}
    if episodes:
        found["environment/n"] = float(episodes)
        found.update({f"environment/{name}": value for name, value in statistics.items()})
    return found


@pytest.fixture(scope="session")
def row():
    """row(step, episodes=100, uptime=None, **statistics) -> one row of metrics.jsonl."""
    return make_row


@pytest.fixture
def make_run(tmp_path):
    """make_run("env/name", rows, checkpoints=[100], **settings of train) -> the run's path, below tmp_path/runs."""

    def make(name, rows=(), *, env_name="ocean-squared", tag="", policy="mlp", started="2026-01-02T10:00:00+0000", checkpoints=(),
             command=("puffer", "train", "ocean-squared"), resumed=(), env=None, **train):  # fmt: skip
        run = RunDirectory(tmp_path / "runs" / name)
        tables = RunConfig(env_name=env_name, tag=tag, env=env or {}).tables()
        tables["train"].update({"total_timesteps": 1000, **train})
        tables["policy"]["name"] = policy
        record = {"started": started, "command": list(command), "platform": "Linux-6", "versions": {"python": "3.11.7"}}
        run.write_config(tables, {**record, "resumed": list(resumed)} if resumed else record)
        run.metrics_file.write_text("".join(json.dumps(one) + "\n" for one in rows))
        run.checkpoint_folder.mkdir()
        for step in checkpoints:
            run.checkpoint_path(step).write_bytes(b"x" * 100)
        return run.path

    return make


@pytest.fixture
def five_seeds(make_run):
    """Five runs of one experiment whose final perf is 0.1, 0.2, 0.3, 0.4 and 1.0, on a straight line from 0."""
    finals = (0.1, 0.2, 0.3, 0.4, 1.0)
    return [
        make_run(f"seeds/s{seed}", [make_row(step, perf=final * step / 1000) for step in range(100, 1001, 100)], seed=seed)
        for seed, final in enumerate(finals, 1)
    ]
