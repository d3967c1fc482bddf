"""How a structured observation lies in a flat row of a batch, and the way back.

A row holds the leaves of a space in the space's own order (never in the order of an observation's keys):

| leaves | the row |
|---|---|
| one Box with at least one axis | the Box itself |
| one number: Discrete, or a Box of shape () | a Box of shape (1,), so that a batch has shape (rows, 1) |
| one MultiDiscrete or MultiBinary | a Box of its shape |
| all of one dtype | a Box of that dtype: the leaves, one behind the other |
| of several dtypes | a Box of bytes (uint8): every leaf at an offset that its dtype is aligned to, zeros between |

Discrete and MultiDiscrete are stored from 0, so that they may index a table; `unflatten` adds the space's `start` again.
All else is stored bit for bit, so `unflatten` returns views.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.errors import ShapeError, SpaceError

Array = np.ndarray[Any, Any]
Path = tuple[Any, ...]

FIXED = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
VARIABLE = (spaces.Text, spaces.Sequence, spaces.Graph, spaces.OneOf)
WIDEST = 8
"""Bytes of the widest number that numpy and torch both know."""


def structure_of(space: spaces.Space[Any]) -> Structure:
    """The structure behind a row's space (`single_observation_space`), or the structure that an env's space would get.

    Raises SpaceError with the path of a part that has no fixed size, or that holds nothing at all.
    """
    return space.structure if isinstance(space, StructuredBox) else Structure(space)


def unflatten(flat: Any, structure: Structure) -> Any:
    """Observations in the env's own structure, from rows: dicts and tuples of arrays, each leaf in its own dtype.

    flat: numpy array or torch tensor [..., *row shape], such as a batch [rows, n] or a rollout [horizon, rows, n]
    Each leaf has shape [..., *leaf shape] and is a view of `flat`; only choices that do not start at 0 are copied. A numpy
    array whose rows are not contiguous is copied. Raises ShapeError if `flat` holds no such rows.
    """
    return structure.unflatten(flat)


@dataclass(frozen=True, eq=False)
class Leaf:
    """One array of a structure. `offset` and `length` count numbers of the row's dtype: bytes in a row of bytes."""

    path: Path
    space: spaces.Space[Any]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """As it is stored."""
    own_dtype: np.dtype[Any]
    start: Any
    """Subtracted where it is stored; None for 0."""
    low: Array
    high: Array
    """Bounds of what is stored."""
    offset: int = 0
    length: int = 0

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def is_choice(self) -> bool:
        """Whether its numbers are codes without an order."""
        return isinstance(self.space, (spaces.Discrete, spaces.MultiDiscrete))


class Structure:
    """The leaves of a space, and where each stands in a row.

    Attributes: space, the env's own; leaves; box, the space of a row: a plain Box stays itself (`is_plain`), all else is a
    StructuredBox; shape and dtype of a row; is_bytes, whether rows are bytes that hold several dtypes.
    """

    def __init__(self, space: spaces.Space[Any], name: str = "observation_space") -> None:
        parts = [_leaf(path, part) for path, part in fixed_leaves(space, name)]
        if not sum(leaf.size for leaf in parts):
            raise SpaceError(f"{name} {space} is empty: it holds zero numbers, so there is nothing to learn from")
        dtypes = {leaf.dtype for leaf in parts if leaf.size}
        self.space: spaces.Space[Any] = copy.deepcopy(space)
        self.is_bytes = len(dtypes) > 1
        self.dtype = np.dtype(np.uint8) if self.is_bytes else dtypes.pop()
        self.leaves, end = _placed(parts, self.is_bytes)
        alone = not isinstance(space, (spaces.Dict, spaces.Tuple))
        self.shape: tuple[int, ...] = self.leaves[0].shape or (1,) if alone else (end,)
        self.size = end
        self._tree = _tree(space, iter(range(len(self.leaves))))
        self.is_plain = isinstance(space, spaces.Box) and space.shape != () and space.dtype == self.dtype
        self.box: spaces.Box = self.space if self.is_plain else StructuredBox(self)  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and bool(self.space == other.space)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype.str))

    def __repr__(self) -> str:
        return f"Structure({self.space}, as {self.dtype}{list(self.shape)})"

    def unflatten(self, flat: Any) -> Any:
        """See `pufferlib.unflatten`."""
        leading = self._leading(flat)
        leaves = [self._own(self._typed(flat, leading, leaf), leaf) for leaf in self.leaves]
        return _build(self._tree, leaves)

    def stored(self, flat: Any, leaf: Leaf) -> Any:
        """One leaf as it is stored, choices counting from 0: a view [..., *leaf shape]."""
        return self._typed(flat, self._leading(flat), leaf)

    def flatten(self, value: Any) -> Array:
        """The row of a member of `space`, which is not checked: what `emulate` does with what an env returns is stricter."""
        row = np.zeros(self.shape, self.dtype)
        for leaf in self.leaves:
            part = value
            for key in leaf.path:
                part = part[key]
            stored = part if leaf.start is None else np.asarray(part, np.int64) - leaf.start
            self.stored(row, leaf)[...] = stored
        return row

    def _leading(self, flat: Any) -> tuple[int, ...]:
        axes = len(flat.shape) - len(self.shape)
        dtype = self.dtype if isinstance(flat, np.ndarray) else _torch_dtype(self.dtype)
        if axes < 0 or tuple(flat.shape[axes:]) != self.shape or flat.dtype != dtype:
            shape = ", ".join(map(str, self.shape))
            raise ShapeError(f"rows of {self.space} are {dtype} [..., {shape}], got {flat.dtype} {list(flat.shape)}")
        return tuple(flat.shape[:axes])

    def _typed(self, flat: Any, leading: tuple[int, ...], leaf: Leaf) -> Any:
        is_numpy = isinstance(flat, np.ndarray)
        if not leaf.size:
            shape = leading + leaf.shape
            return np.zeros(shape, leaf.dtype) if is_numpy else flat.new_empty(shape, dtype=_torch_dtype(leaf.dtype))
        if len(self.shape) > 1:  # one leaf, and the row is it
            return flat
        part = flat[..., leaf.offset : leaf.offset + leaf.length]
        if self.is_bytes and leaf.dtype != self.dtype:
            if is_numpy:
                part = (part if part.flags.c_contiguous or part.strides[-1] == 1 else part.copy()).view(leaf.dtype)
            else:
                part = part.view(_torch_dtype(leaf.dtype))
        return part.reshape(leading + leaf.shape)

    def _own(self, part: Any, leaf: Leaf) -> Any:
        if leaf.start is None and leaf.own_dtype == leaf.dtype:
            return part
        if isinstance(part, np.ndarray):
            return (part + (0 if leaf.start is None else leaf.start)).astype(leaf.own_dtype)
        import torch

        start = torch.as_tensor(0 if leaf.start is None else leaf.start, device=part.device)
        return (part + start).to(_torch_dtype(leaf.own_dtype))


class StructuredBox(spaces.Box):
    """The space of a row that holds another space's leaves: a Box of numbers or bytes, with the `structure` behind them.

    Equal only to a StructuredBox of an equal structure. `sample` and `contains` speak of the env's own space.
    """

    structure: Structure

    def __init__(self, structure: Structure, seed: int | np.random.Generator | None = None) -> None:
        self.structure = structure
        if structure.is_bytes:
            super().__init__(0, 255, structure.shape, np.uint8, seed)
            return
        leaves = [leaf for leaf in structure.leaves if leaf.size]
        low = np.concatenate([leaf.low.reshape(-1) for leaf in leaves]).reshape(structure.shape)
        high = np.concatenate([leaf.high.reshape(-1) for leaf in leaves]).reshape(structure.shape)
        super().__init__(low, high, structure.shape, structure.dtype.type, seed)

    def seed(self, seed: Any = None) -> Any:
        """Seeds the env's own space as well, from which samples come."""
        self.structure.space.seed(seed)
        return super().seed(seed)

    def sample(self, mask: None = None, probability: None = None) -> Array:
        """The row of a sample of the env's own space."""
        return self.structure.flatten(self.structure.space.sample())

    def contains(self, x: Any) -> bool:
        """Whether x is a row, and what it holds is in the env's own space."""
        structure = self.structure
        if not isinstance(x, np.ndarray) or x.dtype != self.dtype or x.shape != self.shape:
            return False
        return bool(structure.space.contains(structure.unflatten(x)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructuredBox) and self.structure == other.structure

    __hash__ = None  # type: ignore[assignment]  # as every Box

    def __repr__(self) -> str:
        return f"StructuredBox({self.structure.space}, as {self.dtype}{list(self.shape)})"


def fixed_leaves(space: Any, name: str, path: Path = ()) -> Iterator[tuple[Path, spaces.Space[Any]]]:
    """(path, leaf), in the space's own order. Raises SpaceError for a part without a fixed size; `name` is what it is called."""
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from fixed_leaves(part, name, (*path, key))
    elif isinstance(space, spaces.Tuple):
        for index, part in enumerate(space.spaces):
            yield from fixed_leaves(part, name, (*path, index))
    elif isinstance(space, FIXED):
        yield path, space
    else:
        raise unsupported(space, path_text(name, path))


def unsupported(space: Any, path: str) -> SpaceError:
    """The error for a space that has no place in a row."""
    if not isinstance(space, spaces.Space):
        return SpaceError(f"{path} must be a gymnasium space, got {space!r}")
    kind = type(space).__name__
    why = "its values have no fixed size" if isinstance(space, VARIABLE) else "this class is not known"
    return SpaceError(
        f"{path} is a {kind} space, and {why}; wrap the env so that it gives a space of a fixed size there, made of "
        f"Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple: {space}"
    )


def path_text(name: str, path: Path) -> str:
    """observation_space['bag'][2]"""
    return name + "".join(f"[{key!r}]" for key in path)


def _leaf(path: Path, space: Any) -> Leaf:
    own = np.dtype(space.dtype.type)  # in native byte order, and the very object that arrays of it carry
    shape = tuple(space.shape or ())
    if isinstance(space, spaces.Box):
        if own.kind not in "biuf" or own.itemsize > WIDEST:
            raise SpaceError(f"{path_text('a part of the space', path)} has dtype {own}, at most 64 bits are supported: {space}")
        return Leaf(path, space, shape, own, own, None, space.low, space.high)
    if isinstance(space, spaces.MultiBinary):
        return Leaf(path, space, shape, own, own, None, np.zeros(shape, own), np.ones(shape, own))
    n = np.asarray(space.n if isinstance(space, spaces.Discrete) else space.nvec).astype(np.int64)
    dtype = own if not n.size or n.max() - 1 <= np.iinfo(own).max else np.dtype(np.int64)
    start = np.asarray(space.start) if np.any(space.start) else None
    return Leaf(path, space, shape, dtype, own, start, np.zeros(shape, dtype), (n - 1).astype(dtype))


def _placed(leaves: list[Leaf], in_bytes: bool) -> tuple[tuple[Leaf, ...], int]:
    """The leaves with their offsets, and the length of a row, which keeps the next row aligned."""
    placed, end, widest = [], 0, 1
    for leaf in leaves:
        unit = leaf.dtype.itemsize if in_bytes else 1
        end = -(-end // unit) * unit
        placed.append(replace(leaf, offset=end, length=leaf.size * unit))
        end += leaf.size * unit
        widest = max(widest, unit)
    return tuple(placed), -(-end // widest) * widest


def _tree(space: Any, numbers: Iterator[int]) -> Any:
    """Where each leaf, by its number, stands: (keys, parts) for a Dict, a list of parts for a Tuple."""
    if isinstance(space, spaces.Dict):
        return tuple(space.spaces), [_tree(part, numbers) for part in space.spaces.values()]
    if isinstance(space, spaces.Tuple):
        return [_tree(part, numbers) for part in space.spaces]
    return next(numbers)


def _build(tree: Any, leaves: list[Any]) -> Any:
    if isinstance(tree, int):
        return leaves[tree]
    if isinstance(tree, list):
        return tuple(_build(part, leaves) for part in tree)
    keys, parts = tree
    return {key: _build(part, leaves) for key, part in zip(keys, parts, strict=True)}


def _torch_dtype(dtype: np.dtype[Any]) -> Any:
    import torch

    return getattr(torch, dtype.name)
