"""Card triad (triple triad): place cards on 3 x 3 cells and take the neighbours whose facing side is smaller."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Bool
from pufferlib_ocean.turns import TurnGame, grid_spots, turn_arguments

ALIASES = ("ocean-tripletriad",)


class Cardtriad(TurnGame):
    """Observations: float32[98], each in [-1, 1].

    Own hand: 5 x (present, then its sides / 10: up, right, down, left), the other hand likewise; board: 9 cells row by row x
    (1 own, -1 the other side's, 0 empty, then the sides / 10); whether it is one's turn; whether one began; the lead on the
    board / 9. Actions: card * 9 + cell; the action mask holds cards still in hand on empty cells. Score: cards on the board
    and in hand, less the other side's. Reward: its sign, at the end, and `reward_illegal`; an illegal move that loses
    costs all 10 cards. Who begins alternates.
    """

    module = "pufferlib_ocean.cardtriad._cardtriad"
    arguments = (
        *turn_arguments(bot_epsilon=0.1),
        Bool("open", True, help="whether the sides of the other hand are seen"),
    )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (98,), np.float32), Discrete(45)

    def cursor_spots(self) -> list[tuple[float, float, float, float]]:
        return [*grid_spots(3, 3, 152, 92, 112), *grid_spots(1, 5, 24, 54, 82), *grid_spots(1, 5, 534, 54, 82)]

    def cursor_action(self, chosen: Sequence[int], agent: int) -> int | None:
        """First a card of one's own hand, then a cell."""
        if len(chosen) < 2:
            return None
        card, cell = chosen[-2] - 9 - 5 * agent, chosen[-1]
        return 9 * card + cell if 0 <= card < 5 and cell < 9 else None
