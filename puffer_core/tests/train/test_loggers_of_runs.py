"""Loggers of whole runs and of trainers: what they get, their settings, and training that goes on without them."""

from __future__ import annotations

import json
import re

import pytest

import pufferlib
from pufferlib.cli.main import main
from pufferlib.config import logger_settings
from pufferlib.errors import ConfigError, PluginError
from pufferlib.plugins import LoggerSpec, Plugin, registry
from pufferlib.plugins.registry import Entry
from pufferlib.policies import build_policy
from pufferlib.testing import RecordingLogger
from pufferlib.train import loggers
from pufferlib.train.loggers import NoLogger


@pytest.fixture(autouse=True)
def no_curve(monkeypatch):
    """The picture at a run's end takes longer than the run."""
    monkeypatch.setattr("pufferlib.train.run.draw_curves", lambda *args: False)


@pytest.fixture
def registered(monkeypatch):
    """The RecordingLogger by its name, as a plugin would register it."""
    RecordingLogger.made = []
    spec = LoggerSpec("recorder", RecordingLogger)
    monkeypatch.setitem(registry()._entries, ("logger", "recorder"), Entry(spec, Plugin("test", "test")))


def trainer(**settings):
    env = pufferlib.make("ocean-squared", num_envs=4, num_workers=1, seed=1)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, hidden_size=8)
    return pufferlib.PuffeRL(env, policy, total_timesteps=96, horizon=8, minibatch_size=32, device="cpu", **settings)


def test_a_trainer_hands_its_rows_and_checkpoints_to_its_loggers(tmp_path):
    first, second = RecordingLogger(checkpoints="all"), RecordingLogger()
    made = trainer(logger=[first, second], run_dir=tmp_path / "deep" / "run")
    rows = [dict(row) for row in made]
    made.save_checkpoint(tmp_path / "a.pt")
    made.close()
    assert first.rows == [(row["global_step"], {k: v for k, v in row.items() if v == v}) for row in rows] == second.rows
    assert first.steps == [32, 64, 96] and first.files == second.files == [("a.pt", 96)]
    assert first.run.name == "run" and first.run.env_name == "ocean-squared" and first.run.config["train"]["horizon"] == 8
    assert (tmp_path / "deep/run/loggers/recording.jsonl").exists() and (tmp_path / "deep/run/loggers/recording-2.jsonl").exists()


def test_a_trainer_that_fails_tells_its_logger_so(tmp_path):
    made = trainer(logger=(logger := RecordingLogger()), run_dir=tmp_path)

    def use():
        try:
            raise RuntimeError("a bug")
        finally:
            made.close()

    with pytest.raises(RuntimeError, match="a bug"):
        use()
    assert logger.closed == "failed"


def test_a_trainer_refuses_what_is_no_logger(tmp_path):
    with pytest.raises(ConfigError, match=r"must be an instance of pufferlib\.Logger"):
        trainer(logger="wandb", run_dir=tmp_path)


def test_a_trainer_without_a_folder_makes_one_for_its_logger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = trainer(logger=NoLogger())
    made.close()
    assert [path.parent.name for path in (tmp_path / "runs").glob("*/*")] == ["ocean-squared"]


FLAGS = [
    "--train.total-timesteps", "96", "--train.horizon", "8", "--train.minibatch-size", "32", "--train.log-interval-s", "0",
    "--vec.num-envs", "4", "--vec.num-workers", "1", "--policy.hidden-size", "8", "--train.device", "cpu",
]  # fmt: skip


def test_a_run_with_a_logger_and_its_settings_from_a_flag_or_a_file(tmp_path, registered, capsys):
    file = tmp_path / "settings.toml"
    file.write_text('logger = ["recorder"]\n[loggers.recorder]\nword = "of the file"\ncheckpoints = "all"\n', encoding="utf-8")
    where = tmp_path / "run"
    flags = [*FLAGS, "--config", str(file), "--loggers.recorder.word", "of a flag", "--run-dir", str(where)]
    assert main(["train", "ocean-squared", *flags]) == 0
    (logger,) = RecordingLogger.made
    rows = [json.loads(line) for line in (where / "metrics.jsonl").read_text().splitlines()]
    assert logger.word == "of a flag" and logger.closed == "finished"
    assert logger.steps == [row["global_step"] for row in rows] == [32, 64, 96]
    assert [row for _, row in logger.rows] == [{k: v for k, v in row.items() if v is not None} for row in rows]
    assert ("96.pt", 96) in logger.files and logger.run.config["loggers"] == {
        "recorder": {"word": "of a flag", "checkpoints": "all"}
    }
    assert "recorder  over there" in capsys.readouterr().out

    assert main(["train", "--resume", str(where), "--train.total-timesteps", "160"]) == 0
    again = RecordingLogger.made[1]
    assert (again.word, again.steps, again.run.state) == ("of a flag", [128, 160], {"id": 1})


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--loggers.recorder.wrod", "x"], "--loggers.recorder.wrod: no such setting; did you mean --loggers.recorder.word?"),
        (["--loggers.recordr.word", "x"], "Near matches: recorder"),
        (["--loggers.recorder", "x"], "--loggers.recorder: no such setting"),
    ],
)
def test_settings_of_loggers_are_checked_before_anything_starts(registered, capsys, flags, text):
    assert main(["train", "ocean-squared", *flags]) == 2
    assert text in capsys.readouterr().err


def test_a_run_of_a_logger_that_is_not_installed_any_more_can_still_be_read(registered):
    known = {"loggers": {"gone": {"word": 3}}}
    assert list(logger_settings.logger_settings(["loggers.gone.word"], known=known)) == ["loggers.gone.word"]
    with pytest.raises(PluginError, match="no logger is named 'gone'"):
        logger_settings.logger_settings(["loggers.gone.word"])


def test_training_finishes_whatever_its_logger_does(tmp_path, registered, monkeypatch, caplog):
    def fails(self, metrics, step):
        raise ConnectionError("the network is down")

    monkeypatch.setattr(RecordingLogger, "log", fails)
    monkeypatch.setattr(loggers, "DRAIN_S", 0.3)
    assert main(["train", "ocean-squared", *FLAGS, "--logger", "recorder", "--run-dir", str(tmp_path / "run")]) == 0
    lost = r"logger recorder: 3 of 3 rows( and 1 of 1 files)? could not be written: ConnectionError: the network is down"
    assert re.fullmatch(lost, caplog.messages[-1]), "a checkpoint may not have had its turn before time was up"
