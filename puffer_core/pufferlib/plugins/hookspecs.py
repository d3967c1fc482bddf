"""The hooks of a plugin. This file is their manual.

A plugin is an installed package that names one light module under the entry-point group `pufferlib.plugins`:

    [project.entry-points."pufferlib.plugins"]
    acme = "pufferlib_acme"

The module says which version of this interface it speaks, and implements any of the hooks below. It must import nothing
heavy: it is loaded by every `puffer` command, while targets are imported only when they are used.

    from pufferlib.plugins import EnvSpec, hookimpl

    PUFFERLIB_API = 1

    @hookimpl
    def pufferlib_envs():
        yield EnvSpec("acme-maze", target="pufferlib_acme.maze:Maze", summary="A maze", preset="maze/preset.toml")

Records count only if all of a plugin's hooks answered. A plugin that raises, or that takes a name which another one has,
is left out as a whole and listed with the reason by `puffer plugins`; the others are not affected.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from pufferlib.plugins.specs import BackendSpec, CommandSpec, EmulatorSpec, EnvFamily, EnvSpec, LoggerSpec, NameSpec, PolicySpec

PROJECT = "pufferlib"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def pufferlib_envs() -> Iterable[EnvSpec | EnvFamily]:  # type: ignore[empty-body]
    """Environments, one record each, or a family for a package with its own list of ids."""


@hookspec
def pufferlib_emulators() -> Iterable[EmulatorSpec]:  # type: ignore[empty-body]
    """Adapters that make PufferEnv batches of envs with a foreign API; `pufferlib.emulate` finds them by the env's classes."""


@hookspec
def pufferlib_policies() -> Iterable[PolicySpec]:  # type: ignore[empty-body]
    """Networks for `--policy.name` and `pufferlib.policies.build_policy`."""


@hookspec
def pufferlib_loggers() -> Iterable[LoggerSpec]:  # type: ignore[empty-body]
    """Where metrics go: `--logger NAME`."""


@hookspec
def pufferlib_backends() -> Iterable[BackendSpec]:  # type: ignore[empty-body]
    """Ways to step many envs: `make(..., backend=NAME)`."""


@hookspec
def pufferlib_commands() -> Iterable[CommandSpec]:  # type: ignore[empty-body]
    """Commands of the `puffer` program."""


@hookspec
def pufferlib_names() -> Iterable[NameSpec]:  # type: ignore[empty-body]
    """Classes and functions that `pufferlib` itself offers: `from pufferlib import NAME`."""
