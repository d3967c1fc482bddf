"""What is found on disk: every run with its figures, whatever lies beside it."""

from __future__ import annotations

import json
import os

import pytest

from pufferlib.analysis.index import candidates, find_all, read_run
from pufferlib.analysis.rows import end_of, last_episodes
from pufferlib.analysis.text import duration, fit, short, table
from pufferlib.errors import ConfigError
from pufferlib.train.best import Ranking
from pufferlib.train.run_dir import RunDirectory


def names(found):
    return [run.name for run in found.runs]


def test_runs_are_found_at_any_depth_newest_first(make_run, tmp_path):
    make_run("ocean-squared/old", started="2026-01-01T10:00:00+0000")
    make_run("sweeps/one/trials/7", started="2026-01-03T10:00:00+0000")
    make_run("middle", started="2026-01-02T10:00:00+0100")
    assert names(find_all(tmp_path / "runs")) == ["7", "middle", "old"]


def test_nothing_is_looked_for_in_checkpoints_and_hidden_folders(make_run, tmp_path):
    run = make_run("a")
    for inner in ("checkpoints", ".git", "videos"):
        (run / inner / "x").mkdir(parents=True)
        (run / inner / "x" / "config.toml").write_text('env_name = "e"\n')
    assert list(candidates(tmp_path)) == [run]


def test_a_torn_line_is_left_out_and_a_step_told_twice_stands_as_told_last(make_run, row):
    path = make_run("torn", [row(100, perf=0.1), row(200, perf=0.9), row(200, perf=0.2), row(300, perf=0.3)])
    with (path / "metrics.jsonl").open("ab") as file:
        file.write(b'\xff\xfe\n[1]\n{"perf": 1}\n{"global_step": "x"}\n{"global_step": NaN}\n{"global_step": 400, "environ')
    rows = read_run(path).rows()
    assert [one["global_step"] for one in rows] == [100, 200, 300]
    assert [one["environment/perf"] for one in rows] == [0.1, 0.2, 0.3]


def test_what_is_no_finite_number_is_left_out_of_a_row(make_run):
    path = make_run("odd", [{"global_step": 5, "a": None, "b": "x", "c": True, "d": 2, "e": [1]}])
    assert read_run(path).rows() == [{"global_step": 5, "d": 2}]


def test_a_run_without_or_with_a_broken_config_is_shown_with_the_reason(make_run, tmp_path, row):
    lost, broken, good = make_run("lost", [row(100, perf=0.5)]), make_run("broken", [row(100, perf=0.5)]), make_run("good")
    (lost / "config.toml").unlink()
    (broken / "config.toml").write_text("env_name = [\n")
    found = {run.name: run for run in find_all(tmp_path).runs}
    assert found["lost"].problem == "no config.toml"
    assert "not valid TOML" in found["broken"].problem
    assert found["good"].problem == ""
    assert found["lost"].summary("perf").last == 0.5
    assert (found["lost"].env, found["lost"].policy) == ("?", "?")
    assert read_run(good).env == "ocean-squared"


def test_a_foreign_folder_is_left_out_with_the_reason(make_run, tmp_path):
    make_run("mine")
    for name, text in (("site", 'title = "a blog"\n'), ("torn", "= =\n"), ("bytes", None)):
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / "config.toml").write_bytes(b"\xff\xfe" if text is None else text.encode())
    found = find_all(tmp_path / "runs")
    assert names(found) == ["mine"]
    assert {path.name: reason for path, reason in found.skipped} == {
        "site": "config.toml names no env",
        "torn": next(reason for path, reason in found.skipped if path.name == "torn" and "not valid TOML" in reason),
        "bytes": "config.toml is not UTF-8 text",
    }


def test_a_missing_root_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ConfigError, match=r"--root .*nowhere: there is no such folder"):
        find_all(tmp_path / "nowhere")


# ---------------------------------------------------------------- state


def test_all_steps_done_is_finished(make_run, row):
    assert read_run(make_run("a", [row(1024, perf=1)])).summary().state == "finished"


def test_ended_early_with_a_checkpoint_of_the_last_row_is_stopped_and_without_is_failed(make_run, row):
    assert read_run(make_run("a", [row(512, perf=1)], checkpoints=[256, 512])).summary().state == "stopped"
    assert read_run(make_run("b", [row(512, perf=1)], checkpoints=[256])).summary().state == "failed"
    assert read_run(make_run("c")).summary().state == "failed"


def test_a_training_that_ended_itself_drew_its_curve_and_is_finished_until_it_is_resumed(make_run, row):
    path = make_run("a", [row(512, perf=1)])
    (path / "curve.png").write_bytes(b"")
    os.utime(path / "metrics.jsonl", (1000, 1000))
    assert read_run(path).summary().state == "finished"
    os.utime(path / "curve.png", (900, 900))
    assert read_run(path).summary().state == "failed"


def test_a_run_that_a_process_holds_is_running_also_for_a_second_reader(make_run, row):
    pytest.importorskip("fcntl")
    path = make_run("a", [row(512, perf=1)])
    with RunDirectory(path).locked():
        assert [read_run(path).summary().state for _ in range(2)] == ["running", "running"]
    assert read_run(path).summary().state == "failed"


# ---------------------------------------------------------------- figures


def test_last_and_best_are_means_over_a_hundred_episodes(make_run, row):
    rows = [row(100, 100, perf=0.9), row(200, 100, perf=0.2), row(300, 50, perf=0.4), row(400, 50, perf=0.6), row(500, 0)]
    summary = read_run(make_run("a", rows)).summary("perf")
    assert summary.steps == 500
    assert summary.last == pytest.approx(0.5)  # (50 * 0.4 + 50 * 0.6) / 100
    assert summary.best == pytest.approx(0.9)
    assert summary.metric == "perf"


def test_the_least_is_best_with_a_minus_and_the_runs_own_metric_is_the_default(make_run, row):
    rows = [row(100, perf=0.9, cost=3.0), row(200, perf=0.2, cost=7.0)]
    run = read_run(make_run("a", rows, best_metric="-cost"))
    assert (run.summary().metric, run.summary().best, run.summary().last) == ("cost", 3.0, 7.0)
    assert run.summary("perf").best == 0.9


def test_a_metric_that_nobody_logged_has_no_last_and_no_best(make_run, row):
    summary = read_run(make_run("a", [row(100, perf=0.9)])).summary("score")
    assert (summary.metric, summary.last, summary.best) == (None, None, None)


def test_final_statistics_agree_with_the_ranking_of_checkpoints(row, make_run):
    rows = [row(step, 7 + step % 13, perf=step % 31, score=step % 17) for step in range(1, 200)]
    found = last_episodes(end_of(make_run("a", rows) / "metrics.jsonl"))
    for name in ("perf", "score"):
        assert found[f"environment/{name}"] == pytest.approx(Ranking(name, rows).value(199))


def test_speed_is_steps_over_uptime_rather_than_that_of_the_last_row(make_run, row):
    summary = read_run(make_run("a", [row(1000, uptime=4.0, perf=1)])).summary()
    assert summary.speed == 250.0


def test_a_resumed_run_counts_its_steps_once(make_run, row):
    again = [{"step": 500, "started": "2026-01-03T10:00:00+0000", "command": ["puffer", "train", "--resume", "x"]}]
    run = read_run(make_run("a", [row(step, perf=0.5) for step in (250, 500, 500, 750, 1000)], resumed=again))
    assert run.summary().steps == 1000
    assert run.summary().state == "finished"
    assert len(run.rows()) == 4


def test_the_start_is_that_of_the_record_or_of_the_last_row(make_run):
    assert read_run(make_run("a", started="1970-01-02T00:00:00+0000")).started == 86400
    odd = make_run("b", started="yesterday")
    os.utime(odd / "metrics.jsonl", (5000, 5000))
    assert read_run(odd).started == 5000
    (odd / "config.toml").unlink()
    assert read_run(odd).started == 5000
    (odd / "metrics.jsonl").unlink()
    os.utime(odd, (6000, 6000))
    assert read_run(odd).started == 6000


def test_json_of_a_run_holds_no_nan(make_run, row):
    from pufferlib.analysis.index import dump

    run = read_run(make_run("a", [row(100, perf=0.5)], env={"limit": float("inf")}))
    assert json.loads(dump(run.summary().as_json()))["settings"]["env.limit"] is None


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (float("nan"), "-"), (0, "0"), (0.64406, "0.644"), (1e-5, "1e-05"), (-12.345, "-12.3"), (999.4, "999"),
     (999.7, "1k"), (303104, "303k"), (1_250_000, "1.25M"), (2e9, "2G")],
)  # fmt: skip
def test_figures_have_three_digits_that_count(value, text):
    assert short(value) == text


def test_durations_are_in_the_largest_whole_unit():
    assert [duration(s) for s in (0.5, 59, 60, 7199, 86400 * 3, 86400 * 800, None)] == ["0s", "59s", "1m", "1h", "3d", "2y", "-"]


def test_a_table_keeps_its_width_by_cutting_names_from_the_left():
    lines = table(["name", "x"], [["a" * 30 + "end", "1.5"]], width=20)
    assert lines[1] == "…" + "a" * 11 + "end" + "  1.5"
    assert len(lines[1]) == 20
    assert fit("abc", 5) == "abc  "


def test_a_name_cannot_write_to_the_terminal():
    assert table(["name"], [["a\x1b[31m\nb"]]) == ["name", "a?[31m?b"]
