"""From what an env shows to what a network reads: flat float32 rows of about unit size."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError, SpaceError
from pufferlib.structure import Leaf, structure_of

Encode = Literal["scale", "onehot", "mixed"]
MAX_MIXED_CODES = 32
"""What has more values than this is a number rather than a code, to encode="mixed"."""
MAX_ONEHOT_WIDTH = 65_536
"""A one-hot layer wider than this is surely a mistake (a space without a small highest code)."""
MAX_CHOICE_WIDTH = 1024
"""Choices (Discrete, MultiDiscrete) with more codes than this are scaled instead, unless encode="onehot" is asked for."""


class ObservationEncoder(nn.Module):
    """Flatten observations [rows, *shape] of an env to float32 [rows, width].

    encode="scale": whole numbers are divided by the largest magnitude that their Box allows (pixels by 255, codes by the
        highest code), so they lie in [-1, 1]; floats pass unchanged; choices (Discrete, MultiDiscrete) become one-hot.
    encode="onehot": every whole number becomes `high - low + 1` numbers, one of which is 1. A Box of floats is refused;
        floats beside whole numbers, in a structured space, pass unchanged.
    encode="mixed": the same for whole numbers of at most MAX_MIXED_CODES values; those of more are scaled.

    The leaves of a structured space stand behind one another, in the space's order.
    """

    def __init__(self, space: spaces.Box, encode: Encode = "scale") -> None:
        super().__init__()
        if not isinstance(space, spaces.Box):
            raise SpaceError(f"this policy reads Box observations, got {space}; write your own encoder for other spaces")
        if encode not in get_args(Encode):
            raise ConfigError(f"encode must be one of {', '.join(get_args(Encode))}, got {encode!r}")
        self.structure = structure_of(space)
        leaves = [leaf for leaf in self.structure.leaves if leaf.size]
        if encode != "scale" and all(leaf.dtype.kind == "f" for leaf in leaves):
            raise ConfigError(f"encode={encode!r} needs integer observations, got {space.dtype}; use encode='scale'")
        parts = [_encoder(leaf, encode) for leaf in leaves]
        self.width = sum(part.width for part in parts)
        if encode != "scale" and self.width > MAX_ONEHOT_WIDTH:
            raise ConfigError(f"encode={encode!r} would make {self.width} inputs of {space}; at most {MAX_ONEHOT_WIDTH} go")
        self.leaf_widths = [(leaf, part.width) for leaf, part in zip(leaves, parts, strict=True)]
        """Each leaf, and how many of the numbers are its."""
        if len(parts) > 1 and not self.structure.is_bytes and all(isinstance(part, ScaleLeaf) for part in parts):
            parts = [_whole_row(parts)]  # faster than one by one
        self.parts: Any = nn.ModuleList(parts)

    def forward(self, observations: Tensor) -> Tensor:
        """observations: [rows, *shape]. Returns float32 [rows, width]."""
        if len(self.parts) == 1:
            return self.parts[0](observations)  # type: ignore[no-any-return]
        return torch.cat([part(self.structure.stored(observations, part.leaf)) for part in self.parts], 1)


class ScaleLeaf(nn.Module):
    """Numbers, times a factor each where there is a `scale`."""

    def __init__(self, leaf: Leaf, width: int, scale: Tensor | None) -> None:
        super().__init__()
        self.leaf, self.width = leaf, width
        self.scale: Tensor | None
        self.register_buffer("scale", scale, persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        flat = values.reshape(values.shape[0], self.width).float()
        return flat if self.scale is None else flat * self.scale


class OneHotLeaf(nn.Module):
    """For the i-th whole number `sizes[i]` numbers, counted from `low[i]`, one of which is 1; where there are more than `most`,
    one number instead, the whole number times `factors[i]`."""

    def __init__(self, leaf: Leaf, most: int | None = None) -> None:
        super().__init__()
        low, sizes = leaf.low.reshape(-1).astype(np.int64), _sizes(leaf)
        scaled = sizes > (2**31 if most is None else most)
        low, sizes = np.where(scaled, 0, low), np.where(scaled, 1, sizes)
        self.leaf, self.width, self.low, self.sizes = leaf, int(sizes.sum()), low, sizes
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) - low
        self.offset: Tensor
        self.register_buffer("offset", torch.as_tensor(first, dtype=torch.int64), persistent=False)
        self.factors: Tensor | None
        """0 where a number becomes one-hot. None: all do."""
        factors = leaf_scale(leaf) if scaled.any() else None
        self.register_buffer("factors", None if factors is None else factors * torch.from_numpy(scaled), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        numbers = values.reshape(values.shape[0], self.leaf.size)
        index, ones = numbers.long(), torch.ones((), device=numbers.device)
        if self.factors is not None:
            index = torch.where(self.factors > 0, 0, index)
            ones = torch.where(self.factors > 0, numbers.float() * self.factors, 1.0)
        out = torch.zeros(index.shape[0], self.width, device=index.device)
        return out.scatter_(1, index + self.offset, ones.expand(index.shape))


def _encoder(leaf: Leaf, encode: Encode) -> ScaleLeaf | OneHotLeaf:
    if leaf.dtype.kind == "f":
        return ScaleLeaf(leaf, leaf.size, None)
    if encode == "scale" and not leaf.is_choice:
        return ScaleLeaf(leaf, leaf.size, leaf_scale(leaf))
    sizes = _sizes(leaf)
    most = MAX_MIXED_CODES if encode == "mixed" else None
    width = int(sizes.sum() if most is None else np.where(sizes > most, 1, sizes).sum())
    if encode != "scale" and width > MAX_ONEHOT_WIDTH:
        raise ConfigError(f"encode={encode!r} would make {width} inputs of {leaf.space}; at most {MAX_ONEHOT_WIDTH} go")
    if (encode == "scale" and width > MAX_CHOICE_WIDTH) or (most is not None and (sizes > most).all()):
        return ScaleLeaf(leaf, leaf.size, leaf_scale(leaf))
    return OneHotLeaf(leaf, most)


def _sizes(leaf: Leaf) -> np.ndarray[Any, Any]:
    """int64[size]: how many values each whole number can have; above 2^31, that."""
    pairs = zip(leaf.low.reshape(-1), leaf.high.reshape(-1), strict=True)
    return np.array([min(int(high) - int(low) + 1, 2**31) for low, high in pairs], np.int64)


def leaf_scale(leaf: Leaf) -> Tensor | None:
    """What brings whole numbers into [-1, 1]: 1 over the largest magnitude allowed. None where nothing is to be done."""
    if leaf.dtype.kind == "f":
        return None
    low, high = leaf.low.reshape(-1).astype(np.float64), leaf.high.reshape(-1).astype(np.float64)
    largest = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)
    return None if (largest == 1).all() else torch.as_tensor(1.0 / largest, dtype=torch.float32)


def _whole_row(parts: list[Any]) -> ScaleLeaf:
    """One encoder for leaves of one dtype."""
    width = sum(part.width for part in parts)
    if all(part.scale is None for part in parts):
        return ScaleLeaf(parts[0].leaf, width, None)
    factors = [torch.ones(part.width) if part.scale is None else part.scale for part in parts]
    return ScaleLeaf(parts[0].leaf, width, torch.cat(factors))
