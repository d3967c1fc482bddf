"""From the rows of a batch's actions to what the envs take.

| env's action space | a row's action |
|---|---|
| Box | Box float32; () becomes (1,); clipped to the env's bounds when it reaches the env |
| Discrete(n, start) | Discrete(n); the env gets start + index |
| MultiDiscrete | MultiDiscrete of the flattened nvec; the env gets its own shape and start |
| MultiBinary | MultiDiscrete of twos; the env gets int8 of its own shape |
| Dict, Tuple, nested, of the three above | MultiDiscrete: the heads of all parts, in the space's order |
| Dict, Tuple, nested, of Boxes | Box float32: their numbers, in the space's order |
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.errors import ActionError, SpaceError
from pufferlib.native._emulation import choose
from pufferlib.structure import Path, fixed_leaves, path_text

TABLE_SIZE = 4096


class ActionCodec:
    """Turns rows of actions into what the envs take. `space` is the row's action space."""

    def __init__(self, space: spaces.Space[Any], name: str = "action_space") -> None:
        leaves = list(fixed_leaves(space, name))
        boxes = [(path, leaf) for path, leaf in leaves if isinstance(leaf, spaces.Box)]
        if boxes and len(boxes) < len(leaves):
            raise mixed(leaves, name)
        if not sum(_numbers(leaf) for _, leaf in leaves):
            raise SpaceError(f"{name} {space} is empty: it holds zero numbers, so there is nothing to choose")
        for path, box in boxes:
            if box.dtype.kind != "f":
                what = f"{path_text(name, path)} {box}"
                raise SpaceError(f"{what}: only Boxes of floats are supported for actions; use Discrete or MultiDiscrete")
        self.env_space = space
        self.space: spaces.Space[Any]
        self._table: list[Any] = []
        """The choices of a Discrete that stands alone."""
        if boxes:
            low, high = (_joined([getattr(box, bound) for _, box in boxes], boxes) for bound in ("low", "high"))
            self.space = spaces.Box(low, high, dtype=np.float32)
        else:
            self._sizes: Any = np.concatenate([_sizes(leaf) for _, leaf in leaves])
            self.space = spaces.MultiDiscrete(self._sizes)
            if isinstance(space, spaces.Discrete):
                self._sizes = int(space.n)
                self.space = spaces.Discrete(self._sizes)
                if space.n <= TABLE_SIZE:
                    self._table = _choices(self._sizes, int(space.start), space.dtype)

    def decode(self, actions: Array, first_row: int = 0) -> Any:
        """One entry per row (int32 or float32), as the env takes it. ActionError names the row, counted from `first_row`."""
        space = self.env_space
        if self._table and actions.itemsize == 4 and actions.flags.c_contiguous:
            if (chosen := choose(self._table, actions)) is not None:
                return chosen
            self._refuse(actions, (actions < 0) | (actions >= self._sizes), first_row)
        if isinstance(space, spaces.Discrete):
            if actions.view(np.uint32).max() >= self._sizes:  # negative numbers are large ones there
                self._refuse(actions, (actions < 0) | (actions >= self._sizes), first_row)
            return _chosen(space, actions)
        if isinstance(self.space, spaces.Box):
            if np.isnan(actions).any():
                self._refuse(actions, np.isnan(actions), first_row)
        elif actions.min() < 0 or (actions >= self._sizes).any():
            self._refuse(actions, (actions < 0) | (actions >= self._sizes), first_row)
        return _own(space, actions.reshape(len(actions), -1), 0)[0]

    def _refuse(self, actions: Array, wrong: Array, first_row: int) -> NoReturn:
        row = int(np.argmax(wrong.reshape(len(actions), -1).any(axis=1)))
        raise ActionError(f"the action of row {first_row + row} is {actions[row]}, which is not in {self.space}")


def mixed(leaves: Sequence[tuple[Path, Any]], name: str) -> SpaceError:
    """The error for choices and floats in one action."""
    kinds = ", ".join(f"{path_text(name, path)} is {leaf}" for path, leaf in leaves)
    return SpaceError(
        f"{name} mixes Boxes of floats with choices: {kinds}; make all of them Boxes, or all of them choices (a Box in steps), "
        f"by wrapping the env"
    )


def _own(space: Any, columns: Array, first: int) -> tuple[Any, int]:
    """The value of every row for one part of the space, from columns [rows, numbers] on, and the column behind it.

    Every array is the env's own: a copy, which it may change.
    """
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts: list[Any] = []
        end = first
        for part in space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces:
            values, end = _own(part, columns, end)
            parts.append(values)
        rows: list[Any] = list(zip(*parts, strict=True)) if parts else [()] * len(columns)
        if isinstance(space, spaces.Tuple):
            return rows, end
        keys = tuple(space.spaces)
        if len(keys) == 1:
            return [{keys[0]: value} for value in parts[0]], end
        if len(keys) == 2:  # a third of the general way's time
            one, two = keys
            return [{one: a, two: b} for a, b in rows], end
        return list(map(dict, map(zip, itertools.repeat(keys), rows))), end
    end = first + _numbers(space)
    if isinstance(space, spaces.Discrete):
        return _chosen(space, columns[:, first]), end
    shaped = columns[:, first:end].reshape(len(columns), *(space.shape or ()))
    if isinstance(space, spaces.Box):
        clipped = np.clip(shaped.astype(space.dtype, copy=False), space.low, space.high)
        return (clipped if space.shape else [np.asarray(action) for action in clipped]), end
    if isinstance(space, spaces.MultiDiscrete):
        return (shaped + space.start).astype(space.dtype), end
    return shaped.astype(np.int8), end


def _chosen(space: spaces.Discrete, column: Array) -> list[Any]:
    """What an env takes for indices, which are in range."""
    if space.n <= TABLE_SIZE:
        table = _choices(int(space.n), int(space.start), space.dtype)
        return choose(table, np.ascontiguousarray(column, np.int32))  # type: ignore[return-value]
    return list((column.astype(np.int64) + int(space.start)).astype(space.dtype))


@functools.cache
def _choices(n: int, start: int, dtype: np.dtype[Any]) -> list[Any]:
    """Of the type that a Discrete's samples have; Gymnasium checks that faster than an int."""
    return list((np.arange(n, dtype=np.int64) + start).astype(dtype))


def _numbers(space: Any) -> int:
    return int(np.prod(space.shape or ()))


def _sizes(space: Any) -> Array:
    if isinstance(space, spaces.Discrete):
        return np.array([space.n], np.int64)
    if isinstance(space, spaces.MultiDiscrete):
        return np.asarray(space.nvec.reshape(-1).astype(np.int64))
    return np.full(_numbers(space), 2, np.int64)


def _joined(bounds: list[Array], boxes: list[tuple[Path, Any]]) -> Array:
    """The bounds of all Boxes as float32; a Box that stands alone keeps its shape."""
    with np.errstate(over="ignore"):  # float64 bounds beyond float32 are no bounds there
        if len(boxes) == 1 and boxes[0][0] == ():
            return np.asarray(bounds[0].reshape(boxes[0][1].shape or (1,)).astype(np.float32))
        return np.concatenate([bound.reshape(-1).astype(np.float32) for bound in bounds])
