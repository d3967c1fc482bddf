"""Rows are read from a file's end, and no more of them than is asked for; whatever is read, it is as if all were."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.analysis import rows as module
from pufferlib.analysis.index import read_run
from pufferlib.analysis.rows import end_of, lines_backwards, newest_first, only, whole
from pufferlib.train.best import Ranking

KEYS = ("environment/n", "environment/perf", "environment/score")
VALUES = st.none() | st.integers(-5, 5) | st.floats() | st.sampled_from(["x", True, [1], {"environment/n": 3}])


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 15])
@pytest.mark.parametrize("content", [b"", b"\n", b"a", b"a\n", b"ab\n\ncde\nf", b"ab\ncd\n" * 5])
def test_lines_are_the_same_whatever_the_blocks(tmp_path, monkeypatch, content, block):
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    (tmp_path / "f").write_bytes(content)
    assert list(lines_backwards(tmp_path / "f")) == content.split(b"\n")[::-1]


def test_a_file_that_cannot_be_read_has_no_lines(tmp_path):
    assert list(lines_backwards(tmp_path)) == list(newest_first(tmp_path / "none")) == []


@given(st.dictionaries(st.sampled_from([*KEYS, "global_step", "a"]), VALUES), st.integers(0, 9), st.sampled_from([0, 1, 5]))
def test_some_keys_of_a_line_are_what_the_whole_line_says_of_them(row, step, torn):
    line = json.dumps({"global_step": step, **row}).encode()
    for text in (
        line,
        line[: len(line) - torn],
        line[: len(line) - torn] + line,
        line + b" ",
        b" " + line,
        json.dumps(row).encode(),
    ):
        every = whole(text)
        assert only(KEYS)(text) == {key: every[key] for key in ("global_step", *KEYS) if key in every}


def test_lines_of_training_are_not_parsed_as_a_whole(monkeypatch):
    monkeypatch.setattr(module, "whole", None)
    line = b'{"global_step": 7, "uptime": 1.5, "environment/n": 3.0, "losses/entropy": 0.1, "environment/perf": 1e-05}'
    assert only(KEYS)(line) == {"global_step": 7, "environment/n": 3.0, "environment/perf": 1e-5}
    assert only([])(b'{"global_step": 5}') == {"global_step": 5}


def test_rows_that_were_made_again_stand_as_made_last(make_run, row):
    path = make_run("a", [row(step, perf=0.1) for step in (100, 200, 300, 400)] + [row(step, perf=0.2) for step in (200, 250)])
    assert [(one["global_step"], one["environment/perf"]) for one in read_run(path).rows()] == [
        (100, 0.1),
        (200, 0.2),
        (250, 0.2),
    ]
    assert read_run(path).summary("perf").steps == 250


@pytest.fixture
def parsed(monkeypatch):
    """The steps of the lines that were parsed as a whole."""
    seen = []

    def watched(line):
        found = whole(line)
        seen.append(found.get("global_step"))
        return found

    monkeypatch.setattr(module, "whole", watched)
    return seen


def test_all_but_the_best_is_read_from_the_last_rows(make_run, row, parsed, monkeypatch):
    lines = [row(step, 60 * (step % 2), perf=step / 1000) for step in range(1, 1001)]  # every second row without episodes
    summary = read_run(make_run("a", lines)).summary("perf")
    monkeypatch.setattr(type(summary.run), "ranking", None)
    assert (summary.steps, summary.state, summary.metric) == (1000, "finished", "perf")
    assert summary.last == summary.metrics["environment/perf"] == pytest.approx((0.999 + 0.997) / 2)
    assert set(parsed) <= {None, 1000, 999, 997}


def test_a_statistic_that_the_end_lacks_is_looked_for_in_all_rows(make_run, row):
    lines = [row(100, perf=0.5, score=3.0), row(200, perf=0.7, episode_return=9.0), row(300, perf=0.7, episode_return=9.0)]
    summary = read_run(make_run("a", lines)).summary()
    assert (summary.metric, summary.last, summary.best) == ("score", 3.0, 3.0), "as the trainer ranks its checkpoints"
    assert "environment/score" not in summary.metrics


@given(st.lists(st.tuples(st.integers(0, 150), st.floats(-9, 9)), min_size=1, max_size=30), st.sampled_from(["perf", "-perf"]))
def test_the_best_value_is_that_of_the_best_row(pairs, metric):
    rows = [{"global_step": step, "environment/n": float(n), "environment/perf": perf} for step, (n, perf) in enumerate(pairs, 1)]
    ranking = Ranking(metric, rows)
    order = ranking.best(range(1, len(rows) + 1))
    assert ranking.best_value() == (ranking.value(order[0]) if order else None)


def test_rows_without_episodes_are_no_end(make_run, row):
    path = make_run("a", [row(100, 0), row(200, 0)]) / "metrics.jsonl"
    assert end_of(path) == []
    assert read_run(path.parent).summary().metrics["losses/entropy"] == 1.5
