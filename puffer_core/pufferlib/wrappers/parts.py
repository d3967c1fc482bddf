"""The leaves of structured observations that a wrapper changes, and those that it leaves as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.structure import Leaf, Path, structure_of
from pufferlib.vector import VecEnv


class Parts:
    """An env's observations with some leaves in another space. A plain Box is one leaf, and is always changed.

    leaves: paths, such as "camera" or "sensors/lidar"; one that leads to a Dict or Tuple means all that is in it. None: those
        that `usual` picks
    change: the new space of a leaf's
    Raises ConfigError for paths that are not there, with those that are, and SpaceError where nothing would change.
    """

    def __init__(
        self,
        env: VecEnv,
        leaves: Sequence[str] | None,
        *,
        usual: Callable[[Leaf], bool],
        change: Callable[[spaces.Space[Any]], spaces.Space[Any]],
    ) -> None:
        self.inner = structure_of(env.single_observation_space)
        chosen = self._chosen(leaves, usual)
        changed = _changed(self.inner.space, (), chosen, change)
        self.outer = structure_of(changed)
        self.box = self.outer.box
        pairs = list(zip(self.inner.leaves, self.outer.leaves, strict=True))
        self._changed = [(ours, theirs) for ours, theirs in pairs if ours.path in chosen]
        self._kept = [(ours, theirs) for ours, theirs in pairs if ours.path not in chosen and ours.size]

    @property
    def leaves(self) -> list[Leaf]:
        """Those that are changed, as the env inside has them."""
        return [inner for inner, _ in self._changed]

    def changed(self, *rows: Array) -> Iterator[tuple[Array, ...]]:
        """Of each changed leaf the views, from these arrays of rows: the first holds the env's, the others the wrapper's."""
        if self.inner.is_plain:
            yield rows
            return
        for inner, outer in self._changed:
            first, *rest = rows
            yield (self.inner.stored(first, inner), *(self.outer.stored(other, outer) for other in rest))

    def keep(self, inner_rows: Array, outer_rows: Array, which: Any = ...) -> None:
        """Copy the leaves that are not changed. which: an index of rows"""
        for inner, outer in self._kept:
            self.outer.stored(outer_rows, outer)[which] = self.inner.stored(inner_rows, inner)[which]

    def _chosen(self, leaves: Sequence[str] | None, usual: Callable[[Leaf], bool]) -> set[Path]:
        known = {leaf.path: leaf for leaf in self.inner.leaves if leaf.size}
        names = ", ".join(map(path_name, known))
        if self.inner.is_plain:
            if leaves is not None:
                raise ConfigError(f"leaves={list(leaves)!r}: this env observes a single Box; leave `leaves` out")
            return set(known)
        if leaves is None:
            found = {path for path, leaf in known.items() if usual(leaf)}
            if not found:
                raise SpaceError(f"no part of {self.inner.space} is usually changed; name leaves: {names}")
            return found
        chosen: set[Path] = set()
        for name in leaves:
            below = {path for path in known if f"{path_name(path)}/".startswith(f"{name}/")}
            if not below:
                raise ConfigError(f"leaves={list(leaves)!r}: there is no {name!r}; there are {names}")
            chosen |= below
        if not chosen:
            raise ConfigError(f"leaves={list(leaves)!r} names none; there are {names}")
        return chosen


def path_name(path: Path) -> str:
    """sensors/lidar"""
    return "/".join(map(str, path)) or "."


def _changed(space: Any, path: Path, chosen: set[Path], change: Callable[[Any], Any]) -> Any:
    """The space with the chosen leaves changed."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict([(key, _changed(part, (*path, key), chosen, change)) for key, part in space.spaces.items()])
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([_changed(part, (*path, index), chosen, change) for index, part in enumerate(space.spaces)])
    return change(space) if path in chosen else space
