"""The records that plugins return: what exists, and where to find it once it is used.

A target is `"package.module:attribute"`, imported when the name is used and not before; scripts that register themselves
may give the object itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pufferlib.errors import PluginError

Target = str | Callable[..., Any]
TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True)
class Spec:
    """A name, the target behind it, and one line about it."""

    name: str
    target: Target
    summary: str = ""
    kind: ClassVar[str] = "record"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise PluginError(f"{type(self).__name__}: name must be letters, digits, '.', '_', '/' and '-', got {self.name!r}")
        check_target(self, "target", self.target)
        if not isinstance(self.summary, str) or "\n" in self.summary:
            raise PluginError(f"{type(self).__name__} {self.name!r}: summary must be one line of text, got {self.summary!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that finds this record."""
        return (self.name,)


@dataclass(frozen=True)
class EnvSpec(Spec):
    """One environment. The target is a PufferEnv or Gymnasium env class, or a factory of one.

    kwargs: given to the target, under the user's own keyword arguments
    preset: a TOML file with the tables of a run's settings, such as [train], relative to the plugin module's package
    aliases: further names; license: of the environment and its assets, where it matters
    """

    kwargs: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    aliases: tuple[str, ...] = ()
    license: str = ""
    kind: ClassVar[str] = "env"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kwargs, Mapping) or not all(isinstance(key, str) for key in self.kwargs):
            raise PluginError(f"EnvSpec {self.name!r}: kwargs must be a mapping of names to values, got {self.kwargs!r}")
        if not isinstance(self.aliases, tuple) or not all(isinstance(a, str) and NAME.fullmatch(a) for a in self.aliases):
            raise PluginError(f"EnvSpec {self.name!r}: aliases must be a tuple of names, got {self.aliases!r}")
        if self.preset is not None and not isinstance(self.preset, str):
            raise PluginError(f"EnvSpec {self.name!r}: preset must be a path relative to the package, got {self.preset!r}")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class EnvFamily:
    """Every env `<prefix>-<id>` of a package that has its own list of ids.

    target: called with the id, returns what an EnvSpec's target would be
    names: a function without arguments that returns all ids; called only when somebody asks for the whole list
    presets: a folder of presets, `<id>.toml` for each id that has one, relative to the plugin module's package
    """

    prefix: str
    target: Target
    names: Target
    summary: str = ""
    presets: str | None = None
    kind: ClassVar[str] = "env family"

    def __post_init__(self) -> None:
        if not isinstance(self.prefix, str) or not NAME.fullmatch(self.prefix):
            raise PluginError(f"EnvFamily: prefix must be letters, digits, '.', '_' and '-', got {self.prefix!r}")
        check_target(self, "target", self.target)
        check_target(self, "names", self.names)
        if self.presets is not None and not isinstance(self.presets, str):
            raise PluginError(
                f"EnvFamily {self.prefix!r}: presets must be a folder relative to the package, got {self.presets!r}"
            )

    @property
    def name(self) -> str:
        return self.prefix


@dataclass(frozen=True)
class EmulatorSpec(Spec):
    """An adapter from a foreign env API to PufferEnv batches.

    classes: `"package.module:Class"` of the env base classes that it adapts, compared by name so that nothing is imported
    target: called as `target(factory, num_envs=k)`, where `factory()` makes one foreign env; returns a PufferEnv batch
    options: keyword arguments of `emulate` that the target takes, unless the env's own class or factory names them
    """

    classes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    kind: ClassVar[str] = "emulator"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.classes:
            check_target(self, "classes", name)


@dataclass(frozen=True)
class PolicySpec(Spec):
    """A policy: `target(observation_space, action_space, **kwargs)` returns a torch module."""

    kind: ClassVar[str] = "policy"


@dataclass(frozen=True)
class LoggerSpec(Spec):
    """A logger: `target(**settings)` returns a pufferlib.Logger. Its parameters are the settings `--loggers.NAME.PARAMETER`.

    package: what the target imports when it starts; if that is missing, `pip install 'pufferlib[NAME]'` is said to mend it
    """

    package: str = ""
    kind: ClassVar[str] = "logger"


@dataclass(frozen=True)
class BackendSpec(Spec):
    """A vector back end: `target(maker, shape, *, seed, in_order)` returns a VecEnv.

    Its further keyword-only parameters are what `backend_options` may hold. native_only: it steps C games only.
    """

    native_only: bool = False
    kind: ClassVar[str] = "backend"


@dataclass(frozen=True)
class CommandSpec(Spec):
    """A command `puffer <name>`: `target(arguments: list[str])` returns the exit status."""

    kind: ClassVar[str] = "command"


@dataclass(frozen=True)
class NameSpec(Spec):
    """A public name of a plugin: `from pufferlib import <name>` gives its target."""

    kind: ClassVar[str] = "name"


def check_target(record: Any, which: str, target: Any) -> None:
    """A target is 'package.module:attribute' or something callable."""
    if callable(target) or (isinstance(target, str) and TARGET.fullmatch(target)):
        return
    name = getattr(record, "name", "?")
    raise PluginError(f"{type(record).__name__} {name!r}: {which} must be 'package.module:attribute', got {target!r}")
