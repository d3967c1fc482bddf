"""From a list of info dicts, one per env that has something to say, to Gymnasium's dict of arrays with `_key` masks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

SCALARS: dict[type, Any] = {float: np.float64, int: np.int64, bool: np.bool_}


def vector_infos(infos: Iterable[dict[str, Any]], num_envs: int) -> dict[str, Any]:
    """Each key becomes an array with one entry per env, beside a bool[num_envs] `_key`; nested dicts likewise.

    Numbers and equally shaped arrays keep a numeric dtype; anything else (None, text, ragged or mixed values) makes an
    object array, so that no value is changed.
    """
    merged: dict[str, Any] = {}
    for info in infos:
        _add(merged, info, info["env_index"], num_envs)
    merged.pop("env_index", None)
    merged.pop("_env_index", None)
    return merged


def _add(merged: dict[str, Any], info: dict[str, Any], index: int, num_envs: int) -> None:
    for key, value in info.items():
        column, mask = merged.get(key), merged.get(f"_{key}")
        if mask is None:
            merged[f"_{key}"] = mask = np.zeros(num_envs, np.bool_)
            column = {} if type(value) is dict else _new_column(value, num_envs)
        if type(value) is dict and type(column) is dict:
            _add(column, value, index, num_envs)
        else:
            column = _put(column, mask, value, index, num_envs)
        merged[key] = column
        mask[index] = True


def _layout(value: Any) -> tuple[Any, tuple[int, ...]]:
    """dtype and shape of the column that keeps such a value as it is."""
    dtype = SCALARS.get(type(value))
    if dtype is not None:
        return (dtype, ()) if dtype is not np.int64 or -(2**63) <= value < 2**63 else (np.object_, ())
    if isinstance(value, (np.number, np.bool_, np.ndarray)):
        return value.dtype, value.shape
    return np.object_, ()


def _new_column(value: Any, num_envs: int) -> Any:
    dtype, shape = _layout(value)
    return np.full(num_envs, None, object) if dtype is np.object_ else np.zeros((num_envs, *shape), dtype)


def _put(column: Any, mask: Any, value: Any, index: int, num_envs: int) -> Any:
    """The column with the value in it: an object array from now on, if the value does not fit."""
    if type(column) is dict or (column.dtype != object and (column.dtype, column.shape[1:]) != _layout(value)):
        mixed = np.full(num_envs, None, object)
        for row in np.flatnonzero(mask):
            mixed[row] = _row(column, int(row)) if type(column) is dict else column[row]
        column = mixed
    column[index] = value
    return column


def _row(column: dict[str, Any], row: int) -> dict[str, Any]:
    """One env's dict, out of merged ones."""
    return {
        key: _row(value, row) if type(value) is dict else value[row]
        for key, value in column.items()
        if f"_{key}" in column and column[f"_{key}"][row]
    }
