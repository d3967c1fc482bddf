"""check_plugin: does an installed package work as a plugin?"""

from __future__ import annotations

import sys
from typing import Any

from pufferlib.errors import CheckError, PufferError
from pufferlib.plugins import EnvFamily, EnvSpec, registry
from pufferlib.testing.envs import check_env

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLES = {"vec", "train", "schedule", "self_play", "policy", "wrappers", "env"}


def check_plugin(name: str, *, steps: int = 50) -> list[str]:
    """Check an installed plugin by its entry point's name: it loads, every target resolves, presets parse, envs run.

    steps: of `check_env` for each env; 0 leaves the envs out. Returns the names of the records; raises CheckError.
    """
    plugin = next((p for p in registry().plugins() if p.name == name), None)
    if plugin is None:
        raise CheckError(f"no plugin is named {name!r}; found: {', '.join(p.name for p in registry().plugins())}")
    if plugin.status != "ok":
        raise CheckError(f"plugin {plugin.label} is {plugin.status}: {plugin.reason}")
    if not plugin.records:
        raise CheckError(f"plugin {plugin.label} registers nothing")
    for record in plugin.records:
        try:
            _check_record(record, steps)
        except CheckError as error:
            raise CheckError(f"{record.kind} {record.name!r}: {error}") from error
        except PufferError as error:
            raise CheckError(str(error)) from error
    return [record.name for record in plugin.records]


def _check_record(record: Any, steps: int) -> None:
    target = registry().resolve(record.target, record)
    if not callable(target):
        raise CheckError(f"its target {record.target!r} is a {type(target).__name__}, which cannot be called")
    if not record.summary:
        raise CheckError("it has no summary, the line that lists show")
    if isinstance(record, EnvSpec):
        _check_preset(record)
        if steps:
            check_env(target, steps=steps, **record.kwargs)
    elif isinstance(record, EnvFamily):
        for name, preset in registry().presets(record).items():
            _check_preset(EnvSpec(name, record.target, preset=preset))


def _check_preset(spec: EnvSpec) -> None:
    path = registry().preset_path(spec)
    if path is None:
        return
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CheckError(f"its preset {path.name} is no TOML: {error}") from error
    unknown = set(tables) - TABLES
    if unknown:
        raise CheckError(f"its preset {path.name} has unknown tables {sorted(unknown)}; known: {sorted(TABLES)}")
