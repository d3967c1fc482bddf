"""What the stubs of turn games share: the arguments that `turns.h` reads, and one or two rows a world."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from pufferlib.native import Choice, Float, Int, NativeEnv
from pufferlib.native.arguments import Argument


def turn_arguments(*, bot_epsilon: float = 0.05) -> tuple[Argument, ...]:
    """`arguments = (*turn_arguments(), Int("size", ...))`. bot_epsilon: that argument's default."""
    return (
        Choice("opponent", "bot", ("bot", "self"), help="who plays the other side; self: the world's second row"),
        Float("bot_epsilon", bot_epsilon, 0, 1, help="share of the bot's moves that are uniformly random"),
        Choice("illegal", "random", ("random", "lose"), help="a forbidden move: a random legal one is played, or it loses"),
        Float("reward_illegal", -0.02, -100, 100, help='for a forbidden move, with illegal="random"'),
        Int("max_steps", 0, 0, 10**9, help="steps until truncation; 0: never"),
    )


class TurnGame(NativeEnv):
    """A game of two sides that move in turn. With opponent="self" a world has two rows, whose episodes end together."""

    waits_for_keys = True
    metadata: ClassVar[dict[str, Any]] = {**NativeEnv.metadata, "render_fps": 2}

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return 2 if a.opponent == "self" else 1


def grid_spots(columns: int, rows: int, left: float, top: float, cell: float) -> list[tuple[float, float, float, float]]:
    """The cells of a board, row by row, as spots for a cursor."""
    return [(left + cell * x, top + cell * y, cell, cell) for y in range(rows) for x in range(columns)]
