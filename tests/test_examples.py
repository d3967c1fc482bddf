"""The examples are what users copy, so each one runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
