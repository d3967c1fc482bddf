"""From what an env shows to what a network reads: flat float32 rows of about unit size."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError, SpaceError

MAX_ONEHOT_WIDTH = 65_536
"""A one-hot layer wider than this is surely a mistake (a space without a small highest code)."""


class ObservationEncoder(nn.Module):
    """Flatten observations [rows, *shape] of a Box to float32 [rows, width].

    encode="scale": integers are divided by the largest magnitude that their Box allows (pixels by 255, codes by the highest
        code), so they lie in [-1, 1]; floats pass unchanged.
    encode="onehot": every integer becomes `high - low + 1` numbers, one of which is 1. Floats are refused.
    """

    def __init__(self, space: spaces.Box, encode: Literal["scale", "onehot"] = "scale") -> None:
        super().__init__()
        if not isinstance(space, spaces.Box):
            raise SpaceError(f"this policy reads Box observations, got {space}; write your own encoder for other spaces")
        if encode not in ("scale", "onehot"):
            raise ConfigError(f"encode must be scale or onehot, got {encode!r}")
        self.encode = encode
        self.size = int(np.prod(space.shape))
        is_float = space.dtype.kind == "f"
        low, high = space.low.reshape(-1).astype(np.float64), space.high.reshape(-1).astype(np.float64)
        self.width = self.size
        self.scale: Tensor | None
        self.offset: Tensor
        if encode == "onehot":
            if is_float:
                raise ConfigError(f"encode='onehot' needs integer observations, got {space.dtype}; use encode='scale'")
            sizes = (high - low + 1).astype(np.int64)
            self.width = int(sizes.sum())
            if self.width > MAX_ONEHOT_WIDTH:
                raise ConfigError(f"encode='onehot' would make {self.width} inputs of {space}; at most {MAX_ONEHOT_WIDTH} go")
            offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]) - low.astype(np.int64)
            self.register_buffer("offset", torch.as_tensor(offset, dtype=torch.int64), persistent=False)
        largest = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)
        scale = None if is_float or (largest == 1).all() else torch.as_tensor(1.0 / largest, dtype=torch.float32)
        self.register_buffer("scale", scale, persistent=False)

    def forward(self, observations: Tensor) -> Tensor:
        """observations: [rows, *shape]. Returns float32 [rows, width]."""
        flat = observations.reshape(observations.shape[0], self.size)
        if self.encode == "onehot":
            index = flat.long() + self.offset
            return torch.zeros(flat.shape[0], self.width, device=flat.device).scatter_(1, index, 1.0)
        flat = flat.float()
        return flat if self.scale is None else flat * self.scale
