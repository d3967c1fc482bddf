"""From a list of info dicts, one per env that has something to say, to Gymnasium's dict of arrays with `_key` masks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

# Values of these types go into columns of these dtypes; whole numbers beyond 64 bits into object columns.
SCALARS = {float: np.dtype(np.float64), int: np.dtype(np.int64), bool: np.dtype(np.bool_)}
OBJECT = np.dtype(np.object_)


def vector_infos(infos: Iterable[dict[str, Any]], num_envs: int) -> dict[str, Any]:
    """Each key becomes an array with one entry per env, beside a bool[num_envs] `_key`; nested dicts likewise.

    Numbers and equally shaped arrays keep a numeric dtype; anything else (None, text, ragged or mixed values) makes an
    object array, so that no value is changed.
    """
    merged: dict[str, Any] = {}
    for info in infos:
        _add(merged, info, info["env_index"], num_envs, "env_index")
    return merged


def _add(merged: dict[str, Any], info: dict[str, Any], index: int, num_envs: int, skipped: str = "") -> None:
    for key, value in info.items():
        if key == skipped:
            continue
        mask = merged.get(f"_{key}")
        if mask is None:
            merged[f"_{key}"] = mask = np.zeros(num_envs, np.bool_)
            merged[key] = {} if type(value) is dict else _new_column(value, num_envs)
        column = merged[key]
        if type(value) is dict and type(column) is dict:
            if value:
                _add(column, value, index, num_envs)
        elif type(column) is not dict and _layout(value) == (column.dtype, column.shape[1:]):
            column[index] = value
        else:
            merged[key] = column = _object_column(column, mask, num_envs)
            column[index] = value
        mask[index] = True


def _layout(value: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """dtype and shape of the column that keeps such a value as it is."""
    dtype = SCALARS.get(type(value))
    if dtype is not None and (type(value) is not int or -(2**63) <= value < 2**63):
        return dtype, ()
    if isinstance(value, (np.number, np.bool_, np.ndarray)):
        return value.dtype, value.shape
    return OBJECT, ()


def _new_column(value: Any, num_envs: int) -> Any:
    dtype, shape = _layout(value)
    return np.full(num_envs, None, object) if dtype is OBJECT else np.zeros((num_envs, *shape), dtype)


def _object_column(column: Any, mask: Any, num_envs: int) -> Any:
    """The same values where the mask is set, in a column that takes anything."""
    mixed = np.full(num_envs, None, object)
    for row in np.flatnonzero(mask):
        mixed[row] = _row(column, int(row)) if type(column) is dict else column[row]
    return mixed


def _row(column: dict[str, Any], row: int) -> dict[str, Any]:
    """One env's dict, out of merged ones."""
    return {
        key: _row(value, row) if type(value) is dict else value[row]
        for key, value in column.items()
        if f"_{key}" in column and column[f"_{key}"][row]
    }
