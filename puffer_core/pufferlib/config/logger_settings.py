"""The `[loggers.NAME]` settings: what the constructor of that logger says it takes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

from pufferlib.config.run_config import Setting
from pufferlib.config.values import Kind, kind_of
from pufferlib.errors import PluginError

TABLE = "loggers"
ANYTHING = Setting(Kind("any"))


def logger_settings(
    keys: Iterable[str] = (), chosen: Iterable[str] = (), known: Mapping[str, Any] | None = None
) -> dict[str, Setting]:
    """The settings of the loggers that are chosen or have a key such as `loggers.wandb.project`, by dotted key.

    known: the tables of an earlier run; where its logger is not installed any more, to look at a policy for instance, its
    settings are taken as they stand. This imports the plugins' modules, not the services' packages.
    Raises PluginError for a logger that nobody registers.
    """
    from pufferlib.plugins import registry

    mine = [key.split(".") for key in keys if key.startswith(f"{TABLE}.")]
    old = {} if known is None else known.get(TABLE, {})
    registered = {spec.name.replace("-", "_"): spec.name for spec in registry().loggers()}
    found: dict[str, Setting] = {}
    for name in dict.fromkeys([*chosen, *(parts[1] for parts in mine if len(parts) == 3)]):
        if name in registered or name not in old:
            settings = settings_of_logger(registered.get(name, name))
        else:
            settings = dict.fromkeys(old[name], ANYTHING)
        found.update({f"{TABLE}.{name}.{key}": setting for key, setting in settings.items()})
    return found


def settings_of_logger(name: str) -> dict[str, Setting]:
    """By parameter. Of a parameter without a usable annotation any value is taken."""
    from pufferlib.plugins import registry

    spec = registry().find("logger", name)
    target = registry().resolve(spec.target, spec)
    try:
        parameters = inspect.signature(target).parameters.values()
        hints = get_type_hints(target.__init__ if inspect.isclass(target) else target)
    except (TypeError, ValueError, NameError) as error:
        raise PluginError(f"logger {name!r}: its parameters cannot be read: {error}") from error
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    helps = described(inspect.getdoc(target) or "")
    return {p.name: Setting(kind(hints.get(p.name, Any)), _default(p), helps.get(p.name, "")) for p in named}


def kind(annotation: Any) -> Kind:
    """The kind of a parameter's type."""
    try:
        return kind_of(annotation)
    except TypeError:
        return Kind("any")


def described(docstring: str) -> dict[str, str]:
    """`name: what it is` lines of a docstring; a line that begins with spaces goes on."""
    found: dict[str, str] = {}
    name = ""
    for line in docstring.splitlines():
        head, colon, text = line.partition(": ")
        if colon and head.isidentifier():
            name, found[head] = head, text.strip()
        elif name and line.startswith(" ") and line.strip():
            found[name] += " " + line.strip()
        else:
            name = ""
    return found


def _default(parameter: inspect.Parameter) -> Any:
    default = None if parameter.default is parameter.empty else parameter.default
    return list(default) if isinstance(default, tuple) else default
