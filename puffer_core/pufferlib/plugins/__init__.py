"""Plugins: the records they return, the hooks they implement, and the registry that finds them. See `hookspecs`."""

from pufferlib.plugins.games import find_games
from pufferlib.plugins.hookspecs import hookimpl
from pufferlib.plugins.loader import Plugin
from pufferlib.plugins.registry import Registry, registry
from pufferlib.plugins.specs import BackendSpec, CommandSpec, EmulatorSpec, EnvFamily, EnvSpec, LoggerSpec, NameSpec, PolicySpec

__all__ = [
    "BackendSpec",
    "CommandSpec",
    "EmulatorSpec",
    "EnvFamily",
    "EnvSpec",
    "LoggerSpec",
    "NameSpec",
    "Plugin",
    "PolicySpec",
    "Registry",
    "find_games",
    "hookimpl",
    "registry",
]
