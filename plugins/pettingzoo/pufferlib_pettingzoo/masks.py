"""Action masks: one row of zeros and ones over all choices of all heads of the joint action space."""

from __future__ import annotations

from typing import Any

import numpy as np

from pufferlib.buffers import Array
from pufferlib.errors import EnvValueError


class MaskRows:
    """One agent's rows, from its own masks.

    own, joint: head sizes of the agent's and of the joint action space. What only other agents have stays 0. A head of which
    nothing is allowed gets its first choice: something must be sampled.
    """

    def __init__(self, agent: Any, own: list[int], joint: list[int]) -> None:
        self._agent = agent
        self._heads = np.cumsum([0, *joint[:-1]])
        """Where each head begins."""
        self._places = np.concatenate([begin + np.arange(size) for begin, size in zip(self._heads, own, strict=False)])
        """Where the agent's own choices stand."""
        self._width = sum(joint)
        self._has_all = own == joint
        self._is_plain = self._has_all and len(joint) == 1
        self.first_only = np.zeros(self._width, np.uint8)
        """For an agent that waits: whatever it does is ignored, so it gets one choice, which then has probability one."""
        self.first_only[self._heads] = 1
        self.all = self.row(np.ones(len(self._places)))

    def row(self, mask: Any) -> Array:
        """uint8[width]. Raises EnvValueError for a mask of another size."""
        try:
            if type(mask) is np.ndarray and mask.ndim == 1:
                flat = mask
            elif isinstance(mask, (tuple, list)):
                flat = np.concatenate([np.asarray(part).reshape(-1) for part in mask])
            else:
                flat = np.asarray(mask).reshape(-1)
        except ValueError as error:
            raise EnvValueError(f"returned an action_mask for {self._agent!r} that is no array: {error}") from error
        if flat.shape != self._places.shape:
            raise EnvValueError(
                f"returned an action_mask of {flat.size} numbers for {self._agent!r}, whose actions have {len(self._places)}"
            )
        if self._is_plain:
            allowed = flat.astype(np.bool_).view(np.uint8)
            return allowed if allowed.any() else self.first_only
        row: Array
        if self._has_all:
            row = flat.astype(np.bool_).view(np.uint8)
        else:
            row = np.zeros(self._width, np.uint8)
            row[self._places] = flat != 0
        heads = np.bitwise_or.reduceat(row, self._heads)
        if np.count_nonzero(heads) < len(heads):
            row[self._heads[heads == 0]] = 1
        return row
