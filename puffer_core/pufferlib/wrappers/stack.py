"""The last few observations of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array, Buffers
from pufferlib.errors import ConfigError
from pufferlib.vector import VecEnv
from pufferlib.vector.shape import whole
from pufferlib.wrappers.base import Step, VecWrapper
from pufferlib.wrappers.parts import Parts


class FrameStackObservation(VecWrapper):
    """Observations [stack_size, *shape], the newest last; over a VecEnv, so one assignment moves all rows.

    padding: what stands before an episode's first observation: "reset", that observation again, or "zero".
    leaves: of a structured observation those to stack, by paths such as "camera" or "sensors/lidar"; None: all. Each then has
    a first axis of stack_size: a Discrete becomes a MultiDiscrete.
    A stack never reaches over an episode's end: where one ended, `final_observations` holds the stack that ends in the true last
    observation, and the stack of the next episode is new. Likewise for a row that is waking up (its mask was 0).
    The rollout holds every stack, so it is `stack_size` times as large.
    """

    owned = ("observations", "final_observations")

    def __init__(
        self,
        env: VecEnv,
        stack_size: int,
        padding: Literal["reset", "zero"] = "reset",
        *,
        leaves: Sequence[str] | None = None,
    ) -> None:
        size = whole("stack_size", stack_size)
        if padding not in ("reset", "zero"):
            raise ConfigError(f"padding must be 'reset' or 'zero', got {padding!r}")
        self._repeats = padding == "reset"
        self._parts = Parts(env, leaves, usual=lambda leaf: True, change=lambda space: _stacked(space, size, self._repeats))
        super().__init__(env, observation_space=self._parts.box)

    def allocate(self, slots: int) -> Buffers:
        """The stacks go on in the new storage: a step may follow without a reset."""
        if not hasattr(self, "_views"):
            return super().allocate(slots)
        self._check_open()
        self._finish_running()
        kept: list[Any] = [self._views[slot][group].observations for group, slot in enumerate(self._slots)]
        storage = super().allocate(slots)
        for group, stacks in enumerate(kept):
            self._views[0][group].observations[...] = stacks
        return storage

    def receive(self, step: Step) -> None:
        inner, outer, parts = step.inner, step.outer, self._parts
        parts.keep(inner.observations, outer.observations)
        if step.is_reset:
            for first, stacks in parts.changed(inner.observations, outer.observations):
                self._begin(stacks, slice(None), first)
            return
        before = self._views[step.source][step.group].observations
        ended = inner.terminals | inner.truncations
        rows = np.flatnonzero(ended)
        if len(rows):
            parts.keep(inner.final_observations, outer.final_observations, rows)
            for last, earlier, finals in parts.changed(inner.final_observations, before, outer.final_observations):
                finals[rows, :-1], finals[rows, -1] = earlier[rows, 1:], last[rows]
        begins = np.flatnonzero(ended | ~inner.masks)
        for newest, earlier, stacks in parts.changed(inner.observations, before, outer.observations):
            stacks[:, :-1] = earlier[:, 1:]
            stacks[:, -1] = newest
            if len(begins):
                self._begin(stacks, begins, newest[begins])

    def _begin(self, stacks: Array, rows: Any, first: Array) -> None:
        stacks[rows] = first[:, None] if self._repeats else 0
        stacks[rows, -1] = first


def _stacked(space: Any, size: int, repeats: bool) -> spaces.Space[Any]:
    """The space of `size` members of another. repeats: 0 need not be among its members."""
    if isinstance(space, spaces.Box):
        low, high = (np.repeat(bound[None], size, axis=0) for bound in (space.low, space.high))
        if not repeats:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        return spaces.Box(low, high, dtype=space.dtype.type)
    if isinstance(space, spaces.MultiBinary):
        return spaces.MultiBinary((size, *space.shape))
    n, start = (space.n, space.start) if isinstance(space, spaces.Discrete) else (space.nvec, space.start)
    axes = (size, *(1 for _ in np.shape(n)))
    return spaces.MultiDiscrete(np.tile(n, axes), dtype=space.dtype.type, start=np.tile(start, axes))
