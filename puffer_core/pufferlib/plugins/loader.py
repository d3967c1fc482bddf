"""Load every installed plugin, each in its own try, so that a broken one harms nobody else."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from types import ModuleType
from typing import Any, Literal

import pluggy

from pufferlib.errors import PluginError
from pufferlib.plugins import hookspecs
from pufferlib.plugins.specs import BackendSpec, CommandSpec, EmulatorSpec, EnvFamily, EnvSpec, LoggerSpec, NameSpec, PolicySpec

GROUP = "pufferlib.plugins"
API = 1
BUILTIN = "core"
HOOKS: dict[str, tuple[type, ...]] = {
    "pufferlib_envs": (EnvSpec, EnvFamily),
    "pufferlib_emulators": (EmulatorSpec,),
    "pufferlib_policies": (PolicySpec,),
    "pufferlib_loggers": (LoggerSpec,),
    "pufferlib_backends": (BackendSpec,),
    "pufferlib_commands": (CommandSpec,),
    "pufferlib_names": (NameSpec,),
}
log = logging.getLogger("pufferlib.plugins")


@dataclass
class Plugin:
    """A plugin as `puffer plugins` lists it. `reason` says why one is failed or disabled; `records` what it registers."""

    name: str
    module: str
    distribution: str = ""
    version: str = ""
    status: Literal["ok", "failed", "disabled"] = "ok"
    reason: str = ""
    records: list[Any] = field(default_factory=list)

    @property
    def label(self) -> str:
        """For messages: the name and, where it is known, the distribution."""
        return f"{self.name!r} ({self.distribution} {self.version})" if self.distribution else f"{self.name!r}"


def installed() -> list[Plugin]:
    """Every entry point of the group, sorted, not imported yet."""
    found = []
    for point in metadata.entry_points(group=GROUP):
        dist = point.dist
        found.append(Plugin(point.name, point.value, dist.name if dist else "", dist.version if dist else ""))
    return sorted(found, key=lambda plugin: (plugin.name, plugin.distribution))


def load_all() -> Iterator[Plugin]:
    """The built-in plugin, then the installed ones, each loaded, failed or disabled."""
    yield load(Plugin(BUILTIN, "pufferlib.plugins.builtin"))
    allowed, denied = names_in("PUFFERLIB_PLUGINS"), names_in("PUFFERLIB_DISABLE_PLUGINS")
    for plugin in installed():
        if plugin.name in denied:
            plugin.status, plugin.reason = "disabled", "named in PUFFERLIB_DISABLE_PLUGINS"
        elif allowed and plugin.name not in allowed:
            plugin.status, plugin.reason = "disabled", "not named in PUFFERLIB_PLUGINS"
        else:
            load(plugin)
        yield plugin


def load(plugin: Plugin) -> Plugin:
    """Import the plugin's module and ask all of its hooks. Never raises, except for Ctrl-C."""
    try:
        plugin.records = records_of(importlib.import_module(plugin.module.partition(":")[0].strip()))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may even call sys.exit() at import
        fail(plugin, str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}")
        log.debug("traceback of plugin %s", plugin.label, exc_info=True)
    return plugin


def fail(plugin: Plugin, reason: str) -> None:
    plugin.status, plugin.reason = "failed", reason
    log.warning("plugin %s left out: %s", plugin.label, reason)


def records_of(module: ModuleType) -> list[Any]:
    """What the module's hooks return, checked. Raises whatever they raise, and PluginError for what does not fit."""
    api = getattr(module, "PUFFERLIB_API", None)
    if api != API:
        said = "declares no PUFFERLIB_API" if api is None else f"speaks PUFFERLIB_API {api!r}"
        raise PluginError(f"{module.__name__} {said}, this pufferlib speaks {API}; install a version of the plugin that fits")
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(module)
    manager.check_pending()
    records = []
    for hook, types in HOOKS.items():
        for answer in getattr(manager.hook, hook)():
            for record in answer:
                if not isinstance(record, types):
                    wanted = " or ".join(t.__name__ for t in types)
                    raise PluginError(f"{module.__name__}.{hook} must return {wanted} records, got {record!r}")
                records.append(record)
    return records


def names_in(variable: str) -> set[str]:
    return {name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()}
