"""One leaf of an observation: from what an env returned to the bytes of a row, without changing a value."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.errors import EnvTypeError, EnvValueError
from pufferlib.structure import Leaf, path_text

PYTHON = (bool, int, float, list, tuple)
NAME = "observation"


class LeafWriter:
    """`dtype` and `shape` are those of an array that may be copied as it is; dtype is None where none may."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf
        self.name = path_text(NAME, leaf.path)
        self.shape = leaf.shape
        self.dtype = leaf.dtype if isinstance(leaf.space, spaces.Box) else None
        self._first = self._choices = 0
        space = leaf.space
        if isinstance(space, spaces.Discrete) and leaf.dtype.kind in "iu":
            self._first, self._choices = int(space.start), int(space.n)

    def pack(self, value: Any) -> bytes:
        """The leaf's bytes. Raises EnvTypeError or EnvValueError, whose text follows "env 3 "."""
        if self._choices and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            code = int(value) - self._first
            if 0 <= code < self._choices:
                return code.to_bytes(self.leaf.dtype.itemsize, sys.byteorder)
        return self.convert(value).tobytes()

    def convert(self, value: Any) -> Array:
        """The leaf's array as it is stored: of its dtype and shape, choices counting from 0."""
        leaf = self.leaf
        array = value if type(value) is np.ndarray else self._as_array(value)
        if array.shape != leaf.shape:
            raise EnvValueError(f"returned {self.name} of shape {array.shape}, its space has {leaf.shape} ({leaf.space})")
        if array.dtype != leaf.own_dtype:
            self._check_cast(array, isinstance(value, PYTHON))
        if leaf.is_choice:
            array = array.astype(np.int64, copy=False) - (0 if leaf.start is None else leaf.start)
            if ((array < 0) | (array > leaf.high)).any():
                raise EnvValueError(f"returned {self.name}={value!r}, which is not in {leaf.space}")
        elif isinstance(leaf.space, spaces.MultiBinary) and ((array != 0) & (array != 1)).any():
            raise EnvValueError(f"returned {self.name}={value!r}, which is not in {leaf.space}")
        return np.asarray(array.astype(leaf.dtype, copy=False))

    def _as_array(self, value: Any) -> Array:
        if value is None:
            raise EnvTypeError(f"returned None as its {self.name}")
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise EnvValueError(f"returned a value as {self.name} that is no array: {error}") from error
        if array.dtype.kind not in "biuf":
            raise EnvTypeError(f"returned {self.name}={value!r} of type {type(value).__name__}, not an array of numbers")
        return array

    def _check_cast(self, array: Array, plain_python: bool) -> None:
        """Within a kind only: floats to floats, whole numbers in range to whole numbers; Python's own numbers to floats."""
        own = self.leaf.own_dtype
        have, want = array.dtype.kind, own.kind
        if not array.size or have == want == "f" or (plain_python and want == "f" and have in "iuf"):
            return
        if have in "iu" and want in "iu":
            info = np.iinfo(own)
            if array.min() >= info.min and array.max() <= info.max:
                return
            raise EnvValueError(f"returned {self.name} from {array.min()} to {array.max()}, which does not fit {own}")
        if plain_python and want == "b" and have in "biu" and np.isin(array, (0, 1)).all():
            return
        raise EnvTypeError(f"returned {self.name} of dtype {array.dtype}, not {own} as {self.leaf.space}; cast it in the env")
