"""CPR: a common pool of berries that grow back only beside berries, and stags that it takes two to eat."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Float, Int, NativeEnv


class Cpr(NativeEnv):
    """Observations: uint8[(2 * vision + 1)**2], the window around the own place, row by row.

    0 empty, 1 wall (and outside), 2 berry, 3 stag, 4 agent, 5 oneself. Actions: stay, up, right, down, left. Entering a berry
    eats it; a stag with two or more agents beside it (not diagonally) is eaten by all of them at the end of the step. Each empty
    cell beside n of 8 berries becomes one with probability 2 * n * spawn a step. A world's rows are truncated together.

    The log adds `berries_left`, when the episode ends, and `joint_meals`, shares in stags.
    """

    module = "pufferlib_ocean.cpr._cpr"
    arguments = (
        Int("width", 32, 8, 256, help="cells of the field"),
        Int("height", 32, 8, 256, help="cells of the field"),
        Int("num_agents", 8, 1, 64, help="rows of one world"),
        Int("vision", 3, 1, 8, help="cells seen on each side"),
        Float("spawn", 0.002, 0, 1, help="how fast berries and stags come"),
        Float("density", 0.1, 0, 1, help="share of cells that hold berries at the start"),
        Float("reward_food", 0.1, -100, 100, help="for a berry"),
        Float("reward_joint", 0.4, -100, 100, help="for a share in a stag"),
        Int("max_steps", 1000, 0, 10**9, help="steps until truncation; 0: never"),
    )
    keys = {"up": 1, "w": 1, "right": 2, "d": 2, "down": 3, "s": 3, "left": 4, "a": 4}

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        area = a.width * a.height
        berries = int(np.float32(a.density) * np.float32(area) + np.float32(0.5))
        if berries + 2 * a.num_agents > area:
            raise ConfigError(
                f"cpr: density*width*height + 2*num_agents must be at most width*height={area} (every agent needs a cell, and a "
                f"stag comes with each), got {berries} + 2*{a.num_agents} = {berries + 2 * a.num_agents}"
            )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(0, 5, ((2 * a.vision + 1) ** 2,), np.uint8), Discrete(5)

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_agents)
