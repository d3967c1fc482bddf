"""Each service, by its own package, has every row of a run once: also of a run that was resumed, and of one that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pufferlib.cli.main import main
from pufferlib.errors import ConfigError, PluginError
from pufferlib.train.loggers import Loggers

NAMES = ("wandb", "neptune", "tensorboard", "trackio", "mlflow")
SMALL = [
    "--vec.num-envs", "4", "--vec.num-workers", "1", "--vec.backend", "serial", "--train.horizon", "8",
    "--train.minibatch-size", "32", "--train.torch-threads", "1", "--train.log-interval-s", "0", "--train.device", "cpu",
    "--policy.hidden-size", "8",
]  # fmt: skip
GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
STEPS = [32, 64, 96, 128, 160]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with all five, which is resumed once with a longer goal; in between somebody records a video."""
    folder = tmp_path_factory.mktemp("runs")
    cwd = tmp_path_factory.mktemp("cwd")
    before = Path.cwd()
    os.chdir(cwd)
    try:
        where, loggers = folder / "first-run", [word for name in NAMES for word in ("--logger", name)]
        settings = ["--loggers.wandb.tags", "fast", "--loggers.mlflow.tags", "team=blue", "--loggers.mlflow.checkpoints", "all"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pufferlib.train.run.draw_curves", lambda *args: False)
            flags = [*SMALL, *loggers, *settings, "--train.total-timesteps", "96", "--run-dir", str(where)]
            assert main(["train", "ocean-squared", *flags]) == 0
            (where / "videos").mkdir(exist_ok=True)
            (where / "videos/96.gif").write_bytes(GIF)
            assert main(["train", "--resume", str(where), "--train.total-timesteps", "160", "--train.seed", "2"]) == 0
        assert list(cwd.iterdir()) == []
    finally:
        os.chdir(before)
    return where


def rows_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_there_once_with_its_names_and_its_numbers(run, read, name):
    found, expected = read[name](run), rows_of(run)
    assert found.steps == STEPS == [row["global_step"] for row in expected]
    for (_, row), wanted in zip(found.rows, expected, strict=True):
        assert row == pytest.approx({k: v for k, v in wanted.items() if v is not None}, rel=1e-6)
    assert {"losses/entropy", "SPS", "environment/perf"} <= {key for _, row in found.rows for key in row}


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_run_is_the_same_run(run, read, name):
    assert len(read[name](run).runs) == 1


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [("wandb", "train", 8), ("neptune", "train/horizon", 8), ("tensorboard", "train.horizon", 8.0), ("trackio", "train", 8),
     ("mlflow", "train.horizon", "8")],
)  # fmt: skip
def test_the_settings_are_there(run, read, name, key, value):
    found = read[name](run).config[key]
    assert (found["horizon"] if isinstance(found, dict) else found) == value


@pytest.mark.parametrize(
    ("name", "videos", "checkpoints"),
    [("wandb", [".gif"], ["160.pt", "96.pt"]), ("neptune", ["96"], ["160", "96"]),
     ("trackio", [".gif"], ["policy-first-run"]), ("mlflow", ["96.gif"], ["160.pt", "96.pt"])],
)  # fmt: skip
def test_videos_and_checkpoints_are_there_once(run, read, name, videos, checkpoints):
    found = read[name](run)
    assert found.videos == videos
    assert sorted(set(found.checkpoints)) == checkpoints


def test_runs_are_found_by_their_env_and_tags(run, read):
    assert {"ocean-squared", "fast"} <= set(read["wandb"](run).tags)
    assert "ocean-squared" in read["neptune"](run).tags and "ocean-squared" in read["trackio"](run).tags
    assert read["mlflow"](run).tags == ["ocean-squared", "FINISHED"]


def test_nothing_was_asked_of_the_network(run, services):
    assert services == []


def test_a_number_that_is_not_finite_is_missing_and_its_row_is_not(tmp_path, read, monkeypatch):
    run = tmp_path / "odd"
    run.mkdir()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{run / 'mlflow.db'}")
    names = [name for name in NAMES if name != "mlflow"]  # a second database takes seconds to make
    group = Loggers(names, run, {"train": {"seed": 1, "horizon": 2}})
    group.log({"a/b": float("nan"), "c": 1.5}, 10)
    group.log({"a/b": 2.5, "c": float("inf")}, 20)
    group.close()
    for name in names:
        assert read[name](run).rows == [(10, {"c": 1.5}), (20, {"a/b": 2.5})], name
    assert group.left_out == 2


def test_a_script_gives_its_trainer_a_logger(tmp_path, read):
    import pufferlib
    from pufferlib.policies import build_policy

    env = pufferlib.make("ocean-squared", num_envs=4, num_workers=1)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, hidden_size=8)
    chosen = pufferlib.WandbLogger(project="mine", group="these", tags=["fast"], system_metrics=False)
    trainer = pufferlib.PuffeRL(
        env, policy, total_timesteps=64, horizon=8, minibatch_size=32, device="cpu", logger=chosen, run_dir=tmp_path
    )
    rows = [dict(row) for row in trainer]
    trainer.save_checkpoint(tmp_path / "last.pt")
    trainer.close()
    found = read["wandb"](tmp_path)
    assert [row["losses/entropy"] for _, row in found.rows] == pytest.approx([row["losses/entropy"] for row in rows])
    assert (found.checkpoints, set(found.tags)) == (["last.pt"], {"these", "fast", "ocean-squared"})
    assert found.config["train"]["horizon"] == 8 and chosen.run.project == "mine"


def test_a_setting_that_does_not_fit_is_refused():
    from pufferlib import WandbLogger

    with pytest.raises(ConfigError, match="checkpoints must be one of none, last, all, got 'every'"):
        WandbLogger(checkpoints="every")


def test_without_a_token_neptune_says_what_to_set(tmp_path, monkeypatch):
    monkeypatch.setenv("NEPTUNE_MODE", "async")
    with pytest.raises(PluginError, match="logger neptune: cannot start: set NEPTUNE_API_TOKEN and NEPTUNE_PROJECT"):
        Loggers(["neptune"], tmp_path, {})


def test_a_full_disk_tears_no_event_file(tmp_path, read):
    from pufferlib import TensorboardLogger
    from pufferlib.train.loggers import RunInfo

    class Full:
        """Takes five bytes of a record, then has no space."""

        def __init__(self, file):
            self.file, self.writes = file, 0

        def write(self, data):
            self.writes += 1
            if self.writes == 2:
                raise OSError(28, "No space left on device")
            return self.file.write(data[:5])

        def __getattr__(self, name):
            return getattr(self.file, name)

    logger = TensorboardLogger()
    logger.start(RunInfo(tmp_path, config={"train": {"seed": 1}}))
    logger.log({"a": 1.0}, 1)
    whole, logger.file = logger.file, Full(logger.file)
    with pytest.raises(OSError, match="No space left"):
        logger.log({"a": 2.0}, 2)
    logger.file = whole
    logger.log({"a": 2.0}, 2)
    logger.close()
    assert read["tensorboard"](tmp_path).rows == [(1, {"a": 1.0}), (2, {"a": 2.0})]


def test_without_a_server_wandb_goes_on_offline_and_says_so(tmp_path, read):
    server = {
        "WANDB_MODE": "online",
        "WANDB_API_KEY": "0" * 40,
        "WANDB_BASE_URL": "http://127.0.0.1:9",
        "WANDB_INIT_TIMEOUT": "2",
    }
    script = """
from pathlib import Path
from pufferlib.errors import ConfigError, PluginError
from pufferlib.train.loggers import Loggers
group = Loggers(["wandb"], Path("."), {})
group.log({"a": 1.0}, 1)
group.close()
"""
    done = subprocess.run([sys.executable, "-c", script], env={**alone(), **server}, cwd=tmp_path, capture_output=True, text=True)
    assert "logger wandb: the service cannot be reached, so this run is logged offline" in done.stderr
    assert read["wandb"](tmp_path).rows == [(1, {"a": 1.0})]


def alone():
    """The environment for a process with a wandb service of its own: the package hands its own down."""
    return {name: value for name, value in os.environ.items() if "WANDB_SERVICE" not in name}


def test_a_run_that_is_killed_and_resumed_has_every_row_once(tmp_path, read):
    where = tmp_path / "killed"
    loggers = ["--logger", "tensorboard", "--logger", "wandb"]
    flags = [*SMALL, *loggers, "--train.checkpoint-interval", "50", "--run-dir", str(where)]
    command = [sys.executable, "-m", "pufferlib", "train", "ocean-squared", *flags, "--train.total-timesteps", "1e9"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=alone())
    try:
        end = time.monotonic() + 300
        while time.monotonic() < end and process.poll() is None and not list(where.glob("checkpoints/*.pt")):
            time.sleep(0.05)
        lines = len((where / "metrics.jsonl").read_bytes().splitlines())
        while time.monotonic() < end and len((where / "metrics.jsonl").read_bytes().splitlines()) < lines + 20:
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    killed_at = int(json.loads((where / "metrics.jsonl").read_text().splitlines()[-2])["global_step"])
    goal = str(killed_at + 40 * 32)
    assert main(["train", "--resume", str(where), "--train.total-timesteps", goal]) == 0
    expected = [row["global_step"] for row in rows_of(where)]
    assert expected == list(range(32, expected[-1] + 1, 32))
    for name in ("tensorboard", "wandb"):
        assert read[name](where).steps == expected, name
