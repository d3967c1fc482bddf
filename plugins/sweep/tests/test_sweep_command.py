"""`puffer sweep` as a user types it: going on, reporting, help, and trials that really train."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

import pufferlib
from pufferlib.cli.main import main
from pufferlib.errors import ConfigError
from pufferlib_sweep.study import counts

QUICK = ("--train.total-timesteps", "1000")


def words(capsys):
    return capsys.readouterr().out


def test_a_sweep_leaves_a_report(sweep, pictures, tmp_path, capsys):
    assert sweep("good", "--sweep.trials", "6", *QUICK) == 0
    said = words(capsys)
    assert "6 trials: 6 complete" in said and "best      trial" in said
    assert all(len(line) <= 80 for line in said.splitlines() if "/" not in line)
    folder = tmp_path / "sweep"
    for name in ("pareto", "history", "curves", "importance", "slices", "parallel"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name
    index = (folder / "index.html").read_text()
    for name in ("best.toml", "trials.csv", "parallel.html", "pareto.png"):
        assert f'"{name}"' in index
    assert "http" not in (folder / "parallel.html").read_text().replace("http://www.w3.org/2000/svg", "")
    assert len((folder / "trials.csv").read_text().splitlines()) == 7


@pytest.mark.parametrize(("seeds", "best"), [("1", "sweep/trials/000"), ("2", "/seed-")])
def test_puffer_runs_knows_the_trials_of_a_sweep(sweep, seeds, best, capsys):
    sweep("good", "--sweep.trials", "3", "--sweep.seeds-per-trial", seeds, *QUICK)
    words(capsys)
    assert main(["runs", "--root", "."]) == 0
    said = words(capsys)
    assert "best of 3" in said.splitlines()[1] and best in said.splitlines()[1]
    assert said.count("sweep/trials/") == 2, "the line, and that the stub's run has no config.toml"


def test_report_alone_writes_it_again(sweep, tmp_path, capsys):
    sweep("good", "--sweep.trials", "2", *QUICK)
    (tmp_path / "sweep" / "best.toml").unlink()
    words(capsys)
    assert main(["sweep", "report", "sweep"]) == 0
    assert "best      trial" in words(capsys) and (tmp_path / "sweep" / "best.toml").exists()


def test_the_first_trial_has_the_preset_s_own_settings(sweep, load):
    sweep("good", "--sweep.trials", "1", "--train.total-timesteps", "1000")
    settings = load().trials[0].user_attrs["settings"]
    assert settings["train.learning_rate"] == 5e-3 and settings["train.horizon"] == 8 and settings["vec.num_envs"] == 64


def test_given_settings_are_the_same_in_all_trials(sweep, load, tmp_path):
    sweep("good", "--sweep.trials", "3", "--train.gamma", "0.9", *QUICK)
    assert all("train.gamma" not in trial.params for trial in load().trials)
    for number in range(3):
        trained = tomllib.loads((tmp_path / f"sweep/logs/{number:04d}.toml").read_text())
        assert trained["train"]["gamma"] == 0.9 and trained["train"]["total_timesteps"] == 1000


def test_resume_goes_on_with_more_trials(sweep, load, capsys):
    sweep("good", "--sweep.trials", "2", *QUICK)
    before = load().trials
    assert main(["sweep", "--sweep.resume", "sweep", "--sweep.trials", "3", "--sweep.method", "tpe"]) == 0
    assert load().trials[:2] == before and len(load().trials) == 3
    for flags, said in [
        (["--train.gamma", "0.9"], "cannot change within a sweep"),
        (["--sweep.goal", "minimize"], "cannot change within a sweep; it has 'maximize'"),
        (["ocean-squared"], "of ocean-bandit, not of ocean-squared"),
    ]:
        assert main(["sweep", "--sweep.resume", "sweep", *flags]) == 2
        assert said in capsys.readouterr().err


def test_a_directory_that_was_moved_goes_on(sweep, load, tmp_path):
    sweep("good", "--sweep.trials", "2", *QUICK)
    (tmp_path / "sweep").rename(tmp_path / "moved")
    assert main(["sweep", "--sweep.resume", "moved", "--sweep.trials", "3"]) == 0
    (tmp_path / "moved").rename(tmp_path / "sweep")
    assert [trial.state.name for trial in load().trials] == ["COMPLETE"] * 3


def test_the_directory_of_another_sweep_is_refused(sweep, tmp_path, capsys):
    sweep("good", "--sweep.trials", "1", *QUICK)
    assert sweep("good", "--sweep.trials", "1", "--train.total-timesteps", "2000") == 2
    assert "train.total_timesteps 1000, not 2000" in capsys.readouterr().err
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    assert main(["sweep", "ocean-bandit", "--run-dir", "other"]) == 2
    assert "holds no sweep" in capsys.readouterr().err


def test_a_metric_that_is_not_there_ends_the_sweep_at_once(sweep, load, capsys):
    assert sweep("good", "--sweep.trials", "9", "--sweep.metric", "prf", *QUICK) == 2
    assert "did you mean perf" in capsys.readouterr().err
    assert not any(counts(trial) for trial in load().trials)


def test_less_is_better_where_the_goal_says_so(sweep, load):
    sweep("good", "--sweep.trials", "3", "--sweep.goal", "minimize", *QUICK)
    assert load().best_value == min(trial.value for trial in load().trials)


def test_max_cost_ends_a_sweep(sweep, load, capsys):
    assert sweep("good", "--sweep.trials", "9", "--sweep.max-cost", "2", *QUICK) == 0
    assert len(load().trials) == 2 and "--sweep.max-cost" in words(capsys)


def test_time_ends_a_sweep_and_leaves_the_running_trial_for_later(sweep, load):
    assert sweep("slow", "--sweep.trials", "2", "--sweep.timeout-s", "2", *QUICK) == 1
    assert sweep("good", "--sweep.trials", "2", *QUICK) == 0
    assert sum(counts(trial) for trial in load().trials) == 2


def test_seeds_of_a_trial_have_runs_of_their_own(sweep, load, tmp_path):
    assert sweep("good", "--sweep.trials", "1", "--sweep.seeds-per-trial", "2", "--train.seed", "7", *QUICK) == 0
    (trial,) = load().trials
    assert sorted(path.name for path in (tmp_path / "sweep" / trial.user_attrs["run_dir"]).iterdir()) == ["seed-7", "seed-8"]
    assert tomllib.loads((tmp_path / "sweep/logs/0000-seed-8.toml").read_text())["train"]["seed"] == 8
    assert trial.user_attrs["cost"] == 1.0


@pytest.mark.parametrize("method", ["protein", "random"])
def test_a_hopeless_trial_is_ended_early_and_counts_with_its_curve(sweep, load, capsys, method):
    flags = ["--sweep.trials", "6", "--sweep.early-stop", "true", "--sweep.method", method]
    assert sweep("hopeless", *flags, *QUICK) == 0
    last = load().trials[5]
    assert [trial.state.name for trial in load().trials] == ["COMPLETE"] * 5 + ["PRUNED"]
    assert last.value == -1000.0 and last.user_attrs["stopped"] and last.user_attrs["curve_steps"][-1] <= 500
    assert "stopped at perf -1000" in words(capsys)


def test_several_trials_at_once(sweep, load):
    assert sweep("good", "--sweep.trials", "5", "--sweep.parallel", "3", *QUICK) == 0
    assert [trial.state.name for trial in load().trials] == ["COMPLETE"] * 5


@pytest.mark.parametrize("storage", ["work.journal", "sqlite:///work.db"])
def test_any_storage_of_optuna_holds_the_study(sweep, tmp_path, storage):
    import optuna
    from optuna.storages import JournalStorage, journal

    assert sweep("good", "--sweep.trials", "2", "--sweep.storage", storage, "--sweep.name", "shared", *QUICK) == 0
    where = JournalStorage(journal.JournalFileBackend("work.journal")) if storage.endswith("journal") else storage
    assert len(optuna.load_study(study_name="shared", storage=where).trials) == 2


def test_the_dashboard_reads_the_study(sweep, tmp_path):
    pytest.importorskip("optuna_dashboard")
    from optuna.storages import RDBStorage
    from optuna_dashboard._app import create_app

    sweep("good", "--sweep.trials", "2", *QUICK)
    app = create_app(RDBStorage(f"sqlite:///{tmp_path}/sweep/study.db"))
    answers = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/api/studies/1", "QUERY_STRING": "after=0", "wsgi.input": io.BytesIO()}
    body = b"".join(app(environ, lambda status, headers, *rest: answers.append(status)))
    assert answers[0].startswith("200") and b"learning_rate" in body


def test_a_storage_that_cannot_be_is_an_error(sweep, capsys):
    assert sweep("good", "--sweep.storage", "nosuch://db") == 2
    assert "--sweep.storage nosuch://db" in capsys.readouterr().err


def test_help_lists_everything(capsys):
    assert main(["sweep", "--help"]) == 0
    said = words(capsys)
    for name in ("sweep.trials", "sweep.resume", "sweep.early-stop", "train.learning-rate", "run-dir", "sweep.ray-address"):
        assert f"--{name}" in said, name


def test_the_best_settings_train(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = {"train.learning_rate": {"distribution": "log_normal", "min": 1e-3, "max": 3e-2}}
    seen = []
    protein = pufferlib.Protein("ocean-bandit", space, 2, settings={"train.total_timesteps": 1500}, run_dir="found")
    result = protein.optimize(on_trial=seen.append)
    assert [trial.state for trial in result.trials] == ["complete"] * 2 and seen == result.trials
    assert result.best_trial.steps == 1536 and 0 <= result.best_score <= 1
    assert result.best.keys() == space.keys() and len(result.table()) == 2
    assert main(["sweep", "report", "found"]) == 0
    command = [sys.executable, "-m", "pufferlib", "train", "--config", "found/best.toml", "--run-dir", "again"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = tomllib.loads(Path("again/config.toml").read_text())["train"]
    assert again["learning_rate"] == pytest.approx(result.best["train.learning_rate"]) and again["total_timesteps"] == 1500


def test_protein_refuses_what_it_cannot_search():
    with pytest.raises(ConfigError, match="did you mean parallel"):
        pufferlib.Protein("ocean-bandit", parralel=2)
    with pytest.raises(ConfigError, match="a function needs a search_space"):
        pufferlib.Protein(lambda values: 1.0)
    with pytest.raises(ConfigError, match="an env's name or a function"):
        pufferlib.Protein(3)


def test_protein_is_a_name_of_pufferlib_where_the_plugin_is_there():
    from pufferlib_sweep.api import Protein
    from pufferlib_sweep.protein import ProteinSampler

    assert pufferlib.Protein is Protein and pufferlib.ProteinSampler is ProteinSampler
    assert not hasattr(pufferlib, "Prtein")
    done = subprocess.run(
        [sys.executable, "-c", "import sys, pufferlib; assert 'optuna' not in sys.modules; from pufferlib import Protein"],
        env={**os.environ, "PUFFERLIB_DISABLE_PLUGINS": "sweep"}, capture_output=True, text=True,
    )  # fmt: skip
    assert "ImportError" in done.stderr and "pip install 'pufferlib[sweep]'" in done.stderr
