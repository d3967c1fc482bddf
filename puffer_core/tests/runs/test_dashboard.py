"""The live panel fits its terminal; other outputs get plain lines, few of them."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import threading

import pytest
from rich.cells import cell_len
from rich.console import Console

from pufferlib.train import dashboard as module
from pufferlib.train import progress
from pufferlib.train.dashboard import LineDashboard, LiveDashboard, make_dashboard
from pufferlib.train.in_place import InPlace
from pufferlib.train.panel import ASCII, UNICODE, Extras, draw_panel, spark
from pufferlib.train.progress import POINTS, History, Machine, Progress, clock, number

ROW = {
    "global_step": 4_320_000, "epoch": 132, "SPS": 312_450.4, "learning_rate": 0.00132, "environment/n": 195.0,
    "environment/score": 0.0615, "environment/episode_return": 12.061, "environment/episode_length": 42.9,
    "environment/perf": 0.02,
    **{f"environment/extra_{k}": float(k) for k in range(20)},
    "losses/policy_loss": -1.8e-9, "losses/value_loss": 0.0053, "losses/entropy": 1.609, "losses/explained_variance": 0.13,
    "losses/skipped_updates": 0, "time/env": 1.0, "time/forward": 2.0, "time/copy": 0.0, "time/learn": 1.0,
}  # fmt: skip


FOOTERS = ("q save and quit   s checkpoint   v video   h help", "q quit")
TITLE = "ocean-breakout  runs/ocean-breakout/20260101-120000-abcdef"


def shown(width, rows=(ROW,), title=TITLE, height=24, extras=None, ascii_only=False):
    run = Progress(title, 10_000_000, 0)
    run.checkpoint = "checkpoints/4320000.pt"
    for row in rows:
        run.take(row)
    extras = extras or Extras(
        FOOTERS, notes=["saved checkpoints/4320000.pt"], machine=[("2 cores", "87%"), ("memory", "3.1/16 GB")]
    )
    lines = ["".join(s.text for s in line) for line in draw_panel(run, extras, width, height, ascii_only=ascii_only)]
    assert len(lines) <= height
    assert all(cell_len(line) <= width for line in lines), lines
    return "\n".join(lines)


@contextlib.contextmanager
def live(width=80, **how):
    """A live dashboard on a stand-in for a terminal, and that."""
    console = Console(width=width, height=24, file=io.StringIO(), force_terminal=True)
    board = LiveDashboard("t", 1000, console=console, **how)
    try:
        yield board, console.file
    finally:
        board.close()


def until(condition):
    """Wait for the drawing thread."""
    waited = threading.Event()
    for _ in range(2000):
        if condition():
            return
        waited.wait(0.02)
    raise AssertionError("in vain")


def test_the_panel_shows_everything_in_80_columns_and_24_lines():
    page = shown(80, [ROW, ROW])
    for text in (
        "ocean-breakout", "abcdef", "4,320,000 of 10,000,000 steps", "312,450 steps/s", "43%", "left", "epoch 132", "score",
        "0.0615", "perf", "length", "policy loss", "-1.8e-09", "expl. variance", "env", "25%", "forward", "50%",
        "and 17 more",
        "2 cores", "87%", "3.1/16 GB", "checkpoint checkpoints/4320000.pt", "saved checkpoints/4320000.pt",
        "q save and quit   s checkpoint   v video   h help",
    ):  # fmt: skip
        assert text in page, text
    assert "skipped" not in page
    assert "…" not in page
    assert all(cell_len(line) == 80 for line in page.splitlines())


@pytest.mark.parametrize("width", [3, 20, 40, 60, 80, 200])
@pytest.mark.parametrize("height", [2, 6, 14, 24, 50])
def test_any_size_and_any_row(width, height):
    odd = {
        "global_step": 5,
        "SPS": float("nan"),
        "losses/x": float("inf"),
        "environment/宽名字宽名字宽名字宽名字": 1.0,
        "losses/t": "a\nb",
    }
    for rows in ((), ({},), (odd, odd), (ROW, ROW)):
        page = shown(width, rows, height=height, title="宽名字\x1b[31m" * 30)
        assert "\x1b" not in page


def test_a_narrow_panel_keeps_the_keys_and_a_wide_one_is_not_stretched():
    assert "q quit" in shown(40) and "q save and quit" in shown(60)
    assert "losses" in shown(60) and "2 cores" not in shown(60)
    assert max(len(line) for line in shown(200).splitlines()) == 120


def test_where_there_is_no_unicode_plain_letters_draw_it():
    assert shown(80, [ROW, ROW], ascii_only=True).isascii()


def test_help_takes_the_place_of_rows_that_do_not_fit():
    page = shown(80, extras=Extras(FOOTERS, help=module.KEY_HELP))
    for key, text in module.KEY_HELP:
        assert key in page and text in page
    assert "policy loss" in page


def test_skipped_updates_are_shown_once_there_are_some():
    assert "skipped updates" in shown(120, [{**ROW, "losses/skipped_updates": 3}])


def test_markup_in_names_is_text():
    assert "[bold]x[/nope]" in shown(80, title="[bold]x[/nope]")


def test_a_sparkline_is_scaled_from_least_to_most():
    assert spark([0, 1, 2, 3, 4, 5, 6, 7], 8, UNICODE) == UNICODE.levels
    assert spark([0, 0, 7, 7], 2, UNICODE) == "▁█"
    assert spark([3.0, 3.0], 8, ASCII) == "__"
    assert spark([], 8, UNICODE) == ""


def test_a_history_keeps_the_whole_course_in_few_points():
    history = History()
    for k in range(POINTS * 4):
        history.add(float(k))
    assert POINTS // 2 <= len(history.points) < POINTS
    assert history.points == sorted(history.points)
    assert history.points[0] == sum(range(history.rows_per_point)) / history.rows_per_point


def test_a_trend_is_more_than_scatter():
    def trend(values):
        history = History()
        for value in values:
            history.add(value)
        return history.trend

    assert trend(range(16)) == 1 and trend(range(16, 0, -1)) == -1
    assert trend([1.0, 2.0] * 8) == 0 and trend([5.0] * 16) == 0
    assert trend([1.0, 2.0]) == 0, "too few"


def test_the_machines_load_is_since_the_last_call(monkeypatch, tmp_path):
    ticks = iter(["cpu 10 0 10 80 0 0 0 0 0 0\n", "cpu 85 0 10 105 0 0 0 0 0 0\n"])
    monkeypatch.setattr("builtins.open", lambda *args, **how: io.StringIO(next(ticks)))
    monkeypatch.setattr(progress.os, "cpu_count", lambda: 4)
    machine = Machine()
    assert "4 cores" not in dict(machine.load())
    assert dict(machine.load())["4 cores"] == "75%"


def test_plain_lines_are_throttled_and_the_last_row_is_printed():
    stream = io.StringIO()
    board = LineDashboard("t", 1000, stream=stream)
    for step in range(100, 1100, 100):
        board.update({"global_step": step, "SPS": 50.0, "environment/score": step / 1000})
    board.close()
    board.close()
    title, *lines = stream.getvalue().splitlines()
    assert title == "t"
    assert len(lines) == 2
    assert lines[0].split()[:6] == ["10%", "step", "100", "50", "steps/s", "score"]
    assert lines[1].split()[:3] == ["100%", "step", "1,000"]
    assert "\x1b" not in stream.getvalue()


def test_plain_lines_come_again_after_the_interval(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    board = LineDashboard("t", 1000, stream=stream)
    for second in range(0, 60, 2):
        now[0] = float(second)
        board.update({"global_step": 10 + second, "SPS": 5.0})
    assert len(stream.getvalue().splitlines()) == 1 + 60 // 6


def test_the_panel_is_redrawn_only_so_often(monkeypatch):
    with live() as (board, _):
        until(lambda: board.drawn_at > 0)
    now, drawn = [100.0], []
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(board.terminal, "wait", lambda seconds: "")
    monkeypatch.setattr(board, "draw", lambda: drawn.append(now[0]) or setattr(board, "drawn_at", now[0]))
    board.drawn_at, board.is_urgent = 99.9, False
    for k in range(100):
        now[0] = 100 + k / 50
        board.update({"global_step": k})
        board.look()
    assert drawn == [pytest.approx(100 + t) for t in (0.4, 0.9, 1.4, 1.9)]


def test_a_redrawing_overwrites_and_erases_nothing():
    console = Console(width=80, height=24, file=io.StringIO(), force_terminal=True)
    place, run = InPlace(console), Progress("t", 1000, 0)
    place.draw(draw_panel(run, Extras(FOOTERS), 80, 23))
    first = console.file.tell()
    place.draw(draw_panel(run, Extras(FOOTERS), 80, 23))
    again = console.file.getvalue()[first:]
    assert again.startswith("\r\x1b[") and "\x1b[2K" not in again and "\x1b[2J" not in again


def test_lines_that_a_narrower_terminal_has_broken_are_all_erased():
    console = Console(width=80, height=24, file=io.StringIO(), force_terminal=True)
    place = InPlace(console)
    place.widths = [80, 80, 10]
    (erased,) = place.erase(30)
    assert erased.text.count("\x1b[2K") == 3 + 3 + 1


def test_what_is_printed_or_logged_meanwhile_goes_to_the_panel_and_streams_come_back():
    before = sys.stdout, sys.stderr
    handler = logging.StreamHandler()
    logging.root.addHandler(handler)
    try:
        with live() as (_, file):
            print("printed")
            logging.getLogger("some.where").warning("logged")
            sys.stdout.write("half")
            until(lambda: "printed" in file.getvalue() and "logged" in file.getvalue())
            assert "half" not in file.getvalue()
        assert "half\n" in file.getvalue()
        assert (sys.stdout, sys.stderr) == before and handler.stream is before[1]
    finally:
        logging.root.removeHandler(handler)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX")
def test_a_worker_that_is_forked_meanwhile_prints_as_if_there_were_no_panel():
    before = sys.stdout, sys.stderr
    with live():
        assert sys.stdout is not before[0]
        worker = os.fork()
        if worker == 0:
            os._exit((sys.stdout, sys.stderr) != before)
        assert os.waitpid(worker, 0)[1] == 0


def test_a_terminal_that_is_gone_does_not_stop_training():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    board = LiveDashboard("t", 10, console=Console(file=Gone(), force_terminal=True))
    board.thread.join()
    board.update({"global_step": 1})
    board.say("said")
    board.stopping()
    board.close()


def test_a_key_is_kept_for_the_loop_and_answered_in_the_panel():
    with live() as (board, file):
        for key in "svx":
            board.press(key)
        assert board.notes == ["writing a checkpoint after this epoch", "recording an episode after this epoch"]
        board.saved("checkpoints/7.pt")
        board.note("recording videos/7.mp4")
        assert board.notes == ["saved checkpoints/7.pt", "recording videos/7.mp4"]
        board.note("recorded videos/7.mp4")
        assert board.notes == ["saved checkpoints/7.pt", "recorded videos/7.mp4"]
        for k in range(5):
            board.note(str(k))
        assert board.notes == ["2", "3", "4"]
        board.press("q")
        assert (board.keys(), board.keys()) == ("svq", "")
        until(lambda: module.QUITTING in file.getvalue())


def test_lines_tell_notes_and_read_no_keys():
    stream = io.StringIO()
    board = LineDashboard("t", 10, stream=stream)
    board.note("recorded videos/7.mp4")
    assert "recorded videos/7.mp4" in stream.getvalue() and board.keys() == ""


def test_a_reader_that_went_away_does_not_stop_training():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    LineDashboard("t", 10, stream=Gone()).update({"global_step": 1})


def test_eta_is_of_this_process_after_a_resume(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    board = LineDashboard("t", 1000, 600, io.StringIO())
    now[0] = 10.0
    board.update({"global_step": 800})
    assert board.left_s == 10.0


def test_a_row_without_ended_episodes_keeps_the_last_statistics():
    board = LineDashboard("t", 10, stream=io.StringIO())
    board.update({"global_step": 1, "environment/score": 3.0})
    board.update({"global_step": 2})
    assert board.episodes == {"score": 3.0}


def test_ctrl_c_is_shown():
    with live() as (board, file):
        board.stopping()
        until(lambda: "Ctrl-C again ends at once" in file.getvalue())


def test_the_last_drawing_holds_the_last_checkpoint():
    with live() as (board, file):
        board.update({"global_step": 10})
        board.saved("checkpoints/10.pt")
    assert "checkpoints/10.pt" in file.getvalue()
    board.close()


def test_without_a_terminal_that_can_move_its_cursor_there_are_lines(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_dashboard("t", 10, stream=Screen()), LineDashboard)
    monkeypatch.setenv("TERM", "xterm")
    board = make_dashboard("t", 10, stream=Screen())
    assert isinstance(board, LiveDashboard)
    board.close()


def test_only_a_terminal_gets_the_panel():
    assert isinstance(make_dashboard("t", 10, stream=io.StringIO()), LineDashboard)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (None, "-"), (12, "12"), (0.00132, "0.00132"),
        (1234.56, "1,234.6"), (1e9, "1e+09"), (-2, "-2"), (123456, "123,456"),
        (float("nan"), "nan"), (float("inf"), "inf"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_clock():
    assert [clock(s) for s in (0, 65, 3723, float("inf"))] == ["0:00", "1:05", "1:02:03", "-"]
