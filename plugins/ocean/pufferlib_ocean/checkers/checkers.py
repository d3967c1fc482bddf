"""Checkers (English draughts): forced jumps, chains and kings, against a bot that looks ahead or against yourself."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int
from pufferlib_ocean.turns import TurnGame, grid_spots, turn_arguments


class Checkers(TurnGame):
    """Observations: float32[36], each in [-1, 1], as one's own side sees the board: its men move up.

    The 32 dark squares from the top left, row by row: 1 an own man, 0.5 an own king, -1 and -0.5 the other side's; whether
    it is one's turn; whether a piece has to go on jumping; its square / 31; quiet moves in a row / draw_plies.
    Actions: square * 4 + direction (up left, up right, down right, down left): the jump if there is one, else the step. A
    chain of jumps takes one step of the env for each jump. The action mask holds what the rules allow.
    Reward: 1 for a win, -1 for a loss (no move left), 0 for a draw, and `reward_illegal`. Who begins alternates.
    """

    module = "pufferlib_ocean.checkers._checkers"
    arguments = (
        *turn_arguments(),
        Int("bot_depth", 2, 0, 8, help="moves that the bot looks ahead; 0: it plays at random"),
        Int("draw_plies", 80, 10, 1000, help="moves without capture or move of a man that make a draw"),
    )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (36,), np.float32), Discrete(128)

    def cursor_spots(self) -> list[tuple[float, float, float, float]]:
        return grid_spots(8, 8, 112, 50, 52)

    def cursor_action(self, chosen: Sequence[int], agent: int) -> int | None:
        """First a piece, then the square where it goes."""
        if len(chosen) < 2:
            return None
        (y, x), (to_y, to_x) = (divmod(spot if agent == 0 else 63 - spot, 8) for spot in chosen[-2:])  # its side is turned
        if abs(to_y - y) != abs(to_x - x) or to_y == y or (y + x) % 2 == 0:
            return None
        direction = (0 if to_x < x else 1) if to_y < y else (3 if to_x < x else 2)
        return 4 * (4 * y + x // 2) + direction
