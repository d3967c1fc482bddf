"""A cursor over the places of a game: where arrows bring it, what space chooses, how it is shown."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pufferlib.render.cursor import CHOSEN_COLOR, CURSOR_COLOR, Cursor
from pufferlib.render.play import WindowPlayer
from pufferlib.render.window import Input


class Board:
    """3 x 3 cells of 10 pixels; two cells in turn mean an action, from * 9 + to, which must not be 0."""

    action_masks = np.ones((2, 81), np.uint8)
    action_masks[:, 0] = 0

    def cursor_spots(self):
        return [(10.0 * x, 10.0 * y, 10.0, 10.0) for y in range(3) for x in range(3)]

    def cursor_action(self, chosen, agent):
        return chosen[-2] * 9 + chosen[-1] if len(chosen) >= 2 else None


def test_arrows_move_it_from_the_middle_and_not_beyond_the_last_spot():
    cursor = Cursor(Board())
    assert cursor.at == 4
    visited = []
    for name in ("left", "left", "up", "right", "right", "right", "down", "down"):
        assert cursor.press(name, 0) is None
        visited.append(cursor.at)
    assert visited == [3, 3, 0, 1, 2, 2, 5, 8]


def test_it_crosses_a_gap_to_the_nearest_spot_ahead():
    board = Board()
    board.cursor_spots = lambda: [(0, 0, 10, 10), (50, 0, 10, 10), (52, 30, 10, 10)]
    cursor = Cursor(board)
    cursor.at = 0
    cursor.press("right", 0)
    assert cursor.at == 1
    cursor.press("down", 0)
    assert cursor.at == 2


def test_two_spots_make_an_action_and_what_is_not_allowed_begins_anew():
    cursor = Cursor(Board())
    assert cursor.press("space", 0) is None and cursor.chosen == [4]
    cursor.press("left", 0)
    assert cursor.press("space", 0) == 4 * 9 + 3 and cursor.chosen == []
    cursor.press("up", 0)
    assert cursor.at == 0 and cursor.press("space", 0) is None and cursor.chosen == [0]
    assert cursor.press("space", 0) is None and cursor.chosen == [], "the same spot again takes it back: 0 to 0 is refused"


def test_it_is_drawn_on_a_copy_of_a_frame():
    cursor = Cursor(Board())
    cursor.chosen = [0]
    frame = np.zeros((30, 30, 3), np.uint8)
    shown = cursor.drawn_on(frame)
    assert not frame.any()
    assert shown[10, 10].tolist() == [CURSOR_COLOR >> 24, CURSOR_COLOR >> 16 & 255, CURSOR_COLOR >> 8 & 255]
    assert shown[0, 0].tolist() == [CHOSEN_COLOR >> 24, CHOSEN_COLOR >> 16 & 255, CHOSEN_COLOR >> 8 & 255]
    assert not shown[15, 15].any()


class Script:
    """Plays inputs back, one per picture; then the window closes."""

    def __init__(self, *inputs):
        self.inputs, self.pictures, self.help = list(inputs), [], ""

    def show(self, picture, help_line):
        self.pictures.append(picture.commands.copy())
        self.help = help_line

    def poll(self):
        return self.inputs.pop(0) if self.inputs else Input(closed=True)


def test_a_game_of_go_is_played_with_the_cursor_and_p_passes(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("pufferlib.render.play.time.monotonic", lambda: next(clock) / 60)
    go = pytest.importorskip("pufferlib_ocean.go")
    env = go.Go(size=5, seed=1, opponent="self")
    taken, step = [], env.step
    env.step = lambda actions: taken.append(actions.tolist()) or step(actions)
    keys = [Input(pressed=[name]) for name in ("space", "right", "space", "space", "p")]
    window = Script(*[key for pair in zip(keys, [Input()] * len(keys), strict=True) for key in pair])
    player = WindowPlayer(env, window=window, steps_per_second=60)
    player.run()
    assert [max(actions) for actions in taken] == [12, 13, 25], "a stone on a stone is refused"
    assert "arrows" in window.help and "P" in window.help
    assert window.pictures[0][-1]["color"] == CURSOR_COLOR
