"""Trash pickup: agents gather trash, one piece at a time, and bring it to bins until the field is clean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Int, NativeEnv


class TrashPickup(NativeEnv):
    """Observations: uint8[(2 * sight + 1)**2 + 3], the window around the own place, row by row, then three numbers.

    0 empty, 1 outside, 2 trash, 3 bin, 4 agent, 5 agent with trash; then carrying (0 or 1), and the own x and y, scaled to
    0 ... 15. Actions: up, right, down, left. Walking into trash empty-handed picks it up and pays 0.25; into a bin with trash,
    drops it there and pays 0.75; all else blocks. The rows of a world end together, once all trash is in bins.
    """

    module = "pufferlib_ocean.trash_pickup._trash_pickup"
    arguments = (
        Int("size", 20, 5, 100, help="cells of the field, each way"),
        Int("num_agents", 8, 1, 64, help="rows of one world"),
        Int("num_trash", 40, 1, 2500, help="pieces at the start; at most a quarter of the cells"),
        Int("num_bins", 2, 1, 16, help="bins"),
        Int("sight", 5, 1, 10, help="cells seen on each side"),
        Int("max_steps", 500, 0, 10**9, help="steps until truncation; 0: never"),
    )
    keys = {"up": 0, "w": 0, "right": 1, "d": 1, "down": 2, "s": 2, "left": 3, "a": 3}

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        area, things = a.size**2, a.num_agents + a.num_trash + a.num_bins
        if a.num_trash > area // 4:
            raise ConfigError(
                f"trash_pickup: num_trash must be in [1, {area // 4}], a quarter of size*size={area}, got {a.num_trash}"
            )
        if things > area:
            raise ConfigError(
                f"trash_pickup: num_agents + num_trash + num_bins must be at most size*size={area}, "
                f"got {a.num_agents} + {a.num_trash} + {a.num_bins} = {things}"
            )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        high = np.array([5] * (2 * a.sight + 1) ** 2 + [1, 15, 15], np.uint8)
        return Box(np.zeros_like(high), high, dtype=np.uint8), Discrete(4)

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_agents)
