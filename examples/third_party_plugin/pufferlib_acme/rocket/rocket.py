"""Rocket: hold the height that is asked for, with one engine that is either on or off."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.native import Float, Int, NativeEnv


class Rocket(NativeEnv):
    """Observation float32 (3): height, speed, height asked for. Action: engine off or on. Reward: 1 minus the distance."""

    module = "pufferlib_acme.rocket._rocket"
    arguments = (Float("gravity", 0.01, 0.001, 0.05), Int("max_steps", 200, 0, 10**9))
    keys = {"space": 1, "up": 1, "w": 1}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[spaces.Box, spaces.Space[Any]]:
        """The observation and the action space."""
        return spaces.Box(-1, 1, (3,), np.float32), spaces.Discrete(2)
