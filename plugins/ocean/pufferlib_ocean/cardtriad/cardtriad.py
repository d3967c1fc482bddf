"""Card triad (triple triad): place cards on 3 x 3 cells and take the neighbours whose facing side is smaller."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Bool
from pufferlib_ocean.turns import TurnGame, turn_arguments

ALIASES = ("ocean-tripletriad",)


class Cardtriad(TurnGame):
    """Observations: float32[98], each in [-1, 1].

    Own hand: 5 x (present, then its sides / 10: up, right, down, left), the other hand likewise; board: 9 cells row by row x
    (1 own, -1 the other side's, 0 empty, then the sides / 10); whether it is one's turn; whether one began; the lead on the
    board / 9. Actions: card * 9 + cell; the action mask holds cards still in hand on empty cells. Score: cards on the board
    and in hand, less the other side's. Reward: its sign, at the end, and `reward_illegal`. Who begins alternates.
    """

    module = "pufferlib_ocean.cardtriad._cardtriad"
    arguments = (
        *turn_arguments(bot_epsilon=0.1),
        Bool("open", True, help="whether the sides of the other hand are seen"),
    )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (98,), np.float32), Discrete(45)
