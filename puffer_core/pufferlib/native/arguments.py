"""The arguments of a native game: one place of defaults and ranges, checked before anything is allocated.

A default is a value, or a function of the namespace of the other arguments: `lambda a: 8 * a.radius + 4`.
"""

from __future__ import annotations

import difflib
import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pufferlib.errors import ConfigError


@dataclass(frozen=True)
class Int:
    """An integer in [low, high]; with `step`, one of low, low + step, low + 2 * step ..."""

    name: str
    default: int | Callable[[SimpleNamespace], int]
    low: int
    high: int
    step: int = 1
    help: str = ""

    def check(self, owner: str, value: Any) -> int:
        every = "" if self.step == 1 else f" in steps of {self.step}"
        try:
            if isinstance(value, bool):
                raise TypeError
            whole = operator.index(value)
        except TypeError:
            raise ConfigError(
                f"{owner}: {self.name} must be an integer in [{self.low}, {self.high}]{every}, got {value!r}"
            ) from None
        if not self.low <= whole <= self.high or (whole - self.low) % self.step:
            raise ConfigError(f"{owner}: {self.name} must be in [{self.low}, {self.high}]{every}, got {whole}")
        return whole

    def to_c(self, value: int) -> int:
        return value


@dataclass(frozen=True)
class Float:
    """A finite number in [low, high]."""

    name: str
    default: float | Callable[[SimpleNamespace], float]
    low: float
    high: float
    help: str = ""

    def check(self, owner: str, value: Any) -> float:
        try:
            if isinstance(value, (bool, str)):
                raise TypeError
            number = float(value)
        except (TypeError, ValueError):
            raise ConfigError(f"{owner}: {self.name} must be a number in [{self.low:g}, {self.high:g}], got {value!r}") from None
        if not math.isfinite(number) or not self.low <= number <= self.high:
            raise ConfigError(f"{owner}: {self.name} must be in [{self.low:g}, {self.high:g}], got {number:g}")
        return number

    def to_c(self, value: float) -> float:
        return value


@dataclass(frozen=True)
class Bool:
    """True or False; C sees 1 or 0."""

    name: str
    default: bool | Callable[[SimpleNamespace], bool]
    help: str = ""

    def check(self, owner: str, value: Any) -> bool:
        if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
            return bool(value)
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        raise ConfigError(f"{owner}: {self.name} must be True or False, got {value!r}")

    def to_c(self, value: bool) -> int:
        return int(value)


@dataclass(frozen=True)
class Choice:
    """One of a few words; C sees its index."""

    name: str
    default: str | Callable[[SimpleNamespace], str]
    choices: tuple[str, ...]
    help: str = ""

    def check(self, owner: str, value: Any) -> str:
        if isinstance(value, str) and value in self.choices:
            return value
        raise ConfigError(f"{owner}: {self.name} must be one of {', '.join(map(repr, self.choices))}, got {value!r}")

    def to_c(self, value: str) -> int:
        return self.choices.index(value)


@dataclass(frozen=True)
class File:
    """The path of a file, or "" (or None) for no file. C sees the bytes that `read` makes of it, none where there is no file.

    read: path -> bytes; raises ValueError where the file does not hold what it should
    """

    name: str
    read: Callable[[str], bytes]
    help: str = ""
    default: str = ""

    def check(self, owner: str, value: Any) -> str:
        if value is None or value == "":
            return ""
        path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
        if not isinstance(path, str) or not os.path.isfile(path):
            raise ConfigError(f"{owner}: {self.name} must be the path of a file, got {value!r}")
        return path

    def to_c(self, value: str) -> bytes:
        return self.read(value) if value else b""


Argument = Int | Float | Bool | Choice | File


def resolve(owner: str, arguments: Sequence[Argument], given: Mapping[str, Any]) -> SimpleNamespace:
    """Every argument's value, checked. Defaults that are functions see all the values before them and all that are plain.

    Raises TypeError for a name that is no argument, ConfigError (a ValueError) for a value out of range.
    """
    by_name = {argument.name: argument for argument in arguments}
    names = list(by_name)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise TypeError(f"{owner}: unknown argument {name!r}{hint} (it takes {', '.join(names) or 'none'})")
    values = SimpleNamespace()
    computed: list[tuple[str, Callable[[SimpleNamespace], Any]]] = []
    for argument in arguments:
        if argument.name not in given and callable(argument.default):
            computed.append((argument.name, argument.default))
        else:
            setattr(values, argument.name, argument.check(owner, given.get(argument.name, argument.default)))
    for name, compute in computed:
        setattr(values, name, by_name[name].check(owner, compute(values)))
    return values
