"""Connect Four: drop stones until four stand in a row, against a bot that looks ahead or against yourself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Int
from pufferlib_ocean.turns import TurnGame, turn_arguments


class Connect4(TurnGame):
    """Observations: float32[44], each in [-1, 1]: the 42 cells row by row from the top (1 own stone, -1 the other side's),
    whether it is one's turn, stones played / 42. Actions: the column, 0 to 6; the action mask holds those that are not full.

    Reward: 1 for a win, -1 for a loss, 0 for a draw, and `reward_illegal` for a full column. Who begins alternates.
    """

    module = "pufferlib_ocean.connect4._connect4"
    arguments = (
        *turn_arguments(),
        Int("bot_depth", 2, 0, 10, help="plies that the bot looks ahead; 0: it only takes and stops wins"),
    )
    keys = {str(column + 1): column for column in range(7)}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (44,), np.float32), Discrete(7)
