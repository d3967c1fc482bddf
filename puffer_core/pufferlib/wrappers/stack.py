"""The last few observations of every row."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array, Buffers
from pufferlib.errors import ConfigError
from pufferlib.vector import VecEnv
from pufferlib.vector.shape import whole
from pufferlib.wrappers.base import Step, VecWrapper, plain_box


class FrameStackObservation(VecWrapper):
    """Observations [stack_size, *shape], the newest last; over a VecEnv, so one assignment moves all rows.

    padding: what stands before an episode's first observation: "reset", that observation again, or "zero".
    A stack never reaches over an episode's end: where one ended, `final_observations` holds the stack that ends in the true last
    observation, and the stack of the next episode is new. Likewise for a row that is waking up (its mask was 0).
    The rollout holds every stack, so it is `stack_size` times as large.
    """

    owned = ("observations", "final_observations")

    def __init__(self, env: VecEnv, stack_size: int, padding: Literal["reset", "zero"] = "reset") -> None:
        size = whole("stack_size", stack_size)
        if padding not in ("reset", "zero"):
            raise ConfigError(f"padding must be 'reset' or 'zero', got {padding!r}")
        box = plain_box(env, "FrameStackObservation")
        low, high = (np.repeat(bound[None], size, axis=0) for bound in (box.low, box.high))
        if padding == "zero":
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        self._repeats = padding == "reset"
        super().__init__(env, observation_space=spaces.Box(low, high, dtype=box.dtype.type))

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
        inner, stacks = step.inner, step.outer.observations
        if step.is_reset:
            self._begin(stacks, slice(None), inner.observations)
            return
        before = self._views[step.source][step.group].observations
        ended = inner.terminals | inner.truncations
        rows = np.flatnonzero(ended)
        if len(rows):
            finals = step.outer.final_observations
            finals[rows, :-1], finals[rows, -1] = before[rows, 1:], inner.final_observations[rows]
        stacks[:, :-1] = before[:, 1:]
        stacks[:, -1] = inner.observations
        begins = np.flatnonzero(ended | ~inner.masks)
        if len(begins):
            self._begin(stacks, begins, inner.observations[begins])

    def _begin(self, stacks: Array, rows: Any, first: Array) -> None:
        stacks[rows] = first[:, None] if self._repeats else 0
        stacks[rows, -1] = first
