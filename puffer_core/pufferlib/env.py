"""PufferEnv: a batch of `num_agents` agent rows over arrays that somebody else may own.

Native style, for envs that fill a whole batch: declare `single_observation_space`, `single_action_space` and
`num_agents`, then call `super().__init__(buf)`. `step` writes into `self.observations`, `self.rewards`, `self.terminals`,
`self.truncations`, and returns them. Autoreset is same-step: where an episode ends, its last observation goes into
`self.final_observations` and the next episode's first one into `self.observations`.

Declarative style, for one env in plain Python: call `super().__init__(buf)` first, then set `self.observation_space` and
`self.action_space` with the `make_` helpers, and return ordinary values. `pufferlib.emulate` makes batches of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Buffers
from pufferlib.errors import SpaceError
from pufferlib.spaces import make_space

NATIVE = ("single_observation_space", "single_action_space", "num_agents")
DECLARATIVE = ("observation_space", "action_space")


class PufferEnv:
    """See the module's text; `examples/env_template.py` holds one of each style."""

    single_observation_space: spaces.Box
    single_action_space: spaces.Space[Any]
    num_agents: int
    action_mask_size = 0  # set it to the sum of the action sizes to get `self.action_masks`
    num_envs = 1  # worlds in this batch; each has num_agents / num_envs rows
    first_env = 0  # the number of this batch's first env in the whole VecEnv, for messages and infos
    is_native = False
    render_mode: str | None = None

    def __init__(self, buf: Buffers | None = None) -> None:
        mine = type(self).__name__
        native = [name for name in NATIVE if hasattr(self, name)]
        mixed = [name for name in DECLARATIVE if hasattr(self, name)]
        if native and mixed:
            raise SpaceError(
                f"{mine} sets {', '.join(native + mixed)}: a native env sets {', '.join(NATIVE)} before "
                f"super().__init__(buf), a declarative one {', '.join(DECLARATIVE)} after it; set only one kind"
            )
        if not native:
            return  # declarative: emulate() owns the arrays
        if len(native) < len(NATIVE):
            raise SpaceError(f"{mine} must set {', '.join(NATIVE)} before super().__init__(buf), it set {', '.join(native)}")
        if not isinstance(self.num_agents, int) or self.num_agents < 1:
            raise SpaceError(f"{mine}: num_agents must be an integer of at least 1, got {self.num_agents!r}")
        if not isinstance(self.single_observation_space, spaces.Box):
            raise SpaceError(f"{mine}: single_observation_space must be a Box, not {self.single_observation_space}")
        spaces_of_a_row = self.single_observation_space, self.single_action_space
        self.bind(buf or Buffers.allocate(*spaces_of_a_row, self.num_agents, action_mask_size=self.action_mask_size))

    def bind(self, buf: Buffers) -> None:
        """From now on, write results into `buf`, whose arrays have `num_agents` rows."""
        self.buffers = buf
        self.observations, self.actions, self.rewards = buf.observations, buf.actions, buf.rewards
        self.terminals, self.truncations, self.masks = buf.terminals, buf.truncations, buf.masks
        self.final_observations, self.action_masks = buf.final_observations, buf.action_masks

    def reset(self, seed: Any = None) -> Any:
        """Native: `(observations, infos)`. `seed` is None, an int, or one int per env. Declarative: the observation."""
        raise NotImplementedError

    def step(self, actions: Any) -> Any:
        """Native: `(observations, rewards, terminals, truncations, infos)`, infos a list of dicts, mostly empty."""
        raise NotImplementedError

    def render(self) -> Any:
        """A uint8[height, width, 3] frame, or None."""
        return None

    def drain_log(self) -> dict[str, float]:
        """Means over the row-episodes that ended since the last call, and their number `"n"`; {} if there were none."""
        return {}

    def close(self) -> None:
        """Free what the env holds. May be called any number of times."""

    @staticmethod
    def make_space(shape: Any, low: float = -np.inf, high: float = np.inf, dtype: Any = "float32") -> spaces.Space[Any]:
        """A Box of that shape; a dict of shapes makes a Dict of Boxes."""
        return make_space(shape, low, high, dtype)

    @staticmethod
    def make_discrete(n: int) -> spaces.Discrete:
        """Actions 0 .. n - 1."""
        return spaces.Discrete(n)

    @staticmethod
    def make_multi_discrete(nvec: Any) -> spaces.MultiDiscrete:
        """One choice of 0 .. n - 1 for each n of nvec."""
        return spaces.MultiDiscrete(nvec)
