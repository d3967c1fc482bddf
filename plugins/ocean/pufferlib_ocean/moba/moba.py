"""Moba: two teams of five heroes fight along three lanes for the other side's core."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space

from pufferlib.native import Choice, Float, Int, NativeEnv

PLANE = 11 * 11


class Moba(NativeEnv):
    """Observations: uint8[408]. Every row plays from the lower left: what the upper team sees and does is transposed.

    Three planes of the 11 x 11 cells around the hero, row by row: kind (0 ground, 1 wall, 2 river, 3 creep, 4 neutral, 5 tower,
    6 core, 7-11 hero by role), team (0 none, 1 own, 2 other), hp in 15ths. Then numbers, scaled to 255: own x, y, hp, mana,
    level, gold, steps until back, 3 cooldowns, 3 skills learnt, role (one-hot: support, assassin, mage, tank, carry), stun, slow;
    hp of the own 9 towers (by lane, outer first) and core, and of the other's; the clock, both teams' levels, kills ahead (from
    128), steps until the next wave. Actions: move (stay, 8 directions clockwise from up); nothing, attack or one of three skills;
    which target to prefer (heroes, nearest, lowest hp, structures and camps). `moba_heroes.h` lists the skills.

    Rows are heroes in the order of the roles, with opponent="self" those of the lower team first. A dead hero's row has mask 0
    and sees only the time. Score: towers taken less towers lost, 10 more for the core; perf: 1 won, 0 lost, 0.5 cut off.
    """

    module = "pufferlib_ocean.moba._moba"
    arguments = (
        Choice("opponent", "self", ("self", "bot"), help="who plays the other team; self: rows of the same world"),
        Int("bot_level", 1, 0, 2, help="0: attacks only, 1: and skills, 2: and last hits"),
        Int("max_steps", 4000, 0, 10**9, help="steps until truncation; 0: never"),
        Float("xp_scale", 1.0, 0.1, 10, help="multiplies all experience"),
        Float("reward_death", -0.5, -100, 100, help="for one's own death"),
        Float("reward_xp", 0.002, -100, 100, help="for each point of experience"),
        Float("reward_tower", 0.5, -100, 100, help="for each tower that the team takes; minus that for one lost"),
        Float("reward_win", 2.0, -100, 100, help="for the core; minus that if it is lost"),
    )
    keys = {
        "up": {0: 1}, "w": {0: 1}, "right": {0: 3}, "d": {0: 3}, "down": {0: 5}, "s": {0: 5}, "left": {0: 7}, "a": {0: 7},
        "right+up": {0: 2}, "d+w": {0: 2}, "down+right": {0: 4}, "d+s": {0: 4}, "down+left": {0: 6}, "a+s": {0: 6},
        "left+up": {0: 8}, "a+w": {0: 8}, "space": {1: 1}, "x": {1: 2}, "c": {1: 3}, "v": {1: 4},
    }  # fmt: skip
    idle_action = (0, 0, 1)

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        high = np.repeat([11, 2, 15, 255], [PLANE, PLANE, PLANE, 45]).astype(np.uint8)
        return Box(np.zeros_like(high), high, dtype=np.uint8), MultiDiscrete([9, 5, 4])

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return 5 if a.opponent == "bot" else 10
