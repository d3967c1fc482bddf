"""`puffer runs` and `puffer plot` as a user calls them: tables, JSON, files, errors in one line, and nothing heavy loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pufferlib.cli.main import main


@pytest.fixture
def puffer(capsys, tmp_path, monkeypatch):
    """puffer(*words) -> (exit code, stdout, stderr), in tmp_path, 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "runs").mkdir(exist_ok=True)

    def call(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def three(make_run, row):
    make_run("ocean-squared/20260101-100000-slow", [row(500, uptime=2.0, perf=0.25, score=2.0)], learning_rate=1e-3, tag="slow",
             checkpoints=[500])  # fmt: skip
    make_run("ocean-squared/20260102-100000-fast", [row(600, perf=0.9, score=8.0), row(1000, perf=0.5, score=7.0)],
             learning_rate=5e-3, tag="fast", checkpoints=[600, 1000], started="2026-01-03T10:00:00+0000")  # fmt: skip
    make_run("ocean-pong/20260104-100000-x", env_name="ocean-pong", started="2026-01-04T10:00:00+0000")


def test_the_list_has_every_run_within_80_columns(puffer, three):
    code, out, err = puffer("runs")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["env", "name", "state", "steps", "last", "best", "SPS", "age"]
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["ocean-pong", "20260104-100000-x"], ["ocean-squared", "20260102-100000-fast"], ["ocean-squared", "20260101-100000-slow"]
    ]  # fmt: skip
    assert lines[1].split()[2:7] == ["failed", "0", "-", "-", "-"]
    assert lines[2].split()[2:7] == ["finished", "1k", "7", "8", "1k"]
    assert lines[3].split()[2:7] == ["stopped", "500", "2", "2", "250"]
    assert max(map(len, lines)) <= 80


def test_long_names_do_not_widen_the_list(puffer, make_run, row):
    make_run("gym-" + "x" * 60 + "/20260101-100000-" + "y" * 60, [row(123456, perf=0.5)], env_name="gym-" + "x" * 60)
    _, out, _ = puffer("runs")
    assert max(map(len, out.splitlines())) <= 80


def test_trials_of_two_sweeps_are_told_apart(puffer, make_run):
    for sweep in ("one", "two"):
        make_run(f"{sweep}/trials/0001")
    make_run("other")
    _, out, _ = puffer("runs")
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["two/trials/0001", "other", "one/trials/0001"]


@pytest.fixture
def swept(make_run, row, tmp_path):
    """A sweep of four trials, the second of which has two seeds, beside two runs; its best trial at the end is 0001/seed-2."""
    make_run("ocean-squared/before", [row(1000, perf=0.4)], started="2026-01-01T10:00:00+0000")
    ends = {"0000": 0.5, "0001/seed-1": 0.2, "0001/seed-2": 0.7, "0002": 0.6, "0003": None}
    for minute, (name, end) in enumerate(ends.items()):
        rows = [] if end is None else [row(500, perf=0.65), row(1000, perf=end, cost=end)]
        make_run(f"ocean-squared/tuned/trials/{name}", rows, started=f"2026-01-02T10:0{minute}:00+0000", seed=minute)
    (tmp_path / "runs/ocean-squared/tuned/sweep.toml").write_text("")
    make_run("ocean-squared/after", [row(1000, perf=0.3)], started="2026-01-03T10:00:00+0000")


def test_a_sweep_is_one_line_of_its_best_trial(puffer, swept):
    _, out, _ = puffer("runs", "--metric", "perf")
    lines = [line.split() for line in out.splitlines()]
    assert [line[1] for line in lines[1:4]] == ["after", "tuned/trials/0001/seed-2", "before"]
    assert lines[2][2:8] == ["best", "of", "4", "1k", "0.7", "0.7"]
    assert "best of N: a sweep's best trial by last; --trials shows all" in out


def test_the_best_trial_may_be_that_of_the_least(puffer, swept):
    _, out, _ = puffer("runs", "--metric", "-cost")
    assert "tuned/trials/0001/seed-1  best of 4" in out


def test_all_trials_are_shown_with_a_flag_as_json_and_within_the_sweep(puffer, swept):
    _, out, _ = puffer("runs", "--trials")
    assert len(out.splitlines()) == 8 and "best of" not in out
    assert len(json.loads(puffer("runs", "--json")[1])) == 7
    _, out, _ = puffer("runs", "--root", "runs/ocean-squared/tuned")
    assert [line.split()[1] for line in out.splitlines()[1:6]] == ["0003", "0002", "seed-2", "seed-1", "0000"]


def test_trials_are_filtered_before_and_sweeps_sorted_and_counted_after(puffer, swept):
    _, out, _ = puffer("runs", "--metric", "perf", "--where", "train.seed!=2")
    assert "tuned/trials/0002  best of 4" in out, "seed-1 of the second trial is still there"
    _, out, _ = puffer("runs", "--where", "perf<0.6", "--sort", "perf", "--metric", "perf", "--limit", "2")
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["tuned/trials/0000", "before"]
    assert "best of 2" in out and "2 of 3 lines shown" in out
    assert "1 of 7 runs shown" in puffer("runs", "--trials", "--limit", "1")[1]


def test_a_sweep_whose_trials_have_no_value_is_a_line_all_the_same(puffer, make_run, tmp_path):
    for trial in ("0000", "0001"):
        make_run(f"s/trials/{trial}")
    (tmp_path / "runs/s/sweep.toml").write_text("")
    _, out, _ = puffer("runs")
    assert out.splitlines()[1].split()[1:8] == ["s/trials/0001", "best", "of", "2", "0", "-", "-"]  # the newest first


def test_all_rows_are_read_only_of_runs_that_are_shown(puffer, three, swept, monkeypatch):
    from pufferlib.analysis.index import Run

    ranked = []
    ranking = Run.ranking
    monkeypatch.setattr(Run, "ranking", lambda run, metric: ranked.append(run.name[-4:]) or ranking(run, metric))
    puffer("runs", "--where", "perf>0.1", "--sort", "last", "--metric", "perf", "--env", "squared", "--limit", "2")
    assert ranked == ["ed-2", "fast"], "for the column best of two lines"


def test_filters_sorting_and_limit(puffer, three):
    def names(*flags):
        return [run["name"][-4:] for run in json.loads(puffer("runs", *flags, "--json")[1])]

    assert names("--env", "squared") == ["fast", "slow"]
    assert names("--where", "train.learning_rate>1e-3", "--where", "perf>0.4") == ["fast"]
    assert names("--sort", "perf", "--reverse", "--limit", "1") == ["slow"]
    assert names("--tag", "slow") == ["slow"]
    assert names("--since", "2026-01-03") == ["00-x", "fast"]
    assert names("--limit", "1") == ["00-x"]
    code, out, _ = puffer("runs", "--where", "perf>2")
    assert (code, out) == (1, "no runs below runs that fit\n")
    assert "1 of 3 runs shown" in puffer("runs", "--limit", "1")[1]


def test_the_list_shows_what_it_sorts_by(puffer, three):
    header, first = puffer("runs", "--env", "squared", "--sort", "train.learning_rate")[1].splitlines()[:2]
    assert header.split()[-3:] == ["train.learning_rate", "SPS", "age"]
    assert first.split()[6] == "0.005"
    assert puffer("runs", "--sort", "SPS")[1].splitlines()[0].split().count("SPS") == 1


def test_json_holds_figures_settings_and_metrics(puffer, three):
    fast = json.loads(puffer("runs", "--tag", "fast", "--metric", "perf", "--json")[1])[0]
    assert (fast["last"], fast["best"], fast["state"], fast["total_steps"]) == (0.5, 0.9, "finished", 1000)
    assert fast["settings"]["train.learning_rate"] == 5e-3
    assert fast["metrics"]["environment/score"] == 7.0


def test_what_is_broken_is_listed_with_a_word_and_what_is_foreign_left_out_with_one(puffer, three, tmp_path):
    (tmp_path / "runs/ocean-pong/20260104-100000-x/config.toml").write_text("= broken")
    (tmp_path / "runs/ocean-pong/20260104-100000-x/metrics.jsonl").write_text('{"global_step": 7}\n{"glob')
    (tmp_path / "runs/blog").mkdir()
    (tmp_path / "runs/blog/config.toml").write_text('title = "x"')
    code, out, err = puffer("runs")
    assert code == 0 and out.count("ocean-squared ") == 2
    assert "20260104-100000-x: config.toml is not valid TOML" in out
    assert err.strip() == "left out: runs/blog: config.toml names no env"
    assert json.loads(puffer("runs", "--json")[1])


def test_show_tells_changes_metrics_checkpoints_and_files(puffer, three):
    code, out, _ = puffer("runs", "show", "fast")
    words = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["train.learning_rate", "0.005", "0.002"] in words
    assert ["score", "7", "7"] in words
    assert ["600.pt", "8", "*", "100", "B"] in words and ["1000.pt", "7", "100", "B"] in words
    assert "best: runs/ocean-squared/20260102-100000-fast/checkpoints/600.pt" in out
    assert ["metrics.jsonl"] in [line[:1] for line in words]
    facts = json.loads(puffer("runs", "show", "fast", "--json")[1])
    assert [(one["step"], one["worth"], one["is_best"]) for one in facts["checkpoints"]] == [(1000, 7.0, False), (600, 8.0, True)]


def test_best_prints_the_run_and_its_best_checkpoint(puffer, three):
    code, out, _ = puffer("runs", "best", "--env", "ocean-squared")
    facts = dict(line.split("\t") for line in out.splitlines())
    folder = "runs/ocean-squared/20260102-100000-fast"
    assert code == 0
    assert facts == {
        "run": folder,
        "checkpoint": f"{folder}/checkpoints/600.pt",
        "step": "600",
        "metric": "score",
        "value": "8.0",
    }
    assert puffer("runs", "best", "--env", "squared", "--print", "checkpoint")[1].strip() == facts["checkpoint"]
    low = json.loads(puffer("runs", "best", "--env", "squared", "--metric", "-score", "--json")[1])
    assert (low["value"], low["step"]) == (2.0, 500)
    assert puffer("runs", "best", "--env", "squared", "--where", "tag=slow", "--print", "run")[1].strip().endswith("slow")


def test_compare_prints_both_tables_and_draws(puffer, three, tmp_path):
    code, out, _ = puffer("runs", "compare", "slow", "fast", "--metric", "score")
    words = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["train.learning_rate", "0.001", "0.005"] in words
    assert ["score", "2", "7"] in words
    assert out.endswith("\nwrote compare.png\n") and (tmp_path / "compare.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(puffer("runs", "compare", "slow", "fast", "--json", "--out", "none")[1])
    assert found["settings"] == {"train.learning_rate": [1e-3, 5e-3]}


def test_aggregate_prints_statistics_intervals_and_what_weakens_them(puffer, five_seeds, make_run, row):
    for seed in (1, 2):
        make_run(f"other/o{seed}", [row(1000, perf=0.95)], seed=seed, gamma=0.5)
    make_run("other/o3", [row(1000)], seed=3, gamma=0.5)
    code, out, _ = puffer("runs", "aggregate", "a=runs/seeds", "b=o1,o2,o3", "--resamples", "500")
    assert code == 0
    assert "A  a  (n=5, ocean-squared)" in out and "B  b  (n=2, ocean-squared)" in out
    assert "B: 1 of 3 runs have no such score, and do not count" in out
    assert "B: of fewer than 5 runs a bootstrap interval is too narrow" in out
    found = json.loads(puffer("runs", "aggregate", "a=runs/seeds", "b=o*", "--json", "--resamples", "500")[1])
    first, second = found["groups"]
    assert first["statistics"]["iqm"]["value"] == pytest.approx(0.3)
    assert first["statistics"]["median"]["value"] == pytest.approx(0.3)
    assert first["statistics"]["mean"]["value"] == pytest.approx(0.4)
    assert first["statistics"]["optimality_gap"]["value"] == pytest.approx(0.6)
    assert second["scores"] == {"ocean-squared": [None, 0.95, 0.95]}  # the newest first
    assert found["probability_of_improvement"][0]["value"] == pytest.approx(1 / 5)  # only the run with 1.0 is ahead


def test_aggregate_of_one_folder_splits_by_a_setting_or_says_that_settings_are_mixed(puffer, five_seeds, make_run, row):
    make_run("seeds/other", [row(1000, perf=0.95)], gamma=0.5)
    mixed = puffer("runs", "aggregate", "runs/seeds", "--resamples", "100")[1]
    assert "A: its runs differ in train.gamma; --group-by seeds keeps such runs apart" in mixed
    apart = puffer("runs", "aggregate", "runs/seeds", "--group-by", "seeds", "--resamples", "100")[1]
    assert "gamma=0.99  (n=5" in apart and "gamma=0.5  (n=1" in apart
    assert "no intervals, there is a single run of ocean-squared" in apart


def test_report_and_plot_write_their_files(puffer, three, tmp_path):
    code, out, _ = puffer("runs", "report", "fast")
    assert (code, out) == (0, "wrote runs/ocean-squared/20260102-100000-fast/report.html\n")
    code, out, _ = puffer("plot", "slow", "fast", "--metric", "perf", "--metric", "sps", "--out", "a.svg", "--smooth", "0")
    assert (code, out) == (0, "wrote a.svg\n") and (tmp_path / "a.svg").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["runs", "shw"], "puffer runs shw: no such command; did you mean show?"),
        (["runs", "--root", "nowhere"], "there is no such folder"),
        (["runs", "--sorrt", "perf"], "did you mean --sort"),
        (["runs", "--sort", "prf"], "--sort prf: no run has 'prf'; did you mean perf?"),
        (["runs", "--where", "perf"], "expected KEY"),
        (["runs", "--since", "later"], "expected 90m"),
        (["runs", "--limit", "0"], "--limit: must be in [1, inf]"),
        (["runs", "show"], "which run?"),
        (["runs", "show", "a", "b"], "unexpected argument 'b'"),
        (["runs", "show", "fsat"], "near matches: ocean-squared/20260102-100000-fast"),
        (["runs", "show", "ocean-squared"], "2 runs have that in their names"),
        (["runs", "best"], "scores of several envs cannot be compared: choose one with --env (ocean-pong, ocean-squared)"),
        (["runs", "best", "--env", "pong"], "no run below runs that fits has a checkpoint"),
        (["runs", "compare", "fast"], "one run is compared with nothing"),
        (["runs", "compare", "fast", "slow", "--out", "x.bmp"], "must end in .png"),
        (["runs", "aggregate"], "which runs?"),
        (["runs", "aggregate", "*", "--metric", "score"], "not on one scale over ocean-pong, ocean-squared; perf is"),
        (["runs", "aggregate", "fast", "slow", "--group-by", "seeds"], "splits one GROUP, got 2"),
        (["runs", "report", "fast", "--out", "x.txt"], "must end in .html"),
        (["plot"], "which runs?"),
        (["plot", "fast", "--metric", "nope"], "--metric nope: no run has logged it"),
        (["plot", "fast", "--smooth", "1"], "--smooth: must be in"),
        (["plot", "fast", "--x", "epochs"], "one of steps, time"),
        (["plot", "20260104"], "nothing to draw"),
    ],
)
def test_a_wrong_request_is_one_message_and_exit_code_2(puffer, three, words, message):
    code, _, err = puffer(*words)
    assert code == 2
    assert message in err and "Traceback" not in err
    assert err.startswith("puffer: ")


def test_help_tells_every_flag(puffer):
    from pufferlib.cli import plot, runs

    code, out, _ = puffer("runs", "--help")
    assert code == 0
    for _, settings in runs.COMMANDS.values():
        for key in settings:
            assert f"--{key.replace('_', '-')}" in out, key
    code, out, _ = puffer("plot", "--help")
    assert code == 0 and all(f"--{key.replace('_', '-')}" in out for key in plot.SETTINGS)


def test_looking_loads_neither_torch_nor_gymnasium_and_matplotlib_only_to_draw(three, tmp_path):
    code = """
import sys
from pufferlib.cli.main import main
heavy = {"torch", "gymnasium", "matplotlib"}
assert main(["runs"]) == 0 and not heavy & set(sys.modules), heavy & set(sys.modules)
assert "numpy" not in sys.modules
for words in (["runs", "best", "--env", "squared"], ["runs", "show", "lost"], ["runs", "aggregate", "fast"],
              ["runs", "report", "lost"], ["runs", "compare", "fast", "slow", "--out", "none"]):
    assert main(words) == 0 and not {"torch", "matplotlib"} & set(sys.modules), words
assert main(["plot", "fast"]) == 0 and "matplotlib" in sys.modules and "torch" not in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    lost = tmp_path / "runs" / "lost"
    lost.mkdir()
    (lost / "metrics.jsonl").write_text('{"global_step": 5}\n')
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
