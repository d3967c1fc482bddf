"""The help page of a command's settings, rendered by tyro from the dataclasses and their docstrings."""

from __future__ import annotations

import contextlib
from dataclasses import field, make_dataclass
from typing import Annotated, Any, Literal

from pufferlib.config.run_config import BuiltInPolicy, PolicyConfig, RunConfig, Schema, Setting

PYTHON_TYPES = {"bool": bool, "int": int, "float": float, "text": str, "texts": list[str], "any": str}


def print_settings(schema: Schema, prog: str, description: str, extra: dict[str, str] | None = None) -> None:
    """Print every flag with its values, default and meaning. `extra`: flags that are no settings, with their help text."""
    import tyro

    policy = make_dataclass("Policy", [("name", str, field(default=PolicyConfig.name))], bases=(BuiltInPolicy,), kw_only=True)
    env = [
        (key.partition(".")[2], documented(setting), field(default=setting.default))
        for key, setting in schema.settings.items() if key.startswith("env.")
    ]
    env_name = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV", help="See `puffer list`.")]
    parts: list[Any] = [
        ("env_name", env_name, field(default="")),
        *((name, Annotated[str, tyro.conf.arg(help=text)], field(default="")) for name, text in (extra or {}).items()),
        ("policy", policy, field(default_factory=policy)),
    ]
    if env:
        declared = make_dataclass("Env", env, kw_only=True)
        parts.append(("env", declared, field(default_factory=declared)))
    else:
        parts.append(("env", tyro.conf.Suppress[str], field(default="")))
    page = make_dataclass("Settings", parts, bases=(RunConfig,), kw_only=True)
    with contextlib.suppress(SystemExit):  # how tyro ends a help page
        tyro.cli(page, prog=prog, description=description, args=["--help"], config=(tyro.conf.FlagConversionOff,))


def documented(setting: Setting) -> Any:
    """The setting's type for tyro, with its range in the help text."""
    import tyro

    kind = setting.kind
    text = setting.help
    if kind.low is not None or kind.high is not None:
        text = f"{text} [{kind.low:g}, {kind.high:g}]".strip()
    plain: Any = Literal[kind.choices] if kind.choices else PYTHON_TYPES[kind.name]
    if setting.default is None or (isinstance(setting.default, str) and not kind.choices):
        plain = str | None
    return Annotated[plain, tyro.conf.arg(help=text or None, metavar=kind.metavar)]
