"""Bridges to other libraries: Gymnasium's vector envs as a VecEnv, and a VecEnv for Stable-Baselines3.

A VecEnv is a `gymnasium.vector.VectorEnv` itself, so code for that API needs no bridge.
"""

from __future__ import annotations

from typing import Any

from pufferlib.bridges.gymnasium_vector import from_vector
from pufferlib.vector import VecEnv

__all__ = ["from_vector", "to_sb3"]


def to_sb3(vec: VecEnv) -> Any:
    """A `stable_baselines3.common.vec_env.VecEnv` over `vec`: one SB3 env for each agent row.

    Where an episode ends, the row's info holds `terminal_observation`, `TimeLimit.truncated` and `episode` (return `r`, length
    `l`, seconds `t`), which SB3 logs. A flat Dict of observations is handed over as a dict of arrays, Discrete as its numbers.
    Raises ModuleNotFoundError with the line to install it, SpaceError for observations that SB3 does not know.
    """
    try:
        import stable_baselines3  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "stable_baselines3":
            raise
        raise ModuleNotFoundError("to_sb3 needs Stable-Baselines3: pip install stable-baselines3", name=error.name) from None
    from pufferlib.bridges.sb3 import StableBaselinesVec

    return StableBaselinesVec(vec)
