"""Between an env's own observations and actions and the plain rows of a batch, without changing a value.

| env's space | a row's observation | a row's action |
|---|---|---|
| Box | the same shape and dtype; () becomes (1,) | Box float32; clipped to the env's bounds when it reaches the env |
| Discrete(n, start) | int64 (1,), 0 .. n - 1 | Discrete(n); the env gets start + index |
| MultiDiscrete | int64, same shape, from 0 | MultiDiscrete of the flattened nvec; the env gets its own shape and start |
| MultiBinary | int8, same shape | MultiDiscrete of twos; the env gets int8 of its own shape |
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.errors import ActionError, EnvTypeError, EnvValueError, SpaceError

PLAIN = "Box, Discrete, MultiDiscrete and MultiBinary"


class ObservationCodec:
    """Encodes observations of one space. `box` is the row's space; `identity` tells that an array in it needs no work."""

    def __init__(self, space: spaces.Space[Any], path: str = "observation_space") -> None:
        self.space = space
        self.start: Any = 0
        if isinstance(space, spaces.Box):
            self.box = space if space.shape else spaces.Box(space.low.reshape(1), space.high.reshape(1), dtype=space.dtype.type)
        elif isinstance(space, spaces.Discrete):
            self.start = space.start
            self.box = spaces.Box(0, space.n - 1, (1,), np.int64)
        elif isinstance(space, spaces.MultiDiscrete):
            self.start = space.start
            self.box = spaces.Box(np.zeros_like(space.nvec, np.int64), (space.nvec - 1).astype(np.int64), dtype=np.int64)
        elif isinstance(space, spaces.MultiBinary):
            self.box = spaces.Box(0, 1, space.shape, np.int8)
        else:
            raise unsupported(space, path)
        if not np.prod(self.box.shape):
            raise SpaceError(f"{path} {space} is empty: it holds zero numbers, so there is nothing to learn from")
        self.identity = self.box is space
        self.dtype = self.box.dtype
        self.shape: tuple[int, ...] = self.box.shape
        self._own_shape: tuple[int, ...] = space.shape or ()

    def encode(self, observation: Any) -> Array:
        """An array of the row's shape and dtype, to be copied. Raises EnvTypeError or EnvValueError."""
        array = observation if type(observation) is np.ndarray else _as_array(observation)
        if array.shape != self._own_shape:
            raise EnvValueError(f"returned an observation of shape {array.shape}, its space has {self._own_shape} ({self.space})")
        if array.dtype != self.dtype:
            self._check_cast(array, isinstance(observation, (bool, int, float, list, tuple)))
        if not self.identity:
            array = (array.astype(self.dtype, copy=False) - self.start if np.any(self.start) else array).reshape(self.shape)
            if isinstance(self.space, (spaces.Discrete, spaces.MultiDiscrete)) and ((array < 0) | (array > self.box.high)).any():
                raise EnvValueError(f"returned the observation {observation!r}, which is not in {self.space}")
        return array.astype(self.dtype, copy=False)

    def decode(self, row: Array) -> Any:
        """The env's own observation back from a row, in its own shape, dtype and start."""
        if isinstance(self.space, spaces.Discrete):
            return np.int64(self.start + int(row[0]))
        if isinstance(self.space, spaces.MultiDiscrete):
            return (row + self.start).astype(self.space.dtype)
        return row.reshape(self._own_shape).copy()

    def _check_cast(self, array: Array, plain_python: bool) -> None:
        """Within a kind only: floats to floats, whole numbers in range to whole numbers; Python's own numbers to floats."""
        have, want = array.dtype.kind, self.dtype.kind
        if have == want == "f" or (plain_python and want == "f" and have in "iuf"):
            return
        if have in "iu" and want in "iu":
            info = np.iinfo(self.dtype)
            if array.min() >= info.min and array.max() <= info.max:
                return
            raise EnvValueError(f"returned an observation from {array.min()} to {array.max()}, which does not fit {self.dtype}")
        if plain_python and want == "b" and have in "biu" and np.isin(array, (0, 1)).all():
            return
        raise EnvTypeError(
            f"returned an observation of dtype {array.dtype}, not {self.dtype} as {self.space}; cast it in the env"
        )


class ActionCodec:
    """Turns rows of actions into what the envs take. `space` is the row's action space."""

    def __init__(self, space: spaces.Space[Any], path: str = "action_space") -> None:
        self.env_space = space
        self.space: spaces.Space[Any]
        if isinstance(space, spaces.Discrete):
            self.space = spaces.Discrete(int(space.n))
            self._sizes: Any = int(space.n)
        elif isinstance(space, spaces.MultiDiscrete):
            self._sizes = space.nvec.reshape(-1).astype(np.int64)
            self.space = spaces.MultiDiscrete(self._sizes)
        elif isinstance(space, spaces.MultiBinary):
            self._sizes = np.full(int(np.prod(space.shape or ())), 2, np.int64)
            self.space = spaces.MultiDiscrete(self._sizes)
        elif isinstance(space, spaces.Box):
            if space.dtype.kind != "f":
                raise SpaceError(f"{path} {space}: only Boxes of floats are supported for actions; use Discrete or MultiDiscrete")
            shape = space.shape or (1,)
            with np.errstate(over="ignore"):  # float64 bounds beyond float32 are no bounds there
                low, high = space.low.reshape(shape).astype(np.float32), space.high.reshape(shape).astype(np.float32)
            self.space = spaces.Box(low, high, dtype=np.float32)
        else:
            raise unsupported(space, path)
        if not np.prod(self.space.shape or ()):
            raise SpaceError(f"{path} {space} is empty: it holds zero numbers, so there is nothing to choose")

    def decode(self, actions: Array, first_row: int = 0) -> Any:
        """One entry per row (int32 or float32), as the env takes it. ActionError names the row, counted from `first_row`."""
        space = self.env_space
        if isinstance(space, spaces.Discrete):
            if actions.view(np.uint32).max() >= self._sizes:  # negative numbers are large ones there
                self._refuse(actions, (actions < 0) | (actions >= self._sizes), first_row)
            return (actions + int(space.start) if space.start else actions).tolist()
        shaped = actions.reshape(len(actions), *(space.shape or ()))
        if isinstance(space, spaces.Box):
            if np.isnan(actions).any():
                self._refuse(actions, np.isnan(actions), first_row)
            clipped = np.clip(shaped.astype(space.dtype, copy=False), space.low, space.high)
            return clipped if space.shape else [np.asarray(action) for action in clipped]
        if actions.min() < 0 or (actions >= self._sizes).any():
            self._refuse(actions, (actions < 0) | (actions >= self._sizes), first_row)
        if isinstance(space, spaces.MultiDiscrete):
            return (shaped + space.start).astype(space.dtype)
        return shaped.astype(np.int8)

    def _refuse(self, actions: Array, wrong: Array, first_row: int) -> NoReturn:
        row = int(np.argmax(wrong.reshape(len(actions), -1).any(axis=1)))
        raise ActionError(f"the action of row {first_row + row} is {actions[row]}, which is not in {self.space}")


def unsupported(space: Any, path: str) -> SpaceError:
    """The error for a space that cannot be a plain row. Names the first structured or variable part of it."""
    if not isinstance(space, spaces.Space):
        return SpaceError(f"{path} must be a gymnasium space, got {space!r}")
    kind = type(space).__name__
    return SpaceError(f"{path} is a {kind} space, supported are {PLAIN}; wrap the env so that it gives one of these: {space}")


def _as_array(observation: Any) -> Array:
    if observation is None:
        raise EnvTypeError("returned None as its observation")
    try:
        array = np.asarray(observation)
    except ValueError as error:
        raise EnvValueError(f"returned an observation that is no array: {error}") from error
    if array.dtype.kind not in "biuf":
        raise EnvTypeError(
            f"returned the observation {observation!r} of type {type(observation).__name__}, not an array of numbers"
        )
    return array
