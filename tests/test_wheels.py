"""What users install works: wheels, built from the sdists, in an empty environment, far from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TORCH = next(line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch"))


def run(*command: str | Path, cwd: Path) -> str:
    """Run it without this environment's paths; fail with what it said."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PUFFERLIB"))}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist and a wheel of every package, each wheel built from its sdist."""
    folder = tmp_path_factory.mktemp("dist")
    for package in (ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))):
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, package, cwd=folder)
    return folder


def test_every_package_has_an_sdist_and_a_wheel(dist: Path) -> None:
    packages = 1 + len(list(ROOT.glob("plugins/*/pyproject.toml")))
    assert len(list(dist.glob("*.tar.gz"))) == len(list(dist.glob("*.whl"))) == packages


def test_wheels_train_in_an_empty_environment(dist: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)  # filled by our pip, without compiling all of torch
    python = tmp_path / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile")
    run(*pip, TORCH, *sorted(dist.glob("*.whl")), cwd=tmp_path)

    listed = run(python, "-m", "pufferlib", "list", cwd=tmp_path)
    assert "ocean-squared" in listed
    flags = ("--train.device", "cpu", "--train.total-timesteps", "20000", "--run-dir", tmp_path / "run")
    run(tmp_path / "env" / "bin" / "puffer", "train", "ocean-squared", *flags, cwd=tmp_path)
    assert list((tmp_path / "run").rglob("*.pt")), "a checkpoint"
    where = run(python, "-c", "import pufferlib; print(pufferlib.__file__)", cwd=tmp_path)
    assert str(tmp_path) in where, "the installed package, not the checkout"
