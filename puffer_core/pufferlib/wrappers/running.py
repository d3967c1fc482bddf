"""Observations and rewards normalised by running statistics, which are part of a trainer's checkpoint.

With several batches that are handed over as they finish, the statistics grow in that order; `in_order=True` makes the same run
every time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from pufferlib.buffers import Array
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.structure import Leaf
from pufferlib.vector import VecEnv
from pufferlib.wrappers.base import Step, VecWrapper
from pufferlib.wrappers.parts import Parts, path_name

PRIOR = 1e-4
"""The weight, in samples, of mean 0 and variance 1 before anything was seen; the same as Gymnasium's and Stable-Baselines3's."""


class RunningMoments:
    """Mean and variance of everything seen so far, float64 (Chan, Golub & LeVeque 1983, update of pooled moments)."""

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.mean = np.zeros(shape)
        self.var = np.ones(shape)
        self.count = PRIOR

    def update(self, values: Array) -> None:
        """values: [n, *shape]; n = 0 changes nothing."""
        n = len(values)
        if not n:
            return
        mean, var = np.mean(values, axis=0, dtype=np.float64), np.var(values, axis=0, dtype=np.float64)
        delta, total = mean - self.mean, self.count + n
        square = self.var * self.count + var * n + delta**2 * (self.count * n / total)
        self.mean, self.var, self.count = self.mean + delta * (n / total), square / total, total

    def state(self) -> dict[str, Any]:
        return {"mean": np.array(self.mean), "var": np.array(self.var), "count": float(self.count)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Raises ConfigError if the shapes differ."""
        mean, var = np.asarray(state["mean"], np.float64), np.asarray(state["var"], np.float64)
        if mean.shape != self.mean.shape:
            raise ConfigError(f"running statistics of shape {mean.shape} do not fit an env whose have {self.mean.shape}")
        self.mean, self.var, self.count = mean.copy(), var.copy(), float(state["count"])


class NormalizeObservation(VecWrapper):
    """Observations as float32 with mean 0 and variance 1 in every coordinate, by the statistics of all rows; over a VecEnv.

    epsilon: added to the variance. clip: results are cut to [-clip, clip]; None: not.
    leaves: of a structured observation those to normalise, by paths such as "position" or "sensors/lidar"; None: every Box of
    floating-point numbers. They must be Boxes; the others stay as they are.
    Every observation counts once: in a step where an episode ends its true last one and the next one's first. Rows whose mask is
    0 do not count. `update_statistics = False` freezes them, as for an evaluation. `moments` holds them, for a structured
    observation a dict by path.
    """

    owned = ("observations", "final_observations")

    def __init__(
        self, env: VecEnv, epsilon: float = 1e-8, clip: float | None = None, *, leaves: Sequence[str] | None = None
    ) -> None:
        self.epsilon, self.clip = _positive("epsilon", epsilon), None if clip is None else _positive("clip", clip)
        bound = np.inf if self.clip is None else self.clip
        self._parts = Parts(env, leaves, usual=_is_continuous, change=lambda space: _normal_box(space, bound))
        self._moments = [RunningMoments(leaf.shape) for leaf in self._parts.leaves]
        self.update_statistics = True
        super().__init__(env, observation_space=self._parts.box)

    @property
    def moments(self) -> Any:
        """RunningMoments; of a structured observation a dict of them."""
        return self._by_leaf(self._moments)

    def receive(self, step: Step) -> None:
        inner, outer, parts = step.inner, step.outer, self._parts
        parts.keep(inner.observations, outer.observations)
        ended = inner.terminals | inner.truncations
        rows = np.flatnonzero(ended)
        if len(rows):
            parts.keep(inner.final_observations, outer.final_observations, rows)
        now = parts.changed(inner.observations, outer.observations)
        final = parts.changed(inner.final_observations, outer.final_observations)
        for moments, (new, normal), (last, normal_last) in zip(self._moments, now, final, strict=True):
            if self.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP:  # the first one stands in the next step
                self._see(moments, new)
                normal_last[rows] = self._normal(moments, last[rows])
            elif len(rows):
                seen = new.copy()
                seen[rows] = last[rows]
                self._see(moments, seen if inner.masks.all() else seen[inner.masks])
                normal_last[rows] = self._normal(moments, last[rows])
                self._see(moments, new[rows])
            else:
                self._see(moments, new if inner.masks.all() else new[inner.masks])
            normal[...] = self._normal(moments, new)

    def own_state(self) -> dict[str, Any]:
        """The statistics, and what else a policy needs to normalise observations itself; inf stands for no clip."""
        states = [moments.state() for moments in self._moments]
        found = states[0] if self._parts.inner.is_plain else {"leaves": self._by_leaf(states)}
        return {**found, "epsilon": self.epsilon, "clip": np.inf if self.clip is None else self.clip}

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        leaves = state.get("leaves")
        for leaf, moments in zip(self._parts.leaves, self._moments, strict=True):
            moments.load(state if leaves is None else leaves[path_name(leaf.path)])

    def _by_leaf(self, values: Sequence[Any]) -> Any:
        if self._parts.inner.is_plain:
            return values[0]
        return {path_name(leaf.path): value for leaf, value in zip(self._parts.leaves, values, strict=True)}

    def _see(self, moments: RunningMoments, observations: Array) -> None:
        if self.update_statistics:
            moments.update(observations)

    def _normal(self, moments: RunningMoments, observations: Array) -> Array:
        normal: Array = (observations - moments.mean) / np.sqrt(moments.var + self.epsilon)
        return normal if self.clip is None else np.clip(normal, -self.clip, self.clip)


def _is_continuous(leaf: Leaf) -> bool:
    return isinstance(leaf.space, spaces.Box) and leaf.own_dtype.kind == "f"


def _normal_box(space: Any, bound: float) -> spaces.Box:
    if not isinstance(space, spaces.Box):
        raise SpaceError(f"only Boxes can be normalised, got {space}: leave it out of `leaves`")
    return spaces.Box(-bound, bound, space.shape, np.float32)


class NormalizeReward(VecWrapper):
    """Rewards divided by the standard deviation of the discounted return so far, of all rows; over a VecEnv.

    gamma: the discount. clip: results are cut to [-clip, clip]; None: not. Rewards are not centred. The return starts anew after
    an episode's end, terminal or truncated. `update_statistics = False` freezes the statistics; `moments` holds them.
    """

    owned = ("rewards",)

    def __init__(self, env: VecEnv, gamma: float = 0.99, epsilon: float = 1e-8, clip: float | None = None) -> None:
        if not 0 <= gamma <= 1:
            raise ConfigError(f"gamma must be in [0, 1], got {gamma!r}")
        self.gamma, self.epsilon = gamma, _positive("epsilon", epsilon)
        self.clip = None if clip is None else _positive("clip", clip)
        self.moments = RunningMoments()
        self.update_statistics = True
        self._returns = np.zeros(env.num_agents)
        super().__init__(env)

    def receive(self, step: Step) -> None:
        inner, returns = step.inner, self._returns[step.rows]
        if step.is_reset:
            returns[:] = 0
            step.outer.rewards[:] = 0
            return
        returns[:] = returns * self.gamma + inner.rewards
        if self.update_statistics:
            self.moments.update(returns if inner.masks.all() else returns[inner.masks])
        returns[inner.terminals | inner.truncations | ~inner.masks] = 0
        rewards = inner.rewards / np.sqrt(self.moments.var + self.epsilon)
        step.outer.rewards[:] = rewards if self.clip is None else np.clip(rewards, -self.clip, self.clip)

    def own_state(self) -> dict[str, Any]:
        return self.moments.state()

    def load_own_state(self, state: Mapping[str, Any]) -> None:
        self.moments.load(state)


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ConfigError(f"{name} must be above 0, got {value!r}")
    return float(value)
