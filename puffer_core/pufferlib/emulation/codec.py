"""From an env's own observations to the rows of a batch, without changing a value.

`pufferlib.structure` says how they lie there, and leads back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.emulation.leaves import NAME, LeafWriter
from pufferlib.errors import EnvTypeError, EnvValueError
from pufferlib.native._emulation import row_bytes
from pufferlib.structure import Path, Structure, path_text


class ObservationCodec:
    """Writes observations of one space. `box` is the row's space; `identity` tells that an array in it needs no work.

    The way through a nested space is worked out once: `_containers` opens one Dict or Tuple after the other, each adding its
    parts to a list, and `_leaves` then reads that list in the space's order.
    """

    def __init__(self, space: spaces.Space[Any], name: str = "observation_space") -> None:
        self.structure = Structure(space, name)
        self.box = self.structure.box
        self.identity = self.structure.is_plain
        self.dtype, self.shape = self.structure.dtype, self.structure.shape
        self._space = space
        writers = [LeafWriter(leaf) for leaf in self.structure.leaves]
        self._convert = writers[0].convert
        self._containers, places = _plan(space)
        ends = [leaf.offset for leaf in self.structure.leaves[1:]] + [self.structure.size]
        self._leaves = [
            (place, writer.dtype, writer.shape, writer.pack, bytes(end - writer.leaf.offset - writer.leaf.length))
            for place, writer, end in zip(places, writers, ends, strict=True)
        ]

    def pack(self, observation: Any) -> bytes:
        """The bytes of a row, a copy. Raises EnvTypeError or EnvValueError, which name the part."""
        found = [observation]
        try:
            for place, kind, size, parts_of in self._containers:
                container = found[place]
                if len(container) != size or not (type(container) is kind or isinstance(container, PARTS[kind])):
                    self._refuse(observation)
                found += parts_of(container)
        except (KeyError, TypeError):
            self._refuse(observation)
        row: list[Any] = []
        for place, dtype, shape, pack, padding in self._leaves:
            value = found[place]
            if type(value) is np.ndarray and value.dtype is dtype and value.shape == shape:
                row.append(value if value.flags.c_contiguous else row_bytes(value))
            else:
                row.append(pack(value))
            if padding:
                row.append(padding)
        return b"".join(row)

    def encode(self, observation: Any) -> Array:
        """A row's array, to be copied. Raises EnvTypeError or EnvValueError."""
        if self.identity:
            if type(observation) is np.ndarray and observation.dtype is self.dtype and observation.shape == self.shape:
                if observation.flags.c_contiguous:
                    return observation
                return np.frombuffer(row_bytes(observation), self.dtype).reshape(self.shape)
            return self._convert(observation)
        return np.frombuffer(self.pack(observation), self.dtype).reshape(self.shape)

    def decode(self, row: Array) -> Any:
        """The env's own observation back from a row, in its own structure, shapes, dtypes and starts."""
        return self.structure.unflatten(row.copy())

    def _refuse(self, observation: Any) -> NoReturn:
        _refuse_parts(self._space, observation, ())
        raise EnvTypeError(f"returned an {NAME} that cannot be read: {observation!r:.500}")


PARTS: dict[type, Any] = {dict: Mapping, tuple: (tuple, list)}
"""What is taken for a Dict's and for a Tuple's value."""


def _plan(space: spaces.Space[Any]) -> tuple[list[tuple[int, type, int, Callable[[Any], Any]]], list[int]]:
    """The containers, outermost first, and where the leaves, in the space's order, then stand in the list of parts."""
    containers: list[tuple[int, type, int, Callable[[Any], Any]]] = []
    leaves: list[tuple[Path, int]] = []
    waiting: list[tuple[Path, Any, int]] = [((), space, 0)]
    length = 1
    for path, part, place in waiting:  # which grows
        if isinstance(part, spaces.Dict):
            keys = list(part.spaces)
            containers.append((place, dict, len(keys), _values_of(keys)))
            inner = list(part.spaces.values())
        elif isinstance(part, spaces.Tuple):
            inner = list(part.spaces)
            containers.append((place, tuple, len(inner), tuple))
        else:
            leaves.append((path, place))
            continue
        waiting += [((*path, index), child, length + index) for index, child in enumerate(inner)]
        length += len(inner)
    return containers, [place for _, place in sorted(leaves)]


def _values_of(keys: list[Any]) -> Callable[[Any], Any]:
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda container: [container[key] for key in keys]


def _refuse_parts(space: Any, value: Any, path: Path) -> None:
    """Raise for the first Dict or Tuple whose value has other parts; return if there is none."""
    name = path_text(NAME, path)
    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping):
            raise EnvTypeError(f"returned {name}={value!r:.200} of type {type(value).__name__}, expected a dict as {space}")
        for wrong, what in (
            ([key for key in space.spaces if key not in value], "without its key"),
            ([key for key in value if key not in space.spaces], "with an unknown key"),
        ):
            if wrong:
                keys = f"it has {list(value)}, its space has {list(space.spaces)}"
                raise EnvValueError(f"returned {name} {what} {wrong[0]!r}: {keys}")
        parts: Any = space.spaces.items()
    elif isinstance(space, spaces.Tuple):
        if not isinstance(value, (tuple, list)):
            raise EnvTypeError(f"returned {name}={value!r:.200} of type {type(value).__name__}, expected a tuple as {space}")
        if len(value) != len(space.spaces):
            raise EnvValueError(f"returned {name} with {len(value)} parts, its space has {len(space.spaces)}: {space}")
        parts = enumerate(space.spaces)
    else:
        return
    for key, part in parts:
        _refuse_parts(part, value[key], (*path, key))
