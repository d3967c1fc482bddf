"""A run's directory: named, never overwritten, readable after a crash."""

from __future__ import annotations

import json
import os

import pytest

from pufferlib.atomic import leftovers, replacing
from pufferlib.errors import ConfigError
from pufferlib.train.best import Ranking
from pufferlib.train.run_dir import RunDirectory, describe_run, free_path, jsonable


def test_the_default_place_is_by_env_time_and_tag(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tagged = RunDirectory.create("ocean-squared", "first").path
    assert tagged.parent.as_posix() == "runs/ocean-squared"
    assert tagged.name.endswith("-first")
    assert RunDirectory.create("ocean-squared").path != RunDirectory.create("ocean-squared").path


def test_the_same_tag_in_the_same_second_is_another_directory(tmp_path):
    made = {RunDirectory.create("e", "same", root=tmp_path).path for _ in range(4)}
    assert len(made) == 4


@pytest.mark.parametrize("tag", ["../../out", "a/b", "..", "x" * 300, "ünï cödé", "a\nb", ".hidden", "con:1"])
@pytest.mark.parametrize("env", ["gym-ALE/Pong-v5", "module:env", "../up"])
def test_names_stay_inside_the_root(tmp_path, tag, env):
    path = free_path(env, tag, root=tmp_path)
    assert path.resolve().parent.parent == tmp_path.resolve()
    RunDirectory.create(env, tag, root=tmp_path)


def test_a_directory_that_holds_something_is_refused_and_untouched(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("old\n")
    with pytest.raises(ConfigError, match=r"--run-dir .* is not empty.*--resume"):
        RunDirectory.create("e", run_dir=tmp_path)
    assert (tmp_path / "metrics.jsonl").read_text() == "old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_an_empty_directory_is_taken_and_a_file_is_not(tmp_path):
    (tmp_path / "empty").mkdir()
    assert free_path("e", run_dir=tmp_path / "empty").is_dir()
    assert RunDirectory.create("e", run_dir=tmp_path / "empty").path.is_dir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="file"):
            RunDirectory.create("e", run_dir=path)


def test_open_wants_a_run(tmp_path):
    with pytest.raises(ConfigError, match="no such run"):
        RunDirectory.open(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"no config\.toml"):
        RunDirectory.open(tmp_path)


def test_config_holds_settings_versions_and_the_command(tmp_path):
    run = RunDirectory.create("e", run_dir=tmp_path / "r")
    run.write_config({"env_name": "e", "train": {"seed": 3}}, describe_run(["puffer", "train", "e"]))
    assert RunDirectory.open(run.path).tables() == {"env_name": "e", "train": {"seed": 3}}
    record = run.record()
    assert record["command"] == ["puffer", "train", "e"]
    assert set(record["versions"]) == {"python", "pufferlib", "torch", "numpy", "gymnasium"}
    assert sorted(p.name for p in run.path.iterdir()) == ["config.toml"]


def test_a_start_that_was_killed_before_its_settings_were_written_can_be_repeated(tmp_path):
    """All that it can leave is an empty directory, or one with a half-written config.toml under another name."""
    killed = replacing(tmp_path / "r" / "config.toml", "w")
    killed.__enter__().write("env_")
    assert len(leftovers(tmp_path / "r")) == 1
    assert free_path("e", run_dir=tmp_path / "r") == tmp_path / "r"
    (tmp_path / "r" / "notes.txt").write_text("")
    with pytest.raises(ConfigError, match="not empty"):
        free_path("e", run_dir=tmp_path / "r")


def test_cutting_drops_later_rows_and_the_torn_line(tmp_path):
    run = RunDirectory.create("e", run_dir=tmp_path / "r")
    rows = [{"global_step": step, "SPS": 1.5} for step in (10, 20, 30)]
    run.metrics_file.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"global_step": 40, "SP')
    assert run.rows() == rows
    run.cut_metrics(20)
    assert run.metrics_file.read_text() == "".join(json.dumps(row) + "\n" for row in rows[:2])


def test_rows_survive_bytes_that_are_no_text(tmp_path):
    run = RunDirectory.create("e", run_dir=tmp_path / "r")
    run.metrics_file.write_bytes(b'{"global_step": 1}\n\xff\xfe\x00\n[1]\n"x"\n{"global_step": 2}\n')
    assert run.rows() == [{"global_step": 1}, {"global_step": 2}]
    RunDirectory.create("e", run_dir=tmp_path / "s").cut_metrics(5)


def test_checkpoints_are_listed_newest_first(tmp_path):
    run = RunDirectory.create("e", run_dir=tmp_path / "r")
    run.checkpoint_folder.mkdir()
    for step in (900, 1000, 20):
        run.checkpoint_path(step).write_bytes(b"")
    (run.checkpoint_folder / "notes.pt").write_bytes(b"")
    assert run.checkpoints() == [run.checkpoint_path(step) for step in (1000, 900, 20)]
    run.prune(0)
    assert len(run.checkpoints()) == 3
    run.prune(2)
    assert run.checkpoints() == [run.checkpoint_path(step) for step in (1000, 900)]
    assert (run.checkpoint_folder / "notes.pt").exists()


def test_the_newest_and_the_best_checkpoints_stay(tmp_path):
    run = RunDirectory.create("e", run_dir=tmp_path / "r")
    run.checkpoint_folder.mkdir()
    worth = {10: 3.0, 20: 7.0, 30: 7.0, 40: 1.0, 50: 2.0}
    for step in worth:
        run.checkpoint_path(step).write_bytes(b"")
    ranking = Ranking("auto", [{"global_step": s, "environment/n": 100, "environment/score": w} for s, w in worth.items()])
    run.prune(1, 2, ranking)
    assert [int(path.stem) for path in run.checkpoints()] == [50, 30, 20]
    run.prune(1, 1, ranking)
    assert [int(path.stem) for path in run.checkpoints()] == [50, 30]
    run.prune(0, 0, ranking)
    assert len(run.checkpoints()) == 2


def test_the_best_checkpoints_are_found_by_the_runs_own_metric(tmp_path):
    run = RunDirectory.create("e", run_dir=tmp_path / "r")
    run.checkpoint_folder.mkdir()
    rows = [
        {"global_step": step, "environment/n": 100, "environment/score": -step, "environment/perf": step} for step in (10, 20, 30)
    ]  # fmt: skip
    run.metrics_file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for step in (10, 30):
        run.checkpoint_path(step).write_bytes(b"")
    for metric, order in {"auto": ["10.pt", "30.pt"], "perf": ["30.pt", "10.pt"], "none_such": []}.items():
        run.write_config({"env_name": "e", "train": {"best_metric": metric}}, {})
        assert [path.name for path in run.best_checkpoints()] == order


@pytest.mark.skipif(os.name != "posix", reason="folders are locked on POSIX only")
def test_a_run_is_written_by_one_process_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("pufferlib.train.run_dir.LOCK_WAIT_S", 0.0)
    run = RunDirectory.create("e", run_dir=tmp_path / "r")
    with run.locked(), pytest.raises(ConfigError, match="another process"), RunDirectory(run.path).locked():
        pass
    with run.locked():
        pass


def test_json_has_no_nan():
    import numpy as np

    row = jsonable({"a": float("nan"), "b": float("inf"), "c": np.float32(0.5), "d": np.int64(3), "e": "text", "f": True})
    assert row == {"a": None, "b": None, "c": 0.5, "d": 3, "e": "text", "f": True}
    json.dumps(row, allow_nan=False)
