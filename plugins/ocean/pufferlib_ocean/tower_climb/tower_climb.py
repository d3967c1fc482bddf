"""Tower climb: get to the top of a tower of blocks by walking, climbing, pushing and pulling."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.native import Float, Int, NativeEnv


class TowerClimb(NativeEnv):
    """Observations: uint8[228]: the cells around, 9 wide, 5 deep and 5 high, then direction, level and highest level so far.

    0 empty, 1 block, 2 outside, 3 summit (the level to reach), in the agent's own axes: layers from two below to two above, in
    each the rows from two ahead to two behind, from left to right. Actions: stay, forward (walk, fall, or climb one block), turn
    left, turn right, push the row of blocks ahead, pull the block ahead. Blocks without support fall. A fall of more than two
    levels, or a block on the head, ends the episode, as the summit does, which pays 1.
    """

    module = "pufferlib_ocean.tower_climb._tower_climb"
    arguments = (
        Int("width", 8, 4, 12, help="cells of the tower along x"),
        Int("depth", 6, 3, 8, help="cells along y"),
        Int("height", 24, 8, 64, help="levels; the highest one is the summit"),
        Int("num_maps", 256, 1, 4096, help="towers to draw from, shared by all worlds"),
        Int("map_seed", 0, 0, 2**31 - 1, help="seed of the towers"),
        Int("max_steps", 500, 0, 10**9, help="steps until truncation; 0: never"),
        Float("reward_row", 0.5, -100, 100, help="for each new highest level"),
        Float("reward_fall", -0.1, -100, 100, help="after a fall, for each level below the highest"),
        Float("reward_illegal", -0.004, -100, 100, help="for an action that is not possible"),
    )
    keys = {"up": 1, "w": 1, "left": 2, "a": 2, "right": 3, "d": 3, "space": 4, "x": 5}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        high = np.array([3] * 225 + [3, a.height - 1, a.height - 1], np.uint8)
        return Box(np.zeros_like(high), high, dtype=np.uint8), Discrete(6)
