"""The examples are what users copy, so each one runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """What the command printed; fails with what it said."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_both_styles_of_env_run(tmp_path: Path) -> None:
    said = run(sys.executable, EXAMPLES / "env_template.py", cwd=tmp_path)
    assert said.count("always guessing right: 1.0") == 2


def test_a_custom_policy_learns_cartpole(tmp_path: Path) -> None:
    lengths = [
        float(line.rsplit(" ", 1)[1]) for line in run(sys.executable, EXAMPLES / "custom_policy.py", cwd=tmp_path).splitlines()
    ]
    assert lengths[-1] > 3 * lengths[0]


def test_the_training_script_writes_metrics_and_a_checkpoint_of_its_last_step(tmp_path: Path) -> None:
    said = run(
        sys.executable, EXAMPLES / "train_template.py", "--env-name", "ocean-squared", "--num-envs", "32", "--total-timesteps",
        "20000", "--device", "cpu", "--logger", "none", "--checkpoint-dir", tmp_path / "deep" / "folder", cwd=tmp_path,
    )  # fmt: skip
    folder = tmp_path / "deep" / "folder"
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["global_step"] for row in rows] == list(range(2048, 20481, 2048)), "32 rows times 64 steps, ten times"
    assert torch.load(folder / "20480.pt", weights_only=True)["global_step"] == 20480
    assert len(said.splitlines()) == 10


def test_the_curriculum_goes_up_a_level(tmp_path: Path) -> None:
    said = run(sys.executable, EXAMPLES / "curriculum.py", "400000", cwd=tmp_path).splitlines()
    assert [line.partition(" from")[0] for line in said[:2]] == ["level 0", "level 1"]


def test_the_self_play_example_beats_a_random_player(tmp_path: Path) -> None:
    said = run(sys.executable, EXAMPLES / "self_play.py", "400000", cwd=tmp_path).splitlines()
    score = float(said[-2].partition("against random: score ")[2].partition(",")[0])
    assert score > 0.6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--logger", "nonee"], "no logger is named 'nonee'"),
        (["--env-name", "ocean-continuous"], "chooses among Discrete actions"),
    ],
)
def test_the_training_script_says_what_it_cannot_do(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "train_template.py"), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1 and words in done.stderr and not list(tmp_path.iterdir())


def test_the_third_party_plugin_builds_installs_and_trains(tmp_path: Path) -> None:
    copy = tmp_path / "source"
    subprocess.run(["cp", "-r", EXAMPLES / "third_party_plugin", copy], check=True)  # a build leaves files in its folder
    site = tmp_path / "site"
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--target",
        site,
        copy,
        cwd=tmp_path,
    )
    puffer = (sys.executable, "-m", "pufferlib")
    listed = run(*puffer, "list", cwd=tmp_path, PYTHONPATH=str(site))
    assert "acme-rocket" in listed and "acme-corridor" in listed
    for name in ("acme-rocket", "acme-corridor"):
        run(*puffer, "train", name, "--train.total-timesteps", "20000", "--train.device", "cpu", "--run-dir", tmp_path / name,
            cwd=tmp_path, PYTHONPATH=str(site))  # fmt: skip
        assert list((tmp_path / name).rglob("*.pt"))
