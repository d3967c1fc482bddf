"""NMMO: hundreds of agents share a wild island, where they forage, fight, gather and trade."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Bool, Float, Int, NativeEnv

WINDOW = (11, 15, 4)
"""Rows, columns, and the bytes of a cell."""
CELL = (8, 5, 50, 55)
NUMBERS = (100, 100, 100, 255) + (50,) * 4 + (255,) * 4 + (3, 3) + (6, 5, 1) * 8 + (255, 1) * 4 + (255,) * 4


class Nmmo(NativeEnv):
    """Observations: uint8[710]. First the 11 x 15 cells around the agent row by row, four bytes each: terrain (0 water, 1 stone,
    2 bare node, 3 bare forest, 4 grass, 5 ore, 6 herb, 7 crystal, 8 forest), who is there (0 nobody, 1 player, 2 passive, 3
    neutral, 4 hostile NPC, 5 oneself), its level, its hp / 4. Then 50 numbers: hp, food, water, gold (at most 255); levels of
    melee, ranged, magic, gather, and the way to the next of each (of 255); the style used last and the one hit by last (0 none,
    1 melee, 2 ranged, 3 magic); 8 slots of kind (0 none, 1-3 weapon by style, 4 armour, 5 potion, 6 ration), tier, equipped;
    for weapon, armour, potion, ration the best price (0 none) and whether the gold suffices; x, y, danger (of 255), age / 8.

    Actions: move (stay, up, right, down, left); attack the nearest in range (none, melee 1, ranged 4, magic 4 cells); item: 0
    none, 1-8 use or equip a slot, 9-12 sell slot 1-4, 13-16 buy the cheapest weapon, armour, potion, ration. Food and water fall
    by half a point a step; forests feed, cells beside water quench. Players below combat level 3 neither attack players nor can
    be attacked. A row's episode ends with its death, or is truncated by age; it is then born anew while the world goes on.

    Score: the sum of the four levels less 4; perf: score / 60. The log adds `lifetime`, `kills` and `trades`.
    """

    module = "pufferlib_ocean.nmmo._nmmo"
    arguments = (
        Int("num_agents", 256, 128, 1024, help="rows of one world"),
        Int("size", 256, 128, 1024, help="cells of a side"),
        Int("num_npcs", 512, 0, 4096, help="that fight for themselves"),
        Int("num_maps", 8, 1, 64, help="islands in the pool; each world plays on one"),
        Int("map_seed", 0, 0, 2**31 - 1, help="of the pool"),
        Bool("market", True, help="agents can sell and buy"),
        Bool("pvp", True, help="agents can attack each other"),
        Int("max_steps", 2000, 0, 10**9, help="age at which a row is truncated; 0: never"),
        Float("reward_level", 1.0, -100, 100, help="for each level gained"),
        Float("reward_death", -1.0, -100, 100, help="for dying"),
        Float("reward_item", 0.1, -100, 100, help="for equipping a higher tier of weapon or armour than ever before"),
        Float("reward_alive", 0.0, -100, 100, help="for each step that one survives"),
    )
    keys = {
        "up": {0: 1}, "w": {0: 1}, "right": {0: 2}, "d": {0: 2}, "down": {0: 3}, "s": {0: 3}, "left": {0: 4}, "a": {0: 4},
        "space": {1: 1}, "x": {1: 2}, "c": {1: 3},
        **{str(slot): {2: slot} for slot in range(1, 9)},
    }  # fmt: skip
    idle_action = (0, 0, 0)

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        units = a.num_agents + a.num_npcs
        if a.size**2 < 64 * units:
            raise ConfigError(
                f"nmmo: size*size must be at least 64*(num_agents + num_npcs), got {a.size}*{a.size} = {a.size**2} < "
                f"64*({a.num_agents} + {a.num_npcs}) = {64 * units}"
            )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        high = np.array(CELL * (WINDOW[0] * WINDOW[1]) + NUMBERS, np.uint8)
        return Box(np.zeros_like(high), high, dtype=np.uint8), MultiDiscrete([5, 4, 17])

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_agents)
