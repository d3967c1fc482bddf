"""Snake: many snakes share one field, eat, grow, and die of walls, of bodies and of each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Bool, Float, Int, NativeEnv


class Snake(NativeEnv):
    """Observations: uint8, the cells around the head row by row.

    0 empty, 1 wall (and outside), 2 food, 3 corpse, 4 own body, 5 own head, 6 other body, 7 other head. Actions: up, right,
    down, left; turning back into the own second segment keeps the old direction. A row's episode ends with its snake's death,
    or is truncated by age; its snake then starts anew while the world goes on.

    With `corpse`, every death adds to the field what the snake was made of, so that a world fills up with corpses over time
    (random players fill the default field within 2500 steps); `world_steps` begins afresh before that.
    """

    module = "pufferlib_ocean.snake._snake"
    arguments = (
        Int("width", 128, 8, 1024, help="cells of the field"),
        Int("height", 128, 8, 1024, help="cells of the field"),
        Int("num_snakes", 64, 1, 1024, help="rows of one world"),
        Int("num_food", 512, 1, 1024 * 1024 // 4, help="food cells at any time; at most width * height / 4"),
        Int("vision", 5, 1, 10, help="cells seen on each side of the head"),
        Int("max_length", 256, 4, 4096, help="at this length a snake eats without growing"),
        Bool("corpse", True, help="the dead turn into corpses, which can be eaten"),
        Float("reward_food", 0.1, -100, 100, help="for eating food"),
        Float("reward_corpse", 0.1, -100, 100, help="for eating a corpse's cell"),
        Float("reward_death", -1.0, -100, 100, help="for dying"),
        Int("max_steps", 2000, 0, 10**9, help="age at which a snake's episode is truncated; 0: never"),
        Int("world_steps", 0, 0, 10**9, help="steps after which the world is rebuilt and all rows truncated; 0: never"),
    )
    keys = {"up": 0, "w": 0, "right": 1, "d": 1, "down": 2, "s": 2, "left": 3, "a": 3}

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        area = a.width * a.height
        if a.num_food > area // 4:
            raise ConfigError(f"snake: num_food must be in [1, {area // 4}], a quarter of width*height={area}, got {a.num_food}")
        if a.num_snakes * 4 + a.num_food > area // 2:
            raise ConfigError(
                f"snake: num_snakes*4 + num_food must be at most width*height/2 = {a.width}*{a.height}/2 = {area // 2}, "
                f"got {a.num_snakes}*4 + {a.num_food} = {a.num_snakes * 4 + a.num_food}"
            )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(0, 7, ((2 * a.vision + 1) ** 2,), np.uint8), Discrete(4)

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_snakes)
