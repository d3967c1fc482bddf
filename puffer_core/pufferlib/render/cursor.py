"""A cursor for games whose actions are places: arrows move it among the game's spots, space chooses one.

Some games need several: first a piece, then where it goes. The game says what spots chosen in turn mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pufferlib.buffers import Array
from pufferlib.native.env import DRAW_COMMAND, DrawCommands
from pufferlib.render.commands import Kind

MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
CHOOSE = "space"
CURSOR_COLOR, CHOSEN_COLOR = 0xF0645CFF, 0xE6EDF3FF
LINE_PX = 4.0


class Cursor:
    """env: a game with `cursor_spots()`, of which there is at least one, and `cursor_action(chosen, agent)`; see NativeEnv."""

    names = (*MOVES, CHOOSE)

    def __init__(self, env: Any) -> None:
        self._env = env
        self.spots: Array = np.array(env.cursor_spots(), np.float32)
        self._centres = self.spots[:, :2] + self.spots[:, 2:] / 2
        middle = self._centres.mean(axis=0)
        self.at = int(((self._centres - middle) ** 2).sum(axis=1).argmin())
        self.chosen: list[int] = []

    def press(self, name: str, agent: int) -> int | None:
        """Obey a key. Returns an action once the spots chosen mean one."""
        if name != CHOOSE:
            self.at = self._next(MOVES[name])
            return None
        action: int | None = self._env.cursor_action([*self.chosen, self.at], agent)
        if action is not None and self._is_allowed(action, agent):
            self.chosen = []
            return action
        self.chosen = [] if self.chosen == [self.at] else [self.at]  # what does not follow begins anew, or takes back
        return None

    def _is_allowed(self, action: int, agent: int) -> bool:
        masks = self._env.action_masks
        return masks is None or bool(masks[agent, action])

    def _next(self, move: tuple[int, int]) -> int:
        """The nearest spot in a direction, those straight ahead first; the same one where there is none."""
        away = self._centres - self._centres[self.at]
        ahead = away @ np.array(move, np.float32)
        aside = np.abs(away @ np.array(move[::-1], np.float32))
        cost = np.where((ahead > 1) & (aside <= ahead), ahead + 4 * aside, np.inf)
        return int(cost.argmin()) if np.isfinite(cost).any() else self.at

    def drawn_on(self, picture: DrawCommands | Array) -> DrawCommands | Array:
        """A copy of the picture with frames around the cursor and what is chosen."""
        frames = [(self.spots[i], CHOSEN_COLOR) for i in self.chosen] + [(self.spots[self.at], CURSOR_COLOR)]
        if isinstance(picture, np.ndarray):
            picture = picture.copy()
            for spot, color in frames:
                paint_frame(picture, spot, color)
            return picture
        commands = np.zeros(len(frames), DRAW_COMMAND)
        commands["kind"] = Kind.OUTLINE
        for command, (spot, color) in zip(commands, frames, strict=True):
            command["color"], command["v"][:4], command["v"][4] = color, spot, LINE_PX
        return picture._replace(commands=np.concatenate([picture.commands, commands]))


def paint_frame(pixels: Array, spot: Array, color: int) -> None:
    """The outline of a spot (x, y, width, height) on uint8[height, width, 3]."""
    x, y, w, h = (round(float(value)) for value in spot)
    inside = pixels[y + int(LINE_PX) : y + h - int(LINE_PX), x + int(LINE_PX) : x + w - int(LINE_PX)].copy()
    pixels[y : y + h, x : x + w] = [color >> 24, color >> 16 & 255, color >> 8 & 255]
    pixels[y + int(LINE_PX) : y + h - int(LINE_PX), x + int(LINE_PX) : x + w - int(LINE_PX)] = inside
