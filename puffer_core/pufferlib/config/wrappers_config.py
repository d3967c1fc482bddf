"""The wrappers of a run: the table `[wrappers]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pufferlib.errors import ConfigError, SpaceError

if TYPE_CHECKING:
    from pufferlib.vector import VecEnv


@dataclass(kw_only=True)
class WrappersConfig:
    """Wrappers over the whole VecEnv (docs/vectorization.md). They go around it in this order, the first innermost."""

    grayscale: bool = False
    """Pictures in colour become grey."""
    resize: str = ""
    """Pictures become smaller: HEIGHTxWIDTH, such as 84x84."""
    normalize_observations: bool = False
    """Bring observations to mean 0 and variance 1 by running statistics, which checkpoints hold."""
    clip_observations: float | None = None
    """Cut normalised observations to [-X, X]."""
    normalize_leaves: list[str] = field(default_factory=list)
    """Of a structured observation what to normalise, such as sensors/lidar; none: all floats. Can be given several times."""
    frame_stack: int = 1
    """Observe the last so many observations."""
    stack_leaves: list[str] = field(default_factory=list)
    """Of a structured observation what to stack; none: all. Can be given several times."""
    normalize_rewards: bool = False
    """Divide rewards by the running standard deviation of the return, discounted by train.gamma; before train.reward_clip."""

    def __post_init__(self) -> None:
        if self.resize and not re.fullmatch(r"[1-9]\d*x[1-9]\d*", self.resize):
            raise ConfigError(f"{_named('resize')} must be HEIGHTxWIDTH, such as 84x84, got {self.resize!r}")
        if self.frame_stack < 1:
            raise ConfigError(f"{_named('frame_stack')} must be at least 1, got {self.frame_stack}")
        if self.clip_observations is not None and not self.clip_observations > 0:
            raise ConfigError(f"{_named('clip_observations')} must be above 0, got {self.clip_observations:g}")
        for name, value in (("clip_observations", self.clip_observations), ("normalize_leaves", self.normalize_leaves)):
            if value and not self.normalize_observations:
                raise ConfigError(f"{_named(name)} says how to normalise: set {_named('normalize_observations')} true as well")
        if self.stack_leaves and self.frame_stack == 1:
            raise ConfigError(f"{_named('stack_leaves')} says what to stack: set {_named('frame_stack')} to 2 or more as well")

    @property
    def change_observations(self) -> bool:
        """Whether a policy sees other observations than the env's own."""
        return self.grayscale or bool(self.resize) or self.normalize_observations or self.frame_stack > 1

    def without_normalised_observations(self) -> WrappersConfig:
        """For a policy that normalises observations itself."""
        return replace(self, normalize_observations=False, clip_observations=None, normalize_leaves=[])

    def around_observations(self, env: VecEnv) -> VecEnv:
        """`env` within the wrappers of observations. Raises SpaceError, naming the flag, where one does not fit its space."""
        from pufferlib.wrappers import FrameStackObservation, GrayscaleObservation, NormalizeObservation, ResizeObservation

        name = ""
        try:
            if self.grayscale:
                name = "grayscale"
                env = GrayscaleObservation(env)
            if self.resize:
                name = "resize"
                height, width = map(int, self.resize.split("x"))
                env = ResizeObservation(env, (height, width))
            if self.normalize_observations:
                name = "normalize_observations"
                env = NormalizeObservation(env, clip=self.clip_observations, leaves=self.normalize_leaves or None)
            if self.frame_stack > 1:
                name = "frame_stack"
                env = FrameStackObservation(env, self.frame_stack, leaves=self.stack_leaves or None)
        except (SpaceError, ConfigError) as error:
            raise type(error)(f"{_named(name)}: {error}") from error
        return env

    def around_rewards(self, env: VecEnv, gamma: float) -> VecEnv:
        """`env` within the wrappers of rewards, for training only: whoever evaluates wants the env's own."""
        from pufferlib.wrappers import NormalizeReward

        return NormalizeReward(env, gamma) if self.normalize_rewards else env


def _named(name: str) -> str:
    return f"{name} (--wrappers.{name.replace('_', '-')})"
