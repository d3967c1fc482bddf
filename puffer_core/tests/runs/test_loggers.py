"""Metrics reach metrics.jsonl line by line; a logger that fails costs nothing but itself."""

from __future__ import annotations

import json
import logging

import pytest

from pufferlib.errors import PluginError
from pufferlib.plugins import LoggerSpec, registry
from pufferlib.train.loggers import JsonLines, Loggers, NoLogger, check_loggers


class Recorder:
    """Keeps what it is given."""

    made: list[Recorder] = []

    def __init__(self, run_dir, config):
        self.run_dir, self.config, self.rows, self.closed = run_dir, config, [], False
        Recorder.made.append(self)

    def log(self, metrics, step):
        self.rows.append((step, metrics))

    def close(self):
        self.closed = True


class Failing(Recorder):
    def log(self, metrics, step):
        raise ConnectionError("the network is down")


class FailsToClose(Recorder):
    def close(self):
        raise OSError("disk full")


@pytest.fixture
def loggers(monkeypatch):
    Recorder.made = []
    specs = {"recorder": Recorder, "failing": Failing, "clumsy": FailsToClose}
    found, looked_up = registry(), registry().find
    monkeypatch.setattr(
        found, "find", lambda kind, name: LoggerSpec(name, specs[name]) if name in specs else looked_up(kind, name)
    )


def test_each_row_is_on_disk_before_the_next(tmp_path):
    logger = JsonLines(tmp_path, {})
    logger.log({"SPS": 10.0}, 5)
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"global_step": 5, "SPS": 10.0}
    logger.log({"SPS": float("nan"), "global_step": 6}, 6)
    logger.close()
    logger.close()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"global_step": 5, "SPS": 10.0}, {"global_step": 6, "SPS": None}]


def test_a_chosen_logger_gets_every_row_the_run_and_the_settings(tmp_path, loggers):
    group = Loggers(["recorder", "none", "jsonl", "recorder"], tmp_path, {"train": {"seed": 1}})
    group.log({"SPS": 1.0}, 7)
    group.close()
    (logger,) = Recorder.made
    assert (logger.run_dir, logger.config) == (tmp_path, {"train": {"seed": 1}})
    assert (logger.rows, logger.closed) == ([(7, {"SPS": 1.0})], True)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 1


def test_a_failing_logger_is_dropped_with_one_warning_and_the_rest_goes_on(tmp_path, loggers, caplog):
    group = Loggers(["failing", "recorder"], tmp_path, {})
    with caplog.at_level(logging.WARNING):
        for step in range(3):
            group.log({}, step)
    group.close()
    assert [record.getMessage() for record in caplog.records] == [
        "logger failing failed at step 0 and is dropped: ConnectionError: the network is down"
    ]
    assert len(Recorder.made[1].rows) == 3
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 3


def test_a_logger_that_fails_to_close_does_not_keep_the_others_open(tmp_path, loggers, caplog):
    group = Loggers(["clumsy", "recorder"], tmp_path, {})
    group.close()
    assert Recorder.made[1].closed
    assert "disk full" in caplog.text


def test_a_logger_that_cannot_start_is_named(tmp_path, loggers, monkeypatch):
    def no_key(self, run_dir, config):
        raise PermissionError("no API key")

    monkeypatch.setattr(Recorder, "__init__", no_key)
    with pytest.raises(PluginError, match="--logger recorder: cannot start: PermissionError: no API key"):
        Loggers(["recorder"], tmp_path, {})


def test_an_unknown_logger_is_refused_with_the_near_match():
    check_loggers(["jsonl", "none"])
    with pytest.raises(PluginError, match="jsonl"):
        check_loggers(["jsnol"])


def test_no_logger_takes_everything():
    logger = NoLogger()
    logger.log({"a": 1}, 1)
    logger.close()
