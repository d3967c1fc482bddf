"""`-m pufferlib.train` in several processes: one run directory, one end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

TRAIN = (
    "-m", "pufferlib.train", "ocean-squared", "--train.device", "cpu", "--vec.num-envs", "8", "--vec.backend", "serial",
    "--train.horizon", "16", "--policy.hidden-size", "8",
)  # fmt: skip


def place(rank: int, port: int) -> dict[str, str]:
    """What a launcher tells that rank of two."""
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def start(rank: int, port: int, folder: Path, *flags: str) -> subprocess.Popen[str]:
    """Rank `rank` of two, as a launcher starts it."""
    environment = {**os.environ, **place(rank, port), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *TRAIN, "--run-dir", str(folder), *flags]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def steps(folder: Path) -> list[int]:
    file = folder / "metrics.jsonl"
    return [json.loads(line)["global_step"] for line in file.read_text().splitlines()] if file.exists() else []


def test_two_ranks_leave_one_run_with_the_steps_of_both(tmp_path: Path, port: int) -> None:
    run = tmp_path / "run"
    ranks = [start(rank, port, run, "--train.total-timesteps", "1024", "--train.log-interval-s", "0") for rank in (0, 1)]
    said = [process.communicate(timeout=120) for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], said
    assert steps(run) == [256, 512, 768, 1024], "2 ranks times 8 rows times 16 steps"
    assert "watch" in said[0][0] and said[1][0] == "", "only rank 0 speaks"
    assert (run / "checkpoints" / "1024.pt").exists() and (run / "curve.png").exists()


def test_a_signal_to_one_rank_stops_all_after_the_same_step_with_a_checkpoint(tmp_path: Path, port: int) -> None:
    run = tmp_path / "run"
    ranks = [start(rank, port, run, "--train.total-timesteps", "1e9", "--train.log-interval-s", "0") for rank in (0, 1)]
    deadline = time.monotonic() + 100
    while len(steps(run)) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    ranks[1].send_signal(signal.SIGTERM)
    said = [process.communicate(timeout=60) for process in ranks]
    assert [process.returncode for process in ranks] == [143, 143], said
    assert "puffer train --resume" in said[0][0]
    assert (run / "checkpoints" / f"{steps(run)[-1]}.pt").exists()


def test_a_killed_rank_ends_the_run_with_one_line_that_names_it(tmp_path: Path, port: int) -> None:
    run = tmp_path / "run"
    flags = ("--train.total-timesteps", "1e9", "--train.log-interval-s", "0", "--train.checkpoint-interval", "1")
    ranks = [start(rank, port, run, *flags) for rank in (0, 1)]
    deadline = time.monotonic() + 100
    while len(steps(run)) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    ranks[1].kill()
    _, complaint = ranks[0].communicate(timeout=60)
    ranks[1].communicate()
    assert ranks[0].returncode == 1
    (line,) = [line for line in complaint.splitlines() if line.startswith("puffer: ")]
    assert "rank 1 does not answer: it was killed" in line and "last good checkpoint: " in line


def test_keys_on_rank_0_save_once_and_stop_all_ranks_after_the_same_step(tmp_path: Path, port: int, terminal: Any) -> None:
    run = tmp_path / "run"
    flags = ("--train.total-timesteps", "1e9", "--train.log-interval-s", "0.1", "--train.checkpoint-interval", "0")
    screen = terminal(sys.executable, *TRAIN, "--run-dir", run, *flags, environment=place(0, port))
    other = start(1, port, run, *flags)
    screen.until("policy loss")
    screen.press("s")
    screen.until("saved checkpoints/")
    (saved,) = (run / "checkpoints").iterdir()
    screen.press("q")
    assert screen.wait() == 0
    assert other.communicate(timeout=60) == ("", "") and other.returncode == 0
    assert {path.name for path in (run / "checkpoints").iterdir()} == {saved.name, f"{steps(run)[-1]}.pt"}
