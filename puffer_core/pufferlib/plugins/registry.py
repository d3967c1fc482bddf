"""The registry: finds every registered name, and imports what is behind it when it is used."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pufferlib.errors import EnvNotFoundError, PluginError, PufferError
from pufferlib.plugins.facts import shown_facts
from pufferlib.plugins.hints import near, provider
from pufferlib.plugins.loader import Plugin, fail, load_all
from pufferlib.plugins.specs import BackendSpec, CommandSpec, EmulatorSpec, EnvFamily, EnvSpec, LoggerSpec, PolicySpec, Spec

SCRIPT = "script"
"""The plugin name of what `pufferlib.register` adds."""
Record = TypeVar("Record")


@dataclass(frozen=True)
class Entry:
    record: Any
    plugin: Plugin


class Registry:
    """All records of all plugins, by kind and name. One plugin's records are taken as a whole or not at all."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self._plugins: list[Plugin] = []
        self._entries: dict[tuple[str, str], Entry] = {}
        self._refused: dict[tuple[str, str], Plugin] = {}
        """Names of plugins that are left out because of a clash."""
        self._script = Plugin(SCRIPT, "__main__")
        for plugin in plugins:
            self._add(plugin)

    # ------------------------------------------------------------ lists

    def envs(self) -> list[EnvSpec]:
        """Registered envs, by name; families are apart."""
        return self._records("env", EnvSpec)

    def families(self) -> list[EnvFamily]:
        return self._records("env family", EnvFamily)

    def emulators(self) -> list[EmulatorSpec]:
        return self._records("emulator", EmulatorSpec)

    def policies(self) -> list[PolicySpec]:
        return self._records("policy", PolicySpec)

    def loggers(self) -> list[LoggerSpec]:
        return self._records("logger", LoggerSpec)

    def backends(self) -> list[BackendSpec]:
        return self._records("backend", BackendSpec)

    def commands(self) -> list[CommandSpec]:
        return self._records("command", CommandSpec)

    def plugins(self) -> list[Plugin]:
        """Every plugin found: loaded, failed (with the reason) or disabled."""
        return list(self._plugins)

    def failures(self) -> list[Plugin]:
        return [plugin for plugin in self._plugins if plugin.status == "failed"]

    def family_names(self, family: EnvFamily) -> list[str]:
        """All env names of a family. Imports the package behind it."""
        return sorted(f"{family.prefix}-{name}" for name in self.resolve(family.names, family)())

    # ------------------------------------------------------------ finding

    def find_env(self, name: str) -> EnvSpec:
        """The record of an env name. `module:name` imports the module first; a family makes a record for each of its ids.

        Raises EnvNotFoundError with near matches and, where a known plugin has the name, what to install; PluginError where
        the name belongs to a plugin that is left out.
        """
        if not isinstance(name, str):
            raise EnvNotFoundError(f"an environment's name is text, got {name!r}; pufferlib.emulate takes classes and factories")
        if entry := self._entries.get(("env", name)):
            return entry.record  # type: ignore[no-any-return]
        for family in self.families():
            if name.startswith(f"{family.prefix}-") and len(name) > len(family.prefix) + 1:
                env_id = name[len(family.prefix) + 1 :]
                target = self.resolve(family.target, family)(env_id)
                preset = self.presets(family).get(f"{family.prefix}-{env_id.rpartition(':')[2]}")
                return EnvSpec(name.replace(":", "/"), target, family.summary, preset=preset)
        module, colon, rest = name.partition(":")
        if colon:
            self._import_script(module, name)
            return self.find_env(rest)
        if refused := self._refused.get(("env", name)):
            raise PluginError(f"{name!r} belongs to plugin {refused.label}, which is left out: {refused.reason}")
        raise EnvNotFoundError(self._not_found("environment", name, self._names("env"), "puffer list"))

    def find(self, kind: str, name: str) -> Any:
        """The record of another kind: policy, logger, backend, command or emulator. Raises PluginError with near matches."""
        if entry := self._entries.get((kind, name)):
            return entry.record
        if refused := self._refused.get((kind, name)):
            raise PluginError(f"{kind} {name!r} belongs to plugin {refused.label}, which is left out: {refused.reason}")
        raise PluginError(self._not_found(kind, name, self._names(kind), "puffer plugins"))

    def plugin_of(self, record: Any) -> Plugin | None:
        """The plugin that registered this record, or the family that made it."""
        entry = self._entries.get((record.kind, record.name))
        if entry and entry.record is record:
            return entry.plugin
        families = self.families() if isinstance(record, EnvSpec) and not entry else []
        return next((self.plugin_of(f) for f in families if record.name.startswith(f"{f.prefix}-")), None)

    def presets(self, family: EnvFamily) -> dict[str, str]:
        """Name of an env of a family -> its preset, relative to the plugin module's package; of those that have one.

        Raises PluginError if the folder is missing.
        """
        plugin = self.plugin_of(family)
        if family.presets is None or plugin is None:
            return {}
        package = folder_of(plugin)
        folder = package / family.presets
        if not folder.is_dir():
            raise PluginError(f"env family {family.prefix!r} of plugin {plugin.label}: its presets {folder} are missing")
        paths = sorted(folder.rglob("*.toml"))
        ids = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
        return {f"{family.prefix}-{i}": path.relative_to(package).as_posix() for i, path in zip(ids, paths, strict=True)}

    def preset_path(self, spec: EnvSpec) -> Path | None:
        """The preset's file, or None where the env has none. Raises PluginError if the file is missing."""
        plugin = self.plugin_of(spec)
        if spec.preset is None or plugin is None:
            return None
        path = folder_of(plugin) / spec.preset
        if not path.is_file():
            raise PluginError(f"env {spec.name!r} of plugin {plugin.label}: its preset {path} is missing")
        return path

    def facts(self, name: str, record: EnvSpec | EnvFamily) -> dict[str, str]:
        """What was measured of an env, label -> text, from its plugin's facts.toml; {} where nothing was."""
        plugin = self.plugin_of(record)
        return {} if plugin is None or plugin is self._script else shown_facts(folder_of(plugin)).get(name, {})

    def resolve(self, target: Any, record: Any = None) -> Any:
        """What `"package.module:attribute"` names, imported now; anything else as it is. A PluginError names the record."""
        if not isinstance(target, str):
            return target
        module, _, attribute = target.partition(":")
        try:
            return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
        except (ImportError, AttributeError) as error:
            whose = f"target {target!r}"
            if record is not None:
                plugin = self.plugin_of(record)
                owner = f" of plugin {plugin.label}" if plugin else ""
                whose = f"{record.kind} {record.name!r}{owner} points to {target!r}, which"
            raise PluginError(f"{whose} cannot be imported: {type(error).__name__}: {error}") from error

    # ------------------------------------------------------------ registering

    def register(self, spec: EnvSpec) -> None:
        """Add one env, from a script. Raises PluginError if the name is taken by another target."""
        for name in spec.names:
            taken = self._entries.get(("env", name))
            if taken and not (taken.plugin is self._script and taken.record == spec):
                raise PluginError(f"env {name!r} is already registered by plugin {taken.plugin.label}")
        for name in spec.names:
            self._entries["env", name] = Entry(spec, self._script)
        if self._script not in self._plugins:
            self._plugins.append(self._script)
        self._script.records.append(spec)

    def _add(self, plugin: Plugin) -> None:
        self._plugins.append(plugin)
        if plugin.status != "ok":
            return
        keys = [(record.kind, name) for record in plugin.records for name in names_of(record)]
        clashes = [
            f"{kind} {name!r} is already registered by plugin {self._entries[kind, name].plugin.label}"
            for kind, name in keys
            if (kind, name) in self._entries
        ]
        clashes += [f"it registers {kind} {name!r} twice" for kind, name in sorted({key for key in keys if keys.count(key) > 1})]
        twin = next((p for p in self._plugins[:-1] if p.name == plugin.name and p.status == "ok"), None)
        if twin:
            clashes.insert(0, f"plugin {twin.label} already has this plugin's name")
        if clashes:
            fail(plugin, f"plugin {plugin.label}: {'; '.join(clashes)}")
            self._refused.update({key: plugin for key in keys if key not in self._entries})
            return
        for record in plugin.records:
            for name in names_of(record):
                self._entries[record.kind, name] = Entry(record, plugin)

    # ------------------------------------------------------------ helpers

    def _records(self, kind: str, of: Callable[..., Record]) -> list[Record]:
        found = {entry.record.name: entry.record for (k, _), entry in self._entries.items() if k == kind}
        return [found[name] for name in sorted(found)]

    def _names(self, kind: str) -> list[str]:
        return sorted(name for k, name in self._entries if k == kind)

    def _import_script(self, module: str, name: str) -> None:
        try:
            importlib.import_module(module)
        except PufferError:
            raise
        except ImportError as error:
            raise EnvNotFoundError(f"{name!r}: module {module!r} cannot be imported: {error}") from error

    def _not_found(self, kind: str, name: str, known: list[str], command: str) -> str:
        lines = [f"no {kind} is named {name!r}."]
        if close := near(name, known):
            lines.append(f"Near matches: {', '.join(close)}.")
        elif kind != "environment" and known:
            lines.append(f"Registered: {', '.join(known)}.")
        if hint := provider(name, {plugin.name for plugin in self._plugins if plugin.status == "ok"}):
            lines.append(f"Install it with: {hint}")
        for plugin in self._plugins:
            if plugin.status != "ok":
                lines.append(f"Plugin {plugin.label} is {plugin.status}: {plugin.reason}")
        lines.append(f"`{command}` shows all.")
        return "\n".join(lines)


def names_of(record: Any) -> tuple[str, ...]:
    return record.names if isinstance(record, Spec) else (record.name,)


def folder_of(plugin: Plugin) -> Path:
    """Of the plugin's module."""
    found = importlib.util.find_spec(plugin.module.partition(":")[0])
    if found is None or found.origin is None:
        raise PluginError(f"module {plugin.module!r} of plugin {plugin.label} has no folder")
    return Path(found.origin).parent


@functools.cache
def registry() -> Registry:
    """The one registry of this process, loaded on first use."""
    return Registry(load_all())
