from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

def choose(table: list[Any], actions: Array) -> list[Any] | None: ...
def any_ended(terminals: Array, truncations: Array) -> bool: ...

class Stepper:
    all_finite: bool
    index: int
    result: Any
    def __init__(
        self,
        dtype: np.dtype[Any],
        shape: tuple[int, ...] | None,
        pack: Callable[[Any], bytes],
        reward_value: Callable[[Any], float],
        flag_value: Callable[[Any, str], bool],
        info_value: Callable[[Any], dict[Any, Any]],
        no_result: Any,
    ) -> None: ...
    def step(
        self,
        steps: list[Callable[[Any], Any]],
        choices: list[Any],
        observations: Array,
        rewards: Array,
        terminals: Array,
        truncations: Array,
        masks: Array,
        returns: Array,
    ) -> tuple[list[int], dict[int, dict[Any, Any]]]: ...

def row_bytes(array: Array) -> bytes: ...
def holds_nan(array: Array) -> bool: ...
def all_finite(array: Array) -> bool: ...
