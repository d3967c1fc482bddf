"""Wrappers: over a whole VecEnv where arithmetic on its arrays is enough, else around each env before it is batched.

Over a VecEnv, on all rows at once: FrameStackObservation, GrayscaleObservation, ResizeObservation, NormalizeObservation,
ScaleReward, ClipReward, NormalizeReward, ClipAction, RecordEpisodeStatistics, RecordVideo; your own: VecWrapper.
Around each env: ActionRepeat, which must stop where an episode ends; TimeLimit, which must reset what it cuts off; your own:
`pufferlib.Wrapper`.

    env = NormalizeObservation(FrameStackObservation(pufferlib.make("gym-CartPole-v1", num_envs=64), 4))
    env = pufferlib.emulate(lambda: ActionRepeat(MyEnv(), 4), num_envs=64)
"""

from pufferlib.wrappers.actions import ClipAction
from pufferlib.wrappers.base import VecWrapper
from pufferlib.wrappers.episodes import RecordEpisodeStatistics
from pufferlib.wrappers.images import GrayscaleObservation, ResizeObservation
from pufferlib.wrappers.per_env import ActionRepeat, TimeLimit, Wrapper
from pufferlib.wrappers.rewards import ClipReward, ScaleReward
from pufferlib.wrappers.running import NormalizeObservation, NormalizeReward
from pufferlib.wrappers.stack import FrameStackObservation
from pufferlib.wrappers.video import RecordVideo

__all__ = [
    "ActionRepeat",
    "ClipAction",
    "ClipReward",
    "FrameStackObservation",
    "GrayscaleObservation",
    "NormalizeObservation",
    "NormalizeReward",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "ResizeObservation",
    "ScaleReward",
    "TimeLimit",
    "VecWrapper",
    "Wrapper",
]
