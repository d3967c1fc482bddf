"""Scaled and clipped rewards. `drain_log` still reports the env's own."""

from __future__ import annotations

import math

import numpy as np

from pufferlib.errors import ConfigError
from pufferlib.vector import VecEnv
from pufferlib.wrappers.base import Step, VecWrapper


class ScaleReward(VecWrapper):
    """Rewards times `scale`; over a VecEnv."""

    owned = ("rewards",)

    def __init__(self, env: VecEnv, scale: float) -> None:
        if not math.isfinite(scale):
            raise ConfigError(f"scale must be a finite number, got {scale!r}")
        self.scale = np.float32(scale)
        super().__init__(env)

    def receive(self, step: Step) -> None:
        np.multiply(step.inner.rewards, self.scale, out=step.outer.rewards)


class ClipReward(VecWrapper):
    """Rewards cut to [low, high]; over a VecEnv. None: no bound on that side."""

    owned = ("rewards",)

    def __init__(self, env: VecEnv, low: float | None = -1.0, high: float | None = 1.0) -> None:
        self.low, self.high = -np.inf if low is None else low, np.inf if high is None else high
        if not self.low < self.high:
            raise ConfigError(f"low={low!r} must be below high={high!r}")
        super().__init__(env)

    def receive(self, step: Step) -> None:
        if step.is_reset:
            step.outer.rewards[:] = 0
        else:
            np.clip(step.inner.rewards, self.low, self.high, out=step.outer.rewards)
