"""Keys in a terminal: heard while the program is in the foreground, and the terminal is given back on every way out."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from pufferlib.train import keys as module
from pufferlib.train.keys import Keys, TerminalKeys, in_foreground, open_keys

PROMPT = "prompt$"
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash has the job control")


def test_a_key_is_heard_without_enter_and_unseen(watched):
    screen = watched()
    before = screen.modes
    screen.until("h help")
    assert not screen.is_cooked
    screen.press("s")
    screen.until("heard s")
    screen.press("\x1b[A\x1bOQxyV")  # an arrow, a function key, letters that mean nothing, capitals
    screen.until("heard sv")
    screen.press("q")
    assert screen.wait() == 0
    assert screen.modes == before
    assert "ended" in screen.text and "after the panel" in screen.text
    assert b"^[" not in screen.raw and b"xy" not in screen.raw
    assert screen.raw.count(b"\x1b[?25l") == screen.raw.count(b"\x1b[?25h") == 1, "the cursor is hidden once and shown again"


def test_help_comes_and_goes(watched):
    screen = watched()
    screen.until("h help")
    screen.press("?")
    screen.until("show and hide")
    screen.press("h")
    screen.until(lambda: "show and hide" not in screen.text)
    screen.press("q")
    assert screen.wait() == 0


@pytest.mark.parametrize(
    ("word", "end", "code"),
    [
        ("fail", lambda screen: screen.press("s"), 1),
        ("", lambda screen: os.kill(screen.pid, signal.SIGTERM), 0),
        ("", lambda screen: screen.press("\x03"), 0),
        ("hang", lambda screen: (screen.press("\x03"), screen.until("Ctrl-C again"), screen.press("\x03")), 130),
    ],
    ids=["error", "SIGTERM", "Ctrl-C", "Ctrl-C twice"],
)
def test_the_terminal_is_given_back(watched, word, end, code):
    screen = watched(word)
    before = screen.modes
    screen.until("h help")
    end(screen)
    assert screen.wait() == code
    assert screen.modes == before
    assert screen.raw.rstrip().rindex(b"\x1b[?25h") > screen.raw.rindex(b"\x1b[?25l")
    assert ("KeyError: 'as told'" in screen.text) == (word == "fail")


def test_output_goes_above_the_panel(watched):
    screen = watched("print")
    screen.until("h help")
    screen.press("s")

    def is_whole():  # what is read may end in the middle of a drawing
        lines = screen.text.splitlines()
        tops = [k for k, line in enumerate(lines) if line.startswith("╭")]
        panel = [line for line in lines[tops[0] :] if line] if len(tops) == 1 else []
        above = "\n".join(lines[: tops[0]]) if tops else ""
        pieces = ("begun", "printed", "UserWarning: warned", "logged", "in parts")
        is_box = bool(panel) and panel[-1].startswith("╰") and all(len(line) == 80 and line[0] in "╭│╰" for line in panel)
        return is_box and all(piece in above for piece in pieces)

    screen.until(is_whole)
    screen.press("q")
    assert screen.wait() == 0


def test_a_resized_terminal_holds_one_panel(watched):
    screen = watched()
    screen.until("h help")
    for columns, rows in ((60, 24), (100, 30), (40, 12), (120, 40)):
        screen.resize(columns, rows)
        screen.until(lambda wide=columns: any(line.startswith("╭") and len(line) == wide for line in screen.text.splitlines()))
        screen.press("h")  # has it drawn once more
        screen.until(lambda: screen.text.count("╰") == 1)
        assert screen.text.count("╭") == 1, screen.text
        assert max(map(len, screen.text.splitlines())) <= columns
    screen.press("q")
    assert screen.wait() == 0


def test_without_color_there_is_none(watched):
    screen = watched(environment={"NO_COLOR": "1"})
    screen.until("h help")
    screen.press("q")
    screen.wait()
    assert b"\x1b[3" not in screen.raw and b";3" not in screen.raw


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(watched):
    screen = watched(environment={"TERM": "dumb"})
    screen.until("steps/s")
    assert screen.is_cooked
    screen.press("\x03")
    assert screen.wait() == 0
    assert b"\x1b" not in screen.raw


def test_a_rank_in_a_session_of_its_own_hears_the_terminal_of_its_launcher(watched):
    if not Path("/proc/self/stat").exists():
        pytest.skip("without /proc such a process cannot know whether the terminal is its user's")
    screen = watched("child")
    before = screen.modes
    screen.until("h help")
    screen.press("q")
    assert screen.wait() == 0
    assert screen.modes == before


def test_ctrl_z_gives_the_terminal_back_and_takes_it_again(watched):
    screen = watched("shell", rows=40)
    screen.until("h help")
    screen.press("\x1a")
    screen.until("stopped True, as found True")
    screen.until(lambda: screen.text.count("h help") == 2)
    assert not screen.is_cooked
    screen.press("s")
    screen.until("heard s")
    screen.press("q")
    assert screen.wait() == 0


@needs_bash
def test_in_the_background_it_goes_on_without_the_terminal(terminal, tmp_path):
    screen = terminal("bash", "--norc", "--noprofile", "-i", rows=40, environment={"PS1": PROMPT})
    screen.until(PROMPT)
    screen.press(f"{sys.executable} {Path(__file__).with_name('watched.py')} & echo first\n")
    screen.until("begun")  # said, though no panel is drawn
    screen.press("q\b \bjobs\n")  # not for the program
    screen.until("Running")
    assert "h help" not in screen.text
    screen.press("fg\n")
    screen.until("h help")
    screen.press("\x1a")
    screen.until("Stopped")
    screen.press("bg; jobs\n")
    screen.until(lambda: screen.text.count("Running") == 2)
    screen.press("fg\n")
    screen.until(lambda: not screen.is_cooked)
    screen.press("q")
    screen.until("after the panel")
    screen.press("exit\n")
    screen.wait()


def test_from_a_pipe_or_a_file_nothing_is_read(tmp_path):
    (tmp_path / "typed").write_text("qqq")
    with (tmp_path / "typed").open() as file:
        found = open_keys(file)
        assert found.wait(0.0) == "" and not found.is_terminal
        assert file.read() == "qqq"
    assert open_keys(io.StringIO("q")).wait(0.0) == ""
    closed = io.StringIO()
    closed.close()
    assert type(open_keys(closed)) is Keys


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX's")
def test_a_terminal_of_unknown_users_is_left_alone():
    import pty

    ours, theirs = pty.openpty()
    try:
        assert in_foreground(theirs) is None, "no ancestor's controlling terminal"
        os.write(ours, b"q\n")
        found = TerminalKeys(theirs)
        assert found.wait(0.0) == "" and found.before is None
    finally:
        os.close(ours)
        os.close(theirs)


def test_windows_keys_come_in_lower_case_without_arrows(monkeypatch):
    class Console:
        typed = list("S\xe0HV")

        def kbhit(self):
            return bool(self.typed)

        def getwch(self):
            return self.typed.pop(0)

    monkeypatch.setattr(module, "msvcrt", Console(), raising=False)
    monkeypatch.setattr(module.sys, "platform", "win32")
    assert module.WindowsKeys().wait(0.0) == "sv"
