"""From a list of info dicts, one per env that has something to say, to Gymnasium's dict of arrays with `_key` masks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def vector_infos(infos: Iterable[dict[str, Any]], num_envs: int) -> dict[str, Any]:
    """Each key becomes an array with one entry per env, beside a bool[num_envs] `_key`; nested dicts likewise.

    Numbers and equally shaped arrays keep a numeric dtype; anything else (None, text, ragged or mixed values) makes an
    object array, so that no value is changed.
    """
    indexed = [(info["env_index"], {key: value for key, value in info.items() if key != "env_index"}) for info in infos]
    return _merge(indexed, num_envs)


def _merge(indexed: list[tuple[int, dict[str, Any]]], num_envs: int) -> dict[str, Any]:
    columns: dict[str, list[tuple[int, Any]]] = {}
    for index, info in indexed:
        for key, value in info.items():
            columns.setdefault(key, []).append((index, value))
    merged: dict[str, Any] = {}
    for key, entries in columns.items():
        rows = [index for index, _ in entries]
        if all(isinstance(value, dict) for _, value in entries):
            merged[key] = _merge(entries, num_envs)
        else:
            merged[key] = _column(rows, [value for _, value in entries], num_envs)
        mask = np.zeros(num_envs, np.bool_)
        mask[rows] = True
        merged[f"_{key}"] = mask
    return merged


def _column(rows: list[int], values: list[Any], num_envs: int) -> np.ndarray[Any, Any]:
    numeric = all(isinstance(value, (bool, int, float, np.number, np.bool_, np.ndarray)) for value in values)
    if numeric and len({np.shape(value) for value in values}) == 1:
        try:
            stacked = np.asarray(values)
        except OverflowError:
            stacked = np.empty(0, object)
        if stacked.dtype != object:
            column = np.zeros((num_envs, *stacked.shape[1:]), stacked.dtype)
            column[rows] = stacked
            return column
    column = np.full(num_envs, None, object)
    for row, value in zip(rows, values, strict=True):
        column[row] = value
    return column
