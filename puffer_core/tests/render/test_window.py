"""A real window, on a virtual display."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from pufferlib.errors import RenderError
from pufferlib.render.commands import Frame
from pufferlib.render.play import WindowPlayer
from pufferlib.render.window import BAR_PX, KEY_CODES, Window, load_raylib

KEY_UP, KEY_DOWN = 1, 2
"""raylib's AutomationEventType."""


@pytest.fixture(scope="module")
def display():
    """The name of a virtual X display of this test's own."""
    pytest.importorskip("raylib", reason="raylib is not installed")
    xvfb = shutil.which("Xvfb")
    if xvfb is None:
        pytest.skip("no Xvfb binary (Debian: apt install xvfb libgl1 libgl1-mesa-dri)")
    reading, writing = os.pipe()
    command = [xvfb, "-displayfd", str(writing), "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset"]
    server = subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as answer:  # to the end of the line: closed too early, it would take the server down
        number = answer.readline().strip()
    if not number:
        server.wait(timeout=10)
        pytest.skip("Xvfb does not start here")
    yield f":{number}"
    server.terminate()
    server.wait(timeout=10)


@pytest.fixture
def open_window(display, monkeypatch):
    """Opens windows, closes them at the end."""
    monkeypatch.setenv("DISPLAY", display)
    windows = []

    def make(width, height, scale=1.0):
        windows.append(Window(width, height, "test", scale))
        return windows[-1]

    yield make
    for window in windows:
        window.close()
        window.close()  # twice is fine


def press(window, name, event=KEY_DOWN):
    """As if the key had been pressed."""
    window.rl.PlayAutomationEvent((0, event, [KEY_CODES[name], 0, 0, 0]))


def scene():
    """One of everything."""
    frame = Frame(240, 160)
    frame.clear(0x20242CFF)
    frame.rect(10, 10, 50, 30, 0x3B82F6FF)
    frame.rect(40, 25, 50, 30, 0xEF444480)
    frame.outline(100, 10, 40, 30, 4, 0xFACC15FF)
    frame.circle(170, 30, 18, 0x22C55EFF)
    frame.line(200, 10, 230, 50, 4, 0xFFFFFFFF)
    frame.tri(10, 100, 40, 60, 60, 110, 0xA3E635FF)
    frame.tri(70, 100, 120, 110, 100, 60, 0xA3E635FF)  # the other way round
    frame.text(10, 120, 20, 0xFFFFFFFF, "Score 12!")
    frame.tiles(140, 70, 8, np.arange(20).reshape(4, 5) % 3, [0xFF0000FF, 0x00FF00FF, 0x0000FF80])
    frame.tiles(190, 70, 8, np.ones((4, 5)), [0xFF0000FF, 0x00FFFFFF])  # of the same size: the first must stay
    return frame


def test_the_window_shows_what_the_rasteriser_draws(open_window):
    frame = scene()
    window = open_window(240, 160)
    for _ in range(2):
        window.show(frame.commands(), "help")
    shown = window.screenshot()
    assert shown.shape == (160 + BAR_PX, 240, 3)
    difference = np.abs(shown[:160].astype(int) - frame.rgb()).max(axis=2)
    assert (difference > 40).mean() < 0.01  # anti-aliased edges only
    assert difference.mean() < 1.5
    assert shown[160:].max() > 100  # the help line


def test_a_scaled_window_shows_the_same_picture_larger(open_window):
    frame = Frame(100, 50)
    frame.rect(10, 10, 20, 10, 0xFF0000FF)
    window = open_window(100, 50, 2.0)
    for _ in range(2):
        window.show(frame.commands())
    red = np.argwhere(window.screenshot()[:, :, 0] > 200)
    assert red.min(axis=0).tolist() == [20, 20]
    assert (red.max(axis=0) + 1).tolist() == [40, 60]


def test_the_window_shows_frames_of_other_envs(open_window):
    picture = np.random.default_rng(0).integers(0, 256, (50, 100, 3), dtype=np.uint8)
    window = open_window(100, 50)
    for _ in range(2):
        window.show(picture)
    np.testing.assert_array_equal(window.screenshot()[:50], picture)


def test_bad_commands_do_no_harm(open_window):
    frame = Frame(50, 50)
    for bad in (float("nan"), float("inf"), -1.0):
        frame.rect(1, 1, bad, 5, 0xFFFFFFFF)
        frame.circle(5, 5, bad, 0xFFFFFFFF)
        frame.text(5, 5, bad, 0xFFFFFFFF, "x")
        frame.line(1, 1, 5, 5, bad, 0xFFFFFFFF)
        frame.tiles(1, 1, bad, np.ones((2, 2)), [0xFF, 0xFF])
    window = open_window(50, 50)
    for _ in range(2):
        window.show(frame.commands())
    assert not window.screenshot()[:50].any()


def test_keys_are_read(open_window):
    window = open_window(50, 50)
    picture = Frame(50, 50).commands()
    window.show(picture)
    press(window, "left")
    given = window.poll()
    assert (given.down, given.pressed, given.closed) == (["left"], ["left"], False)
    window.show(picture)
    press(window, "space")
    given = window.poll()
    assert (given.down, given.pressed) == (["left", "space"], ["space"])
    press(window, "left", KEY_UP)
    assert window.poll().down == ["space"]


def test_a_game_is_played_with_the_keyboard(open_window):
    breakout = pytest.importorskip("pufferlib_ocean.breakout", reason="the ocean package is not installed")
    env = breakout.Breakout(num_envs=1, seed=1)
    window = open_window(640, 480)
    game = WindowPlayer(env, window=window, seed=[1])
    assert game.is_manual
    before = env.observations[0, 4]
    window.show(env.draw_commands(0), game.help_line())
    press(window, "left")
    assert not game.handle(window.poll())
    game.step()
    assert env.observations[0, 4] < before  # the paddle went left


@pytest.mark.parametrize("command", [["play"], ["eval", "--render", "human"]], ids=["play", "eval"])
def test_the_command_plays_until_the_episodes_are_over(display, monkeypatch, capsys, command):
    pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")
    from pufferlib.cli.main import main

    monkeypatch.setenv("DISPLAY", display)
    flags = ["--policy", "random", "--episodes", "2", "--fps", "960"]
    assert main([command[0], "ocean-bandit", *command[1:], *flags]) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["episode", "return", "length", "score"]
    assert [row[0] for row in table[1:4]] == ["1", "2", "mean"]
    assert all(row[2] == "1" and row[1] == row[3] for row in table[1:3])  # one step each


def test_without_a_display_the_error_names_the_remedy():
    pytest.importorskip("raylib", reason="raylib is not installed")
    code = "from pufferlib.render.window import Window; Window(10, 10, 'x')"
    clean = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean, timeout=60)
    assert "RenderError" in done.stderr
    assert "--video out.mp4" in done.stderr and "xvfb-run -a puffer play" in done.stderr
    assert "RAYLIB" not in done.stderr + done.stdout


def test_without_raylib_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "raylib", None)
    with pytest.raises(RenderError, match=r"pip install 'pufferlib\[render\]'"):
        load_raylib()
