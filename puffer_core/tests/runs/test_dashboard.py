"""The live panel fits 80 columns; other outputs get plain lines, few of them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pufferlib.train import dashboard as module
from pufferlib.train.dashboard import LineDashboard, LiveDashboard, clock, make_dashboard, number

ROW = {
    "global_step": 4_320_000, "epoch": 132, "SPS": 312_450.4, "learning_rate": 0.00132, "environment/n": 195.0,
    "environment/score": 0.0615, "environment/episode_return": 12.061, "environment/episode_length": 42.9,
    "environment/perf": 0.02,
    **{f"environment/extra_{k}": float(k) for k in range(20)},
    "losses/policy_loss": -1.8e-9, "losses/value_loss": 0.0053, "losses/entropy": 1.609, "losses/explained_variance": 0.13,
    "losses/skipped_updates": 0, "time/env": 1.0, "time/forward": 2.0, "time/copy": 0.0, "time/learn": 1.0,
}  # fmt: skip


def shown(width, row=ROW, title="ocean-breakout  runs/ocean-breakout/20260101-120000-abcdef"):
    console = Console(width=width, file=io.StringIO(), force_terminal=True)
    board = LiveDashboard(title, 10_000_000, console=console)
    board.saved("checkpoints/4320000.pt")
    if row is not None:
        board.update(row)
    page = Console(width=width, file=io.StringIO())
    page.print(board.panel())
    board.close()
    return page.file.getvalue()


def test_the_panel_shows_everything_in_80_columns():
    page = shown(80)
    assert all(len(line) <= 80 for line in page.splitlines())
    for text in (
        "ocean-breakout", "4,320,000 of 10,000,000 steps", "312,450 steps/s", "43%", "ETA", "epoch 132", "score", "0.0615",
        "perf", "episode length", "policy loss", "-1.8e-09", "expl. variance", "env", "25%", "forward", "50%", "and 16 more",
        "checkpoints/4320000.pt", "Ctrl-C",
    ):  # fmt: skip
        assert text in page, text
    assert "skipped" not in page
    assert "…" not in page


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_any_width_and_an_empty_row(width):
    for row in (None, {}, {"global_step": 5, "SPS": float("nan"), "losses/x": float("inf")}, ROW):
        assert all(len(line) <= width for line in shown(width, row).splitlines())


def test_skipped_updates_are_shown_once_there_are_some():
    assert "skipped updates" in shown(120, {**ROW, "losses/skipped_updates": 3})


def test_markup_in_names_is_text():
    assert "[bold]x[/nope]" in shown(80, title="[bold]x[/nope]")


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
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    board = LiveDashboard("t", 1000, console=Console(width=80, file=io.StringIO(), force_terminal=True))
    drawn = []
    monkeypatch.setattr(board, "draw", lambda: drawn.append(now[0]) or setattr(board, "drawn_at", now[0]))
    for k in range(100):
        now[0] = k / 50
        board.update({"global_step": k})
    assert drawn == [0.0, 0.5, 1.0, 1.5]
    board.live.stop()


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


def test_ctrl_c_in_the_middle_of_a_drawing_is_shown_right_after_it():
    console = Console(width=80, file=io.StringIO(), force_terminal=True)
    board = LiveDashboard("t", 10, console=console)
    drawn = board.panel

    def interrupted():
        page = drawn()
        board.panel = drawn
        board.stopping()
        return page

    board.panel = interrupted
    board.update({"global_step": 1})
    assert "Ctrl-C again ends at once" in console.file.getvalue()
    board.close()


def test_the_last_drawing_holds_the_last_checkpoint():
    console = Console(width=80, file=io.StringIO(), force_terminal=True)
    board = LiveDashboard("t", 10, console=console)
    board.update({"global_step": 10})
    board.saved("checkpoints/10.pt")
    board.close()
    assert "checkpoints/10.pt" in console.file.getvalue()


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
