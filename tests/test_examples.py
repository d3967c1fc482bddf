"""The examples are what users copy, so each one runs."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import pufferlib
from pufferlib.policies import build_policy

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """What the command printed; fails with what it said."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_the_env_templates_keep_the_contract_and_reward_a_plan(tmp_path: Path) -> None:
    said = run(sys.executable, EXAMPLES / "env_template.py", cwd=tmp_path)
    found = re.findall(r"(\w+): mean reward (-?[\d.]+) by plan, (-?[\d.]+) at random", said)
    assert [name for name, _, _ in found] == ["GridWorld", "Navigation"]
    assert all(float(planned) > float(by_chance) + 0.2 for _, planned, by_chance in found)


@pytest.mark.parametrize(("observation", "action"), [("vector", "discrete"), ("image", "multi_discrete"), ("dict", "continuous")])
def test_the_grid_world_trains_with_every_observation_and_action(observation: str, action: str) -> None:
    template = runpy.run_path(str(EXAMPLES / "env_template.py"))
    env = pufferlib.emulate(template["GridWorld"], num_envs=8, backend="serial", observation=observation, action=action)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, hidden_size=16, seed=1)
    trainer = pufferlib.PuffeRL(env=env, policy=policy, device="cpu", horizon=32, total_timesteps=512)
    logs = trainer.fit()
    trainer.close()
    assert logs["environment/steps"] <= 40 and 0 <= logs["environment/arrived"] <= 1


def test_agents_of_the_navigation_template_share_reward_and_episode() -> None:
    template = runpy.run_path(str(EXAMPLES / "env_template.py"))
    env = pufferlib.emulate(template["Navigation"], num_envs=2, backend="serial", max_steps=3)
    env.reset(seed=1)
    for step in range(1, 4):
        _, rewards, terminals, truncations, _ = env.step(np.zeros(6, np.int32))
        assert (rewards.reshape(2, 3) == rewards[[0, 3], None]).all() and (rewards < 0).all()
        assert not terminals.any() and (truncations == (step == 3)).all()
    env.close()


def test_a_custom_policy_learns_cartpole(tmp_path: Path) -> None:
    lengths = [
        float(line.rsplit(" ", 1)[1]) for line in run(sys.executable, EXAMPLES / "custom_policy.py", cwd=tmp_path).splitlines()
    ]
    assert lengths[-1] > 2 * lengths[0]


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


def test_two_ranks_of_the_training_script_write_one_set_of_files_and_go_on(tmp_path: Path) -> None:
    torchrun = Path(sys.executable).with_name("torchrun")
    command = [
        torchrun, "--standalone", "--nproc_per_node=2", EXAMPLES / "train_template.py", "--env-name", "ocean-continuous",
        "--num-envs", "8", "--horizon", "32", "--device", "cpu", "--checkpoint-dir", tmp_path / "files",
    ]  # fmt: skip
    run(*command, "--total-timesteps", "1024", cwd=tmp_path, OMP_NUM_THREADS="1")
    run(*command, "--total-timesteps", "2048", "--resume", tmp_path / "files" / "1024.pt", cwd=tmp_path, OMP_NUM_THREADS="1")
    rows = [json.loads(line) for line in (tmp_path / "files" / "metrics.jsonl").read_text().splitlines()]
    assert [row["global_step"] for row in rows] == [512, 1024, 1536, 2048], "2 ranks times 8 rows times 32 steps"
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["1024.pt", "2048.pt", "metrics.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--logger", "nonee"], "no logger is named 'nonee'"),
        (["--gamma", "2"], "gamma (--train.gamma) must be in [0, 1], got 2.0"),
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
