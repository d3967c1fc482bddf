"""Actions that are cut to their bounds."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.errors import SpaceError
from pufferlib.vector import VecEnv
from pufferlib.wrappers.base import VecWrapper


class ClipAction(VecWrapper):
    """Takes any finite number and hands the env what is within the bounds of its Box; over a VecEnv.

    PuffeRL clips a Box's actions by itself; this is for learners that do not.
    """

    owned = ("actions",)

    def __init__(self, env: VecEnv) -> None:
        box = env.single_action_space
        if not isinstance(box, spaces.Box):
            raise SpaceError(f"ClipAction needs a Box of actions, this env has {box}")
        self._low, self._high = box.low, box.high
        super().__init__(env, action_space=spaces.Box(-np.inf, np.inf, box.shape, np.float32))

    def deliver(self, actions: Array, inner: Array) -> None:
        np.clip(actions, self._low, self._high, out=inner)
