"""Convert: a thousand agents carry resources from factory to factory, each of which turns one into the next."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space

from pufferlib.errors import ConfigError
from pufferlib.native import Int, NativeEnv


class Convert(NativeEnv):
    """Observations: float32[3 * num_resources + 4], each in [-1, 1].

    For each resource, the offset to the nearest factory that takes it, in own axes: ahead/width, right/height; one-hot what
    one holds; x/width, y/height, speed/20, heading/pi. Factory f takes resource f % num_resources and gives the next one to
    whoever holds it and is within 32. Actions: turn by (a - 4) * 0.1 rad, accelerate by (a - 2) * 0.5. Reward: 1 for a
    conversion, of which there is one a step at most. Agents do not touch. A world's rows are truncated together.

    The log adds `laps`: how often an agent came back to resource 0 through all the others.
    """

    module = "pufferlib_ocean.convert._convert"
    arguments = (
        Int("num_agents", 1024, 1, 4096, help="rows of one world"),
        Int("num_factories", 32, 2, 128, help="at random places, new ones in every episode"),
        Int("num_resources", 8, 2, 16, help="kinds of resources; at most as many as factories"),
        Int("width", 1920, 100, 10_000, help="of the field; top speed is 20 a step"),
        Int("height", 1080, 100, 10_000, help="of the field"),
        Int("max_steps", 500, 0, 10**9, help="steps until truncation; 0: never"),
    )
    keys = {
        "left": {0: 2}, "a": {0: 2}, "right": {0: 6}, "d": {0: 6}, "up": {1: 4}, "w": {1: 4}, "down": {1: 0}, "s": {1: 0},
    }  # fmt: skip
    idle_action = (4, 2)

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        if a.num_factories < a.num_resources:
            raise ConfigError(
                f"convert: num_factories must be at least num_resources={a.num_resources}, so that each is taken somewhere, "
                f"got {a.num_factories}"
            )

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        return Box(-1, 1, (3 * a.num_resources + 4,), np.float32), MultiDiscrete([9, 5])

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        return int(a.num_agents)
