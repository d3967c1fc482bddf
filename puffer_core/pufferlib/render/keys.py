"""From the names of the keys that are held down to an action, through a game's `keys` table.

Names: a to z, 0 to 9, left, right, up, down, space, enter, and the others of `window.KEY_CODES`. Several at once are
joined by +: `{"left": 1, "space": 3, "left+space": 4}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array, action_layout
from pufferlib.errors import ConfigError


class KeyMap:
    """The keys of one game.

    keys: key name -> action: an int (Discrete), or {axis: value} (MultiDiscrete and Box), whose other axes stay idle
    idle: the action while none of them is down: an int, or one value or one per axis
    space: one agent's action space. Raises ConfigError, naming the key, if an action is not in it
    """

    def __init__(self, keys: Mapping[str, Any], idle: Any, space: spaces.Space[Any]) -> None:
        self._shape, self._dtype = action_layout(space)
        try:
            self.idle: Array = np.broadcast_to(np.asarray(idle, self._dtype), self._shape).copy()
        except (TypeError, ValueError):
            raise ConfigError(f"idle_action must fit {space}, got {idle!r}") from None
        self._check(space, "idle_action", self.idle)
        self._chords = {name: tuple(name.split("+")) for name in keys}
        self._actions = dict(keys)
        self.names: tuple[str, ...] = tuple(dict.fromkeys(part for chord in self._chords.values() for part in chord))
        """Every key that means something to the game."""
        for name in keys:
            self._check(space, f"keys[{name!r}]", self._apply(self.idle.copy(), name))

    def action(self, down: Sequence[str]) -> Array:
        """The action for the keys that are down, in the order in which they went down: the last one wins.

        A chord wins over its own parts. Returns int32 () or (n,), or float32 of the Box's shape.
        """
        held = [name for name, parts in self._chords.items() if all(part in down for part in parts)]
        covered = [name for name in held if any(set(self._chords[name]) < set(self._chords[other]) for other in held)]
        chosen = sorted((name for name in held if name not in covered), key=lambda name: max(map(down.index, self._chords[name])))
        action = self.idle.copy()
        for name in chosen:
            action = self._apply(action, name)
        return action

    def _apply(self, action: Array, name: str) -> Array:
        value = self._actions[name]
        try:
            if not isinstance(value, Mapping):
                return np.broadcast_to(np.asarray(value, self._dtype), self._shape).copy()
            for axis, part in value.items():
                action[axis] = part
        except (TypeError, ValueError, IndexError):
            shape = self._shape
            raise ConfigError(f"keys[{name!r}] must be an action or {{axis: value}} of shape {shape}, got {value!r}") from None
        return action

    @staticmethod
    def _check(space: spaces.Space[Any], what: str, action: Array) -> None:
        if not space.contains(action.astype(space.dtype) if action.shape else space.dtype.type(action)):  # type: ignore[union-attr]
            raise ConfigError(f"{what}: {action.tolist()} is not in {space}")
