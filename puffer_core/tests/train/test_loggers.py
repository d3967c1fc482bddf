"""Every row reaches every logger once; a logger that raises, hangs or finds the disk full costs nothing but its own rows."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import threading

import pytest

from pufferlib.errors import PluginError
from pufferlib.plugins import LoggerSpec, Plugin, registry
from pufferlib.plugins.registry import Entry
from pufferlib.testing import RecordingLogger
from pufferlib.train import log_queue, loggers
from pufferlib.train.log_queue import Journal
from pufferlib.train.loggers import JsonLines, Loggers, NoLogger, check_loggers


class Failing(RecordingLogger):
    """Raises `error` whenever `fails(step, tries)` says so."""

    error: Exception = ConnectionError("the network is down")
    tries: dict[int, int]

    def fails(self, step, tries):
        return True

    def start(self, run):
        self.tries = {}
        return super().start(run)

    def log(self, metrics, step):
        self.tries[step] = self.tries.get(step, 0) + 1
        if self.fails(step, self.tries[step]):
            raise self.error
        super().log(metrics, step)


class Blocking(RecordingLogger):
    """Writes nothing before `released` is set."""

    def __init__(self):
        super().__init__()
        self.entered, self.released = threading.Event(), threading.Event()

    def log(self, metrics, step):
        self.entered.set()
        self.released.wait()
        super().log(metrics, step)


@pytest.fixture
def fast(monkeypatch):
    """Another try follows at once, and the end waits for a moment only."""
    monkeypatch.setattr(log_queue, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(log_queue, "LONGEST_PAUSE_S", 0.01)
    monkeypatch.setattr(loggers, "DRAIN_S", 0.3)
    monkeypatch.setattr(loggers, "GRACE_S", 0.3)


@pytest.fixture
def registered(monkeypatch):
    """The RecordingLogger by its name, as a plugin would register it."""
    RecordingLogger.made = []
    for spec in (LoggerSpec("recorder", RecordingLogger), LoggerSpec("bare", RecordingLogger, package="no_such_package")):
        monkeypatch.setitem(registry()._entries, ("logger", spec.name), Entry(spec, Plugin("test", "test")))


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# ---------------------------------------------------------------- what arrives


def test_each_row_is_in_metrics_jsonl_before_the_next(tmp_path):
    group = Loggers([], tmp_path, {})
    group.log({"SPS": 10.0}, 5)
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"global_step": 5, "SPS": 10.0}
    group.log({"SPS": float("nan"), "global_step": 6}, 6)
    group.close()
    group.close()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"global_step": 5, "SPS": 10.0}, {"global_step": 6, "SPS": None}]


def test_a_logger_gets_every_row_in_order_and_knows_the_run_and_the_settings(tmp_path, registered):
    settings = {"recorder": {"word": "x"}}
    group = Loggers(["recorder", "none", "jsonl", "recorder"], tmp_path, {"train": {"seed": 1}}, settings=settings, env_name="e")
    for step in range(100):
        group.log({"SPS": 1.0}, step)
    group.close("interrupted")
    (logger,) = RecordingLogger.made
    assert (logger.run.path, logger.run.name, logger.run.env_name) == (tmp_path, tmp_path.name, "e")
    assert (logger.run.config, logger.word, logger.closed) == ({"train": {"seed": 1}}, "x", "interrupted")
    assert logger.rows == [(step, {"SPS": 1.0}) for step in range(100)]
    assert group.places == [("recorder", "over there")]


def test_numbers_that_are_not_finite_are_left_out_and_counted(tmp_path, caplog):
    group = Loggers([logger := RecordingLogger()], tmp_path, {})
    group.log({"a": float("nan"), "b": float("-inf"), "c": 1.5, "d": 2}, 1)
    group.close()
    assert logger.rows == [(1, {"c": 1.5, "d": 2})]
    assert warnings(caplog) == ["loggers: 2 numbers were NaN or infinite and were left out"]


@pytest.mark.parametrize(
    ("which", "given"),
    [("none", []), ("last", [("10.pt", 10), ("30.pt", 30)]), ("all", [("10.pt", 10), ("20.pt", 20), ("30.pt", 30)])],
)
def test_checkpoints_that_are_handed_over(tmp_path, which, given):
    group = Loggers([logger := RecordingLogger(checkpoints=which)], tmp_path, {})
    for step in (10, 20, 30):
        path = tmp_path / f"{step}.pt"
        path.touch()
        group.log_checkpoint(path, step)
    group.close(best=tmp_path / "10.pt")
    assert logger.files == given


def test_a_checkpoint_that_is_gone_by_then_counts_as_lost(tmp_path, caplog):
    class Opens(RecordingLogger):
        def log_checkpoint(self, path, step):
            path.read_bytes()

    group = Loggers([Opens(checkpoints="all")], tmp_path, {})
    group.log_checkpoint(tmp_path / "5.pt", 5)
    group.close()
    assert "1 of 1 files could not be written: FileNotFoundError" in warnings(caplog)[-1]


def test_each_video_is_handed_over_once_also_after_a_resume(tmp_path):
    (tmp_path / "videos").mkdir()
    for name in ("100.gif", ".200.gif"):  # the second is still being recorded
        (tmp_path / "videos" / name).write_bytes(b"GIF89a;")
    found = []
    for step in (100, 200):
        group = Loggers([logger := RecordingLogger()], tmp_path, {})
        group.log({}, step)
        group.log({}, step + 1)
        group.close()
        found += logger.files
    assert found == [("100.gif", 100)]


# ---------------------------------------------------------------- what goes wrong


def test_a_logger_that_always_raises_is_told_of_once_and_its_rows_are_counted(tmp_path, fast, caplog):
    group = Loggers([Failing(), other := RecordingLogger()], tmp_path, {})
    for step in range(3):
        group.log({}, step)
    group.close()
    first, last = warnings(caplog)
    assert "logger failing: the row of step 0 could not be written" in first and "the network is down" in first
    assert last == "logger failing: 3 of 3 rows could not be written: ConnectionError: the network is down"
    assert other.steps == [0, 1, 2]
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 3


def test_a_full_disk_that_is_mended_loses_no_row(tmp_path, fast, caplog):
    class Full(Failing):
        error = OSError(errno.ENOSPC, "No space left on device")

        def fails(self, step, tries):
            return step == 1 and tries < 4

    group = Loggers([logger := Full()], tmp_path, {})
    for step in range(4):
        group.log({}, step)
    group.close()
    assert logger.steps == [0, 1, 2, 3] and logger.tries[1] == 4
    assert len(warnings(caplog)) == 1 and "No space left" in warnings(caplog)[0]


def test_a_row_that_is_itself_at_fault_is_not_tried_again(tmp_path, caplog):
    class Picky(Failing):
        error = ValueError("no such name")

        def fails(self, step, tries):
            return step == 1

    group = Loggers([logger := Picky()], tmp_path, {})
    for step in range(3):
        group.log({}, step)
    group.close()
    assert logger.steps == [0, 2] and logger.tries[1] == 1
    assert warnings(caplog)[-1] == "logger picky: 1 of 3 rows could not be written: ValueError: no such name"


def test_a_row_is_given_up_after_a_while_so_that_the_next_ones_get_their_turn(tmp_path, fast, caplog, monkeypatch):
    class Once(Failing):
        def fails(self, step, tries):
            return step == 0

    monkeypatch.setattr(log_queue, "GIVE_UP_S", 0.02)
    monkeypatch.setattr(loggers, "DRAIN_S", 30.0)
    group = Loggers([logger := Once()], tmp_path, {})
    group.log({}, 0)
    group.log({}, 1)
    group.close()
    assert logger.steps == [1] and "1 of 2 rows" in warnings(caplog)[-1]


def test_a_logger_that_exits_ends_nothing(tmp_path, fast, caplog):
    class Exits(Failing):
        error = SystemExit(1)

    group = Loggers([Exits()], tmp_path, {})
    group.log({}, 0)
    group.close()
    assert "1 of 1 rows could not be written: SystemExit: 1" in warnings(caplog)[-1]


def test_a_logger_that_hangs_delays_neither_rows_nor_the_end_for_long(tmp_path, fast, caplog):
    group = Loggers([logger := Blocking(), other := RecordingLogger()], tmp_path, {})
    try:
        for step in range(5):
            group.log({}, step)
        assert logger.entered.wait(60)
        group.close()
        assert other.steps == [0, 1, 2, 3, 4] and other.closed == "finished"
        assert warnings(caplog)[-1] == "logger blocking: 5 of 5 rows could not be written: the logger did not answer in time"
    finally:
        logger.released.set()


def test_ctrl_c_ends_the_wait_for_a_logger_that_hangs(tmp_path, fast, caplog, monkeypatch):
    group = Loggers([logger := Blocking()], tmp_path, {})

    def interrupted(deadline):
        raise KeyboardInterrupt

    monkeypatch.setattr(loggers, "DRAIN_S", 1e6)
    monkeypatch.setattr(group, "_wait", interrupted)
    try:
        group.log({}, 0)
        group.close()
        assert "1 of 1 rows" in warnings(caplog)[-1]
    finally:
        logger.released.set()


def test_of_more_rows_than_may_wait_the_oldest_are_lost(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(log_queue, "MOST_WAITING", 3)
    group = Loggers([logger := Blocking()], tmp_path, {})
    group.log({}, 0)
    assert logger.entered.wait(60)
    for step in range(1, 6):
        group.log({}, step)
    logger.released.set()
    group.close()
    assert logger.steps == [0, 3, 4, 5]
    assert warnings(caplog) == ["logger blocking: 2 of 6 rows could not be written: 3 rows wait already"]


def test_a_logger_that_fails_to_close_does_not_keep_the_others_open(tmp_path, caplog):
    class Clumsy(RecordingLogger):
        def close(self):
            raise OSError("disk full")

    group = Loggers([Clumsy(), other := RecordingLogger()], tmp_path, {})
    group.close()
    assert other.closed and warnings(caplog) == ["logger clumsy failed to close: OSError: disk full"]


def test_a_logger_that_cannot_start_is_named_and_the_others_are_closed(tmp_path):
    class NoKey(RecordingLogger):
        def start(self, run):
            raise PermissionError("no API key")

    with pytest.raises(PluginError, match="logger nokey: cannot start: PermissionError: no API key"):
        Loggers([first := RecordingLogger(), NoKey()], tmp_path, {})
    assert first.closed == "failed"


def test_names_and_packages_that_are_missing_are_told_with_what_to_do(tmp_path, registered):
    class NeedsMore(RecordingLogger):
        def start(self, run):
            import no_such_package  # noqa: F401

    check_loggers(["jsonl", "none", "recorder"])
    with pytest.raises(PluginError, match="Near matches: recorder"):
        check_loggers(["recordr"])
    with pytest.raises(PluginError, match=r"needs the package no_such_package: pip install 'pufferlib\[bare\]'"):
        check_loggers(["bare"])
    with pytest.raises(PluginError, match="needs the package no_such_package: pip install"):
        Loggers([NeedsMore()], tmp_path, {})


def test_a_class_of_a_plugin_that_is_missing_is_told_with_what_to_install():
    environment = {**os.environ, "PUFFERLIB_PLUGINS": "none-of-them"}
    script = "from pufferlib import WandbLogger"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert "ImportError" in done.stderr and "pip install 'pufferlib[wandb]'" in done.stderr


# ---------------------------------------------------------------- going on


def test_a_resumed_run_sends_what_is_missing_and_nothing_twice(tmp_path):
    group = Loggers([first := RecordingLogger()], tmp_path, {}, has_file=False)
    for step in (10, 20):
        group.log({"a": step}, step)
    group.close()

    rows = [{"global_step": step, "a": step} for step in (10, 20, 30)]  # the process was killed before 30 was handed over
    group = Loggers([second := RecordingLogger()], tmp_path, {}, rows=rows, has_file=False)
    group.log({"a": 40}, 40)
    group.close()
    assert first.run.state == {} and second.run.state == {"id": len(RecordingLogger.made) - 1}
    assert first.steps + second.steps == [10, 20, 30, 40]


def test_a_run_that_goes_back_to_a_checkpoint_sends_no_step_again(tmp_path):
    for steps in ((10, 20, 30), (20, 30, 40)):
        group = Loggers([logger := RecordingLogger()], tmp_path, {}, has_file=False)
        for step in steps:
            group.log({}, step)
        group.close()
    assert logger.steps == [40]


def test_what_the_service_says_of_its_newest_row_counts_more_than_the_journal(tmp_path):
    class Knows(RecordingLogger):
        newest_step = 15

    Loggers([RecordingLogger()], tmp_path, {}, has_file=False).close()
    rows = [{"global_step": step} for step in (10, 20, 30)]
    group = Loggers([logger := Knows()], tmp_path, {}, rows=rows, has_file=False)
    group.close()
    assert logger.steps == [20, 30]


def test_a_journal_that_a_kill_tore_is_read_and_goes_on(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"run": {"id": 7}}\n{"step": 10}\n{"file": "video/a.mp4"}\n{"ste', encoding="utf-8")
    journal = Journal(path)
    assert (journal.state, journal.step, journal.files) == ({"id": 7}, 10, {"video/a.mp4"})
    journal.begin({"id": 7})
    journal.wrote(log_queue.Item("row", 20, {}))
    journal.close()
    again = Journal(path)
    assert (again.state, again.step, path.read_text().count('"run"')) == ({"id": 7}, 20, 1)


def test_no_logger_takes_everything(tmp_path):
    group = Loggers([NoLogger(), JsonLines()], tmp_path, {}, has_file=False)
    group.log({"a": 1}, 1)
    group.close()
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"global_step": 1, "a": 1}
