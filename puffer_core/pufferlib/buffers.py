"""The arrays that envs write and learners read: one set, allocated once, viewed many times."""

from __future__ import annotations

import contextlib
import math
import mmap
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from gymnasium import spaces

Array = np.ndarray[Any, Any]
SPARSE_BYTES = 1 << 22
"""Of arrays that are worth the trouble: two huge pages."""


@dataclass(frozen=True, slots=True)
class Buffers:
    """Arrays with common leading axes: (rows,) for one step, (slots, rows) for a rollout.

    observations: the observation space's dtype, [..., *observation shape]
    actions: int32 [...] (Discrete), int32 [..., n] (MultiDiscrete) or float32 [..., *shape] (Box)
    rewards: float32 [...]; terminals, truncations, masks: bool [...]
    final_observations: like observations; written only in rows whose episode ended in that step
    action_masks: uint8 [..., sum of the action sizes], or None where the env has none
    """

    observations: Array
    actions: Array
    rewards: Array
    terminals: Array
    truncations: Array
    masks: Array
    final_observations: Array
    action_masks: Array | None = None

    @classmethod
    def allocate(
        cls, observation_space: spaces.Box, action_space: spaces.Space[Any], *leading: int, action_mask_size: int = 0
    ) -> Buffers:
        """Zeroed arrays (masks: ones) with the given leading axes."""
        layout = cls.layout(observation_space, action_space, *leading, action_mask_size=action_mask_size)
        return cls.filled({name: zeroed(name, *form) for name, form in layout.items()})

    @classmethod
    def layout(
        cls, observation_space: spaces.Box, action_space: spaces.Space[Any], *leading: int, action_mask_size: int = 0
    ) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        """Shape and dtype of every array, by name."""
        action_shape, action_dtype = action_layout(action_space)
        observation_dtype, flag = np.dtype(observation_space.dtype), np.dtype(np.bool_)
        layout = {
            "observations": (leading + observation_space.shape, observation_dtype),
            "actions": (leading + action_shape, action_dtype),
            "rewards": (leading, np.dtype(np.float32)),
            "terminals": (leading, flag),
            "truncations": (leading, flag),
            "masks": (leading, flag),
            "final_observations": (leading + observation_space.shape, observation_dtype),
        }
        if action_mask_size:
            layout["action_masks"] = ((*leading, action_mask_size), np.dtype(np.uint8))
        return layout

    @classmethod
    def filled(cls, arrays: dict[str, Array]) -> Buffers:
        """Buffers of zeroed arrays, their masks set to one."""
        for name in ("masks", "action_masks"):
            if name in arrays:
                arrays[name][...] = 1
        return cls(**arrays)

    def __getitem__(self, index: Any) -> Buffers:
        """A view (for slices and integers) of every array."""
        picked: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        made: dict[str, Any] = {name: None if array is None else array[index] for name, array in picked.items()}
        return Buffers(**made)


def zeroed(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros for a field of Buffers. Of `final_observations`, as large as the observations, only written rows cost memory.

    numpy asks the system for huge pages, of which a single row would take 2 MiB; so these lie in plain ones, which `forget` can
    give back.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if name != "final_observations" or size < SPARSE_BYTES or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(shape, dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system that has no huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def forget(array: Array) -> None:
    """Give the memory of an array of `zeroed` back to the system, after which it holds zeros; other arrays stay as they are."""
    owner: Any = array
    while isinstance(owner, (np.ndarray, memoryview)):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    if isinstance(owner, mmap.mmap):
        owner.madvise(mmap.MADV_DONTNEED)


def action_layout(space: spaces.Space[Any]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of one row's action: () or (n,) int32, or the Box's shape as float32."""
    if isinstance(space, spaces.Discrete):
        return (), np.dtype(np.int32)
    if isinstance(space, spaces.MultiDiscrete):
        return (int(space.nvec.size),), np.dtype(np.int32)
    if isinstance(space, spaces.Box):
        return space.shape, np.dtype(np.float32)
    from pufferlib.errors import SpaceError

    raise SpaceError(f"single_action_space must be Discrete, MultiDiscrete or Box, got {space}; emulate() flattens other spaces")
