"""Looking at whole batches of observations for what their spaces do not allow: NaN, and numbers outside of a Box's bounds.

Types, shapes and keys are not checked here: they are, one observation at a time, wherever it is copied.
"""

from __future__ import annotations

import warnings
from typing import Literal, NoReturn

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.emulation.leaves import NAME
from pufferlib.errors import EnvValueError, NonFiniteEnvError
from pufferlib.native._emulation import holds_nan
from pufferlib.structure import Leaf, Structure, path_text

FIRST_STEPS = 100


class ObservationCheck:
    """`check(observations, rows_per_env, first_env)` after every step.

    | mode | NaN | outside of a Box's bounds |
    |---|---|---|
    | first (default) | an error, always | a warning, once, if it happens in the first 100 steps |
    | always | an error, always | an error, always |
    | off | not looked for | not looked for |
    """

    def __init__(self, structure: Structure) -> None:
        self.mode: Literal["first", "always", "off"] = "first"
        self._structure = structure
        self._left = FIRST_STEPS
        self._all_float = structure.dtype.kind == "f"
        self._floats = [leaf for leaf in structure.leaves if leaf.size and leaf.dtype.kind == "f"]
        self._bounded = [leaf for leaf in structure.leaves if leaf.size and _is_bounded(leaf)]
        self._has_nothing = not self._floats and not self._bounded

    def __call__(self, observations: Array, rows_per_env: int, first_env: int, living: Array | None = None) -> None:
        """observations: [rows, *shape]; living: bool[rows], rows to look at. Raises NonFiniteEnvError and EnvValueError."""
        if self._has_nothing or self.mode == "off":
            return
        if self._all_float:
            found = _holds_nan(observations)
        else:
            found = any(_holds_nan(self._structure.stored(observations, leaf)) for leaf in self._floats)
        if found:
            self._refuse_nan(observations, rows_per_env, first_env)
        if self._left or self.mode == "always":
            self._check_bounds(observations, rows_per_env, first_env, living)

    def _refuse_nan(self, observations: Array, rows_per_env: int, first_env: int) -> NoReturn:
        for leaf in self._floats:
            part = self._structure.stored(observations, leaf)
            wrong = np.isnan(part)
            if wrong.any():
                row, name = _place(leaf, wrong)
                raise NonFiniteEnvError(f"env {first_env + row // rows_per_env} returned NaN in its {name}: {part[row]}")
        raise NonFiniteEnvError(f"an env from {first_env} on returned NaN")  # written by another thread meanwhile

    def _check_bounds(self, observations: Array, rows_per_env: int, first_env: int, living: Array | None) -> None:
        self._left = max(self._left - 1, 0)
        for leaf in self._bounded:
            part = self._structure.stored(observations, leaf)
            wrong = (part < leaf.low) | (part > leaf.high)
            if living is not None:
                wrong[~living] = False
            if not wrong.any():
                continue
            row, name = _place(leaf, wrong)
            at = tuple(np.argwhere(wrong)[0])
            text = (
                f"env {first_env + row // rows_per_env} returned {name}={part[at]}, outside of its space's bounds, "
                f"{leaf.low[at[1:]]} to {leaf.high[at[1:]]}"
            )
            if self.mode == "always":
                raise EnvValueError(text)
            self._left = 0
            text += "; said once: check='always' makes it an error, check='off' is silent"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
            return


def _holds_nan(rows: Array) -> bool:
    """Infinity may be a fair observation."""
    if rows.dtype == np.float16:  # whose arithmetic is slow: beyond infinity's bits, NaN's begin
        return bool((rows.view(np.uint16) & 0x7FFF).max() > 0x7C00)
    if rows.itemsize > 2 and rows.flags.c_contiguous:
        return holds_nan(rows)
    return bool(np.isnan(rows.min()))  # which hands NaN on


def _is_bounded(leaf: Leaf) -> bool:
    """Whether a value of its dtype could lie outside. Choices are checked where they are copied."""
    if not isinstance(leaf.space, spaces.Box) or leaf.dtype.kind == "b":
        return False
    if leaf.dtype.kind == "f":
        return bool(np.isfinite(leaf.low).any() or np.isfinite(leaf.high).any())
    info = np.iinfo(leaf.dtype)
    return bool((leaf.low > info.min).any() or (leaf.high < info.max).any())


def _place(leaf: Leaf, wrong: Array) -> tuple[int, str]:
    """The first wrong number's row and name: observation['pos'][1]."""
    row, *index = (int(i) for i in np.argwhere(wrong)[0])
    return row, path_text(NAME, leaf.path) + (f"[{', '.join(map(str, index))}]" if index else "")
