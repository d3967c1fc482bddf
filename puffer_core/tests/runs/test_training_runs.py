"""Whole runs through the command line: files, resume, failures. Every run here takes some hundred steps."""

from __future__ import annotations

import json
import signal
import threading
import time

import pytest

from pufferlib.cli.main import main
from pufferlib.config.files import read_toml
from pufferlib.errors import NonFiniteError
from pufferlib.train import interrupt
from pufferlib.train.best import Ranking
from pufferlib.train.curves import draw_curves
from pufferlib.train.puffe_rl import PuffeRL
from pufferlib.train.run_dir import RunDirectory

ROLLOUT = 128
SMALL = (
    "--vec.num-envs", "8", "--vec.num-workers", "1", "--vec.backend", "serial", "--train.horizon", "16",
    "--train.torch-threads", "1", "--train.minibatch-size", "64",
    "--train.log-interval-s", "0", "--train.checkpoint-interval", "1", "--train.device", "cpu",
    "--policy.hidden-size", "16",
)  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory. The picture at the end, most of a short run's time, is drawn only where a test asks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pufferlib.train.run.draw_curves", lambda *args: False)
    return tmp_path


def train(*argv, steps=4 * ROLLOUT, env="ocean-squared"):
    return main(["train", *([env] if env else []), *SMALL, "--train.total-timesteps", str(steps), *argv])


def steps_of(run):
    return [row["global_step"] for row in RunDirectory(run).rows()]


def without_times(rows):
    return [{k: v for k, v in row.items() if not k.startswith("time/") and k not in ("SPS", "uptime")} for row in rows]


def test_a_run_leaves_its_settings_metrics_checkpoints_and_curve(folder, capsys, monkeypatch):
    monkeypatch.setattr("pufferlib.train.run.draw_curves", draw_curves)
    assert train("--tag", "first", "--train.keep-checkpoints", "2", "--train.keep-best", "0", "--env.radius", "3") == 0
    (run,) = (folder / "runs" / "ocean-squared").iterdir()
    assert run.name.endswith("-first")
    assert sorted(path.name for path in run.iterdir()) == ["checkpoints", "config.toml", "curve.png", "metrics.jsonl"]
    assert [path.name for path in RunDirectory(run).checkpoints()] == ["512.pt", "384.pt"]
    assert steps_of(run) == [128, 256, 384, 512]
    assert all(row["SPS"] > 0 for row in RunDirectory(run).rows())
    config = read_toml(run / "config.toml")
    assert config["env_name"] == "ocean-squared"
    assert config["env"] == {"radius": 3, "max_steps": 28}
    assert config["train"]["gamma"] is not None
    assert config["policy"]["hidden_size"] == 16
    assert config["policy"]["num_layers"] >= 1
    assert config["run"]["command"][:3] == ["puffer", "train", "ocean-squared"]
    out = capsys.readouterr().out
    for text in (f"runs/ocean-squared/{run.name}", "512", "puffer play", "curve.png"):
        assert text in out


def test_the_written_settings_repeat_the_run_bit_for_bit(folder):
    assert train("--run-dir", "a", "--train.seed", "7") == 0
    assert main(["train", "--config", "a/config.toml", "--run-dir", "b"]) == 0
    rows = [without_times(RunDirectory(folder / name).rows()) for name in "ab"]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 4


def test_a_resumed_run_goes_on_in_its_directory_and_stops_at_the_total(folder, capsys):
    assert train("--run-dir", "r") == 0
    assert train("--resume", "r", steps=8 * ROLLOUT, env=None) == 0
    assert steps_of(folder / "r") == [128 * k for k in range(1, 9)]
    resumed = RunDirectory(folder / "r").record()["resumed"]
    assert [again["step"] for again in resumed] == [512]
    assert RunDirectory(folder / "r").tables()["train"]["total_timesteps"] == 1024
    capsys.readouterr()
    assert main(["train", "--resume", "r"]) == 0
    assert "already finished, at 1,024 of 1,024 steps" in capsys.readouterr().out
    assert steps_of(folder / "r") == [128 * k for k in range(1, 9)]


def test_rows_after_the_checkpoint_and_a_torn_line_are_not_seen_twice(folder):
    assert train("--run-dir", "r") == 0
    with open("r/metrics.jsonl", "a") as file:
        file.write(json.dumps({"global_step": 640, "SPS": 1.0}) + '\n{"global_step": 76')
    assert train("--resume", "r", steps=6 * ROLLOUT, env=None) == 0
    assert steps_of(folder / "r") == [128, 256, 384, 512, 640, 768]
    assert all(json.loads(line) for line in (folder / "r" / "metrics.jsonl").read_text().splitlines())


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None])
def test_a_damaged_newest_checkpoint_is_skipped_with_a_warning(folder, caplog, damage):
    assert train("--run-dir", "r") == 0
    newest = folder / "r" / "checkpoints" / "512.pt"
    newest.write_bytes(newest.read_bytes()[:-100] if damage is None else damage)
    assert train("--resume", "r", steps=6 * ROLLOUT, env=None) == 0
    assert "512.pt" in caplog.text
    assert steps_of(folder / "r") == [128, 256, 384, 512, 640, 768]


def test_a_run_whose_checkpoints_are_all_damaged_is_refused_and_left_alone(folder, capsys):
    assert train("--run-dir", "r") == 0
    for path in RunDirectory(folder / "r").checkpoints():
        path.write_bytes(b"")
    before = (folder / "r" / "metrics.jsonl").read_bytes()
    assert train("--resume", "r", steps=6 * ROLLOUT, env=None) == 2
    assert "none of its 3 checkpoints can be read" in capsys.readouterr().err
    assert (folder / "r" / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("argv", "texts"),
    [
        (["ocean-bandit", "--resume", "r"], ["ocean-squared", "ocean-bandit"]),
        (["--resume", "r", "--policy.hidden-size", "32"], ["hidden_size", "16", "32"]),
        (["--resume", "r", "--policy.name", "lstm"], ["name", "mlp", "lstm"]),
        (["--resume", "r", "--env.radius", "6"], ["radius", "5", "6"]),
        (["--resume", "r", "--run-dir", "elsewhere"], ["--run-dir", "--resume"]),
        (["--resume", "r", "--train.optimizer", "muon", "--train.total-timesteps", "2000"], ["optimizer", "adam", "muon"]),
    ],
)  # fmt: skip
def test_resuming_as_something_else_is_refused_with_both_values(folder, capsys, argv, texts):
    assert train("--run-dir", "r", "--train.optimizer", "adam") == 0
    before = {path: path.read_bytes() for path in (folder / "r").rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["train", *argv]) == 2
    err = capsys.readouterr().err
    assert all(text in err for text in texts), err
    assert {path: path.read_bytes() for path in (folder / "r").rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in folder.iterdir()) == ["r"]


def test_an_existing_run_is_never_overwritten(folder, capsys):
    assert train("--run-dir", "r") == 0
    before = (folder / "r" / "config.toml").read_bytes()
    assert train("--run-dir", "r", "--train.seed", "9") == 2
    assert "--resume r" in capsys.readouterr().err
    assert (folder / "r" / "config.toml").read_bytes() == before


def test_a_best_metric_that_no_episode_logs_is_told_once_and_one_that_they_do_log_keeps_the_best(folder, caplog, capsys):
    assert train("--run-dir", "r", "--train.best-metric", "scor", steps=8 * ROLLOUT) == 0
    assert caplog.text.count("best_metric='scor'") == 1 and "score" in caplog.text
    assert RunDirectory(folder / "r").best_checkpoints() == []
    caplog.clear()
    few = ("--train.keep-checkpoints", "1", "--train.best-metric", "-episode_length")
    assert train("--run-dir", "s", *few, steps=12 * ROLLOUT) == 0
    run, rows = RunDirectory(folder / "s"), RunDirectory(folder / "s").rows()
    assert not caplog.text
    best = Ranking("-episode_length", rows).best([row["global_step"] for row in rows])[0]
    assert {int(path.stem) for path in run.checkpoints()} == {12 * ROLLOUT, best}
    assert f"checkpoints/{best}.pt, episode_length" in capsys.readouterr().out


def test_nan_stops_the_run_with_the_cause_and_the_last_good_checkpoint(folder, capsys, monkeypatch):
    learn = PuffeRL.train

    def fail_in_the_third(self):
        if self.epoch == 2:
            raise NonFiniteError("value_loss is NaN")
        learn(self)

    monkeypatch.setattr(PuffeRL, "train", fail_in_the_third)
    assert train("--run-dir", "r") == 1
    err = capsys.readouterr().err
    assert "value_loss is NaN" in err
    assert "r/checkpoints/256.pt" in err
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert train("--resume", "r", env=None) == 0
    assert steps_of(folder / "r") == [128, 256, 384, 512]


def press_ctrl_c_in(monkeypatch, name, work, presses=1):
    """In the third call of that method, Ctrl-C is pressed, and then `work` goes on."""
    own, calls = getattr(PuffeRL, name), []

    def method(self):
        calls.append(name)
        if len(calls) == 3:
            for _ in range(presses):
                threading.Thread(target=signal.raise_signal, args=[signal.SIGINT]).start()
                time.sleep(0.05)
            work()
        own(self)

    monkeypatch.setattr(PuffeRL, name, method)


@pytest.mark.parametrize("name", ["evaluate", "train"])
def test_ctrl_c_finishes_the_step_saves_and_exits_130(folder, capsys, monkeypatch, name):
    before = signal.getsignal(signal.SIGINT)
    press_ctrl_c_in(monkeypatch, name, lambda: None)
    assert train("--run-dir", "r", "--train.checkpoint-interval", "0", steps=10**6) == 130
    out = capsys.readouterr().out
    assert "stopped at step 384; saved r/checkpoints/384.pt" in out
    assert "puffer train --resume r" in out
    assert steps_of(folder / "r") == [128, 256, 384]
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert train("--resume", "r", env=None) == 0
    assert steps_of(folder / "r") == [128, 256, 384, 512]


@pytest.mark.parametrize("presses", [1, 2])
def test_a_step_that_hangs_is_broken_off_and_the_last_checkpoint_stands(folder, capsys, monkeypatch, presses):
    monkeypatch.setattr(interrupt, "STEP_LIMIT_S", 0.2 if presses == 1 else 60.0)
    press_ctrl_c_in(monkeypatch, "train", lambda: time.sleep(60), presses)
    assert train("--run-dir", "r", steps=10**6) == 130
    assert "last checkpoint: r/checkpoints/256.pt" in capsys.readouterr().out
    assert RunDirectory(folder / "r").checkpoints()[0].name == "256.pt"


def test_a_curve_that_cannot_be_drawn_costs_only_a_warning(folder, caplog, monkeypatch):
    def no_disk(*args):
        raise OSError("disk full")

    monkeypatch.setattr("pufferlib.train.run.draw_curves", no_disk)
    assert train("--run-dir", "r") == 0
    assert "disk full" in caplog.text


def test_a_failed_start_leaves_no_directory(folder, capsys):
    assert train("--run-dir", "r", "--train.batch-size", "13") == 2
    assert "batch_size" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_an_env_of_a_script_is_found_again_on_resume(folder, monkeypatch):
    (folder / "script_envs.py").write_text(
        "import gymnasium, pufferlib\npufferlib.register('my-pole', lambda: gymnasium.make('CartPole-v1'))\n"
    )
    monkeypatch.syspath_prepend(folder)
    assert train("--run-dir", "r", env="script_envs:my-pole") == 0
    assert train("--resume", "r", steps=6 * ROLLOUT, env="script_envs:my-pole") == 0
    assert read_toml("r/config.toml")["env_name"] == "script_envs:my-pole"
    assert steps_of(folder / "r")[-1] == 768


def test_gymnasium_envs_take_their_own_arguments(folder):
    assert train("--run-dir", "r", "--env.max_episode_steps", "9", env="gym-CartPole-v1") == 0
    assert read_toml("r/config.toml")["env"] == {"max_episode_steps": 9}
    assert RunDirectory(folder / "r").rows()[-1]["environment/episode_length"] <= 9


def test_a_wrong_argument_of_a_gymnasium_env_exits_2(folder, capsys):
    assert train("--env.zzz", "9", env="gym-CartPole-v1") == 2
    assert "zzz" in capsys.readouterr().err
