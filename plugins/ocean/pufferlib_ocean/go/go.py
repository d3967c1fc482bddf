"""Go on boards of 5 x 5 to 19 x 19: positional superko, area scoring; against a greedy or random bot, or yourself."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Choice, Float, Int
from pufferlib_ocean.turns import TurnGame, grid_spots, turn_arguments


class Go(TurnGame):
    """Observations: uint8[3 * size**2 + 4].

    Planes of size x size, row by row, 1 or 0: own stones, the other's, the last stone; then whether it is one's turn,
    whether one is black, whether the other has just passed, and plies / max_plies in fifteenths. Actions: a point, row by
    row; the last action passes. The action mask holds what is legal: no suicide, and no position that has stood before.
    Reward: 1 for a win, -1 for a loss, 0 if even, by area less komi after two passes or max_plies; `reward_capture` for
    each stone taken, less those lost; `reward_illegal`. Who is black, and begins, alternates.
    """

    module = "pufferlib_ocean.go._go"
    arguments = (
        *turn_arguments(),
        Int("size", 9, 5, 19, help="points of a side"),
        Float("komi", 7.5, -20, 20, help="points for white, in steps of 0.5"),
        Choice("bot", "greedy", ("greedy", "random"), help="greedy takes and saves stones that it can, random plays anywhere"),
        Int("max_plies", lambda a: 3 * a.size**2, 10, 10_000, help="plies after which the area is counted as it stands"),
        Float("reward_capture", 0.0, -100, 100, help="for each stone taken, and its negative for each lost"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = {"p": self.args.size**2}  # to pass

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        if not float(2 * a.komi).is_integer():
            raise ConfigError(f"go: komi must be a multiple of 0.5 in [-20, 20], got {a.komi:g}")

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(0, 15, (3 * a.size**2 + 4,), np.uint8), Discrete(a.size**2 + 1)

    def cursor_spots(self) -> list[tuple[float, float, float, float]]:
        return grid_spots(self.args.size, self.args.size, 110, 50, 420 / self.args.size)

    def cursor_action(self, chosen: Sequence[int], agent: int) -> int | None:
        return chosen[-1]
