"""Building and sampling spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces


def make_space(shape: Any, low: float = -np.inf, high: float = np.inf, dtype: Any = np.float32) -> spaces.Space[Any]:
    """A Box of `shape` (an int means one axis); a mapping of names to shapes makes a Dict of such Boxes."""
    if isinstance(shape, Mapping):
        return spaces.Dict({name: make_space(part, low, high, dtype) for name, part in shape.items()})
    if isinstance(shape, spaces.Space):
        return shape
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        low, high = max(low, info.min), min(high, info.max)
    return spaces.Box(low, high, (shape,) if isinstance(shape, int) else tuple(shape), kind.type)
