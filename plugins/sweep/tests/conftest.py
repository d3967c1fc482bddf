"""The stub of a trial as a module, and `puffer sweep` in this process with it."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).with_name("stub_sweep.py")
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def stub():
    spec = importlib.util.spec_from_file_location("stub_sweep", STUB)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pictures():
    """For tests that look at the report's pictures: `sweep` leaves them out otherwise, they take most of the time."""


@pytest.fixture
def sweep(stub, tmp_path, monkeypatch, request):
    """`sweep("good", *flags)` runs `puffer sweep ocean-bandit` in tmp_path/sweep with stub trials; returns the exit code."""
    from pufferlib.cli.main import main

    if "pictures" not in request.fixturenames:
        monkeypatch.setattr("pufferlib_sweep.report.draw_all", lambda *arguments: {})
    monkeypatch.setattr("pufferlib_sweep.launch.train_command", stub.stub_command)
    monkeypatch.chdir(tmp_path)

    def run(kind, *flags):
        monkeypatch.setenv("STUB_TRIAL", kind)
        return main(["sweep", "ocean-bandit", "--run-dir", "sweep", "--sweep.method", "random", *flags])

    return run


@pytest.fixture
def start_sweep(tmp_path):
    """The same in a process of its own, which a test can kill: `start_sweep("slow", *flags)` returns the Popen."""
    started = []

    def start(kind, *flags):
        command = [sys.executable, str(STUB), "sweep", "ocean-bandit", "--run-dir", "sweep", "--sweep.method", "random", *flags]
        process = subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "STUB_TRIAL": kind}, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def load(tmp_path):
    """The study in tmp_path/sweep."""
    import optuna

    def study():
        return optuna.load_study(study_name="sweep", storage=f"sqlite:///{tmp_path}/sweep/study.db")

    return study
