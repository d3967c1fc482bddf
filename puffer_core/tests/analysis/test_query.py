"""Which runs are kept, in what order, and what a name stands for."""

from __future__ import annotations

import time

import pytest

from pufferlib.analysis.index import find_all, read_run
from pufferlib.analysis.lookup import Shelf
from pufferlib.analysis.query import Condition, choose, parse_condition, parse_since, sort, where
from pufferlib.errors import ConfigError


@pytest.fixture
def shelf(make_run, row, tmp_path):
    make_run("ocean-squared/20260101-100000-first", [row(500, perf=0.5)], learning_rate=1e-3, tag="first",
             started="2026-01-01T10:00:00+0000")  # fmt: skip
    make_run("ocean-squared/20260102-100000-second", [row(1000, perf=0.9)], learning_rate=5e-3, policy="lstm", tag="second",
             started="2026-01-02T10:00:00+0000")  # fmt: skip
    make_run("ocean-pong/20260103-100000-first", [row(900)], learning_rate=2e-3, env_name="ocean-pong", tag="first",
             started="2026-01-03T10:00:00+0000")  # fmt: skip
    return Shelf(tmp_path / "runs")


def kept(shelf, *conditions):
    found = where([run.summary("perf") for run in shelf.runs], [parse_condition(text) for text in conditions])
    return [shelf.label(summary.run) for summary in found]


PONG, SECOND, FIRST = (
    "ocean-pong/20260103-100000-first",
    "ocean-squared/20260102-100000-second",
    "ocean-squared/20260101-100000-first",
)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["train.learning_rate>1e-3"], [PONG, SECOND]),
        (["learning_rate >= 0.001"], [PONG, SECOND, FIRST]),
        (["--train.learning-rate<2e-3"], [FIRST]),
        (["policy=LSTM"], [SECOND]),
        (["policy.name!=lstm"], [PONG, FIRST]),
        (["environment/perf>0.4"], [SECOND, FIRST]),
        (["perf>0.4", "perf<0.6"], [FIRST]),
        (["perf!=0.9"], [FIRST]),  # pong, which has no perf, meets nothing
        (["state=finished"], [SECOND]),
        (["steps<=900"], [PONG, FIRST]),
        (["last==0.9"], [SECOND]),
        (["sps>0"], [PONG, SECOND, FIRST]),
        (["vec.num_workers>1"], []),  # auto is no number
        (["train.anneal_lr=true"], [PONG, SECOND, FIRST]),
        (["entropy=1.5"], [PONG, SECOND, FIRST]),
    ],
)
def test_conditions_on_settings_columns_and_metrics(shelf, conditions, expected):
    assert kept(shelf, *conditions) == expected


def test_an_unknown_key_is_an_error_with_the_near_one(shelf):
    with pytest.raises(ConfigError, match=r"--where train\.learning_rat>1: no run has .*did you mean train\.learning_rate\?"):
        kept(shelf, "train.learning_rat>1")


@pytest.mark.parametrize("text", ["perf", "perf>", ">1", "a b>1", ""])
def test_what_is_no_condition_is_refused_with_an_example(text):
    with pytest.raises(ConfigError, match=r"expected KEY.*train\.gamma>=0\.99"):
        parse_condition(text)


def test_a_condition_is_taken_apart_at_its_longest_operator():
    assert parse_condition(" a.b-c >= 1e6 ") == Condition(" a.b-c >= 1e6 ", "a.b-c", ">=", 1e6)
    assert parse_condition("tag='x y'").value == "x y"
    assert parse_condition("losses/entropy<-1").value == -1


def test_filters_by_part_pattern_and_date(shelf):
    def chosen(**wanted):
        return [shelf.label(run) for run in choose(shelf.runs, **wanted)]

    assert chosen(env="squared") == [SECOND, FIRST]
    assert chosen(env="ocean-p*") == [PONG]
    assert chosen(tag="FIRST", policy="mlp") == [PONG, FIRST]
    assert chosen(since="2026-01-02") == [PONG, SECOND]
    assert chosen(since="1d") == []


def test_since_is_a_span_or_a_date():
    assert parse_since("2h") == pytest.approx(time.time() - 7200, abs=60)
    assert parse_since("1.5w") == pytest.approx(time.time() - 1.5 * 7 * 86400, abs=60)
    assert parse_since("1970-01-02T00:00:00+00:00") == 86400
    for text in ("soon", "3", "3x", "2026-13-01", "-1d"):
        with pytest.raises(ConfigError, match=r"--since .*90m, 12h"):
            parse_since(text)


def test_sorting_puts_the_largest_first_and_runs_without_a_value_last(shelf):
    summaries = [run.summary("perf") for run in shelf.runs]

    def order(key, reverse=False):
        return [shelf.label(summary.run) for summary in sort(summaries, key, reverse)]

    assert order("perf") == [SECOND, FIRST, PONG]
    assert order("perf", reverse=True) == [FIRST, SECOND, PONG]
    assert order("train.learning_rate") == [SECOND, PONG, FIRST]
    assert order("name") == [FIRST, SECOND, PONG]
    with pytest.raises(ConfigError, match=r"--sort perv: .*did you mean perf\?"):
        order("perv")


# ---------------------------------------------------------------- names of runs


def test_a_run_is_named_by_path_part_or_latest(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shelf.label(shelf.one("second")) == SECOND
    assert shelf.label(shelf.one("latest")) == PONG
    assert shelf.label(shelf.one("squared/20260101")) == FIRST
    assert shelf.one(f"runs/{FIRST}").name == "20260101-100000-first"
    checkpoint = tmp_path / "runs" / FIRST / "checkpoints" / "1.pt"
    checkpoint.write_bytes(b"")
    assert shelf.one(str(checkpoint)).name == "20260101-100000-first"


def test_an_ambiguous_part_lists_the_runs_that_have_it(shelf):
    with pytest.raises(ConfigError, match=f"first: 2 runs have that in their names: {PONG}, {FIRST}"):
        shelf.one("first")


def test_a_full_name_wins_over_longer_ones_that_hold_it(make_run, tmp_path):
    make_run("a"), make_run("a-2")
    assert Shelf(tmp_path / "runs").one("a").name == "a"


def test_an_unknown_name_is_an_error_with_near_ones(shelf):
    with pytest.raises(ConfigError, match=f"secnd: no such run; near matches: {SECOND}"):
        shelf.one("secnd")
    with pytest.raises(ConfigError, match=r"zzz: no such run; `puffer runs --root .*` lists all 3"):
        shelf.one("zzz")


def test_a_folder_and_a_pattern_stand_for_all_their_runs_each_once(shelf, tmp_path):
    folder = tmp_path / "runs" / "ocean-squared"
    found = shelf.all([str(folder), "second", "*first"])
    assert [shelf.label(run) for run in found] == [FIRST, SECOND, PONG]
    with pytest.raises(ConfigError, match="no run below"):
        shelf.many("x*")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no run in this folder"):
        shelf.many(str(tmp_path / "empty"))


def test_latest_of_nothing_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="latest: there is no run"):
        Shelf(tmp_path).one("latest")


def test_find_all_and_read_run_agree(shelf):
    assert [read_run(run.path) for run in shelf.runs] == find_all(shelf.root).runs
