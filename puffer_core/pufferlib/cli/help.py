"""The help page of a command's settings, rendered by tyro from the dataclasses and their docstrings."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping
from dataclasses import field, fields, make_dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

from pufferlib.cli.flags import Arguments
from pufferlib.config.run_config import BuiltInPolicy, RunConfig, Schema, Setting
from pufferlib.errors import PufferError

PYTHON_TYPES = {"bool": bool, "int": int, "float": float, "text": str, "texts": list[str], "any": str}
OUR_WORDS = {
    "{None}|INT": "INT|auto  ", "{None}|FLOAT": "FLOAT|auto  ", "{None}|STR": "STR|auto  ", "{None,": "{auto,", "None)": "auto)",
    "(default: '')": "             ", "(default: )": "           ",
}  # fmt: skip
"""tyro's words for what we spell otherwise, each of the same length, so that its frames stay straight."""


def print_run_settings(
    arguments: Arguments, prog: str, description: str, extra: dict[str, str], tables: Mapping[str, Any] | None = None
) -> None:
    """The help page of a command that trains: every setting of a run, and those of the loggers that the command line names.

    Where it names an env whose package works, also the env's own settings, and its preset's values.
    """
    from pufferlib.config.env_arguments import EnvArguments, env_arguments
    from pufferlib.config.logger_settings import logger_settings
    from pufferlib.config.resolve import resolve, schema_for
    from pufferlib.plugins import registry

    loggers = logger_settings(chosen=[given.value for given in arguments.flags if given.key == "logger"])
    found, config = EnvArguments(), RunConfig(env_name="")
    if arguments.positional:
        try:
            config = resolve(arguments.positional[0])
            found = env_arguments(registry().find_env(arguments.positional[0]))
        except PufferError as error:
            print(f"puffer: {error}", file=sys.stderr)
    else:
        description += f"\n`{prog} ENV --help` also shows the settings of that env, and the values of its preset.\n"
    print_settings(schema_for(found, loggers=loggers), prog, description, config, extra, tables)


def print_settings(
    schema: Schema,
    prog: str,
    description: str,
    config: RunConfig,
    extra: dict[str, str] | None = None,
    tables: Mapping[str, Any] | None = None,
) -> None:
    """Print every flag with its values, its default and its meaning.

    config: the values to show as defaults. extra: flags that are no settings, with their help text. tables: further tables by
    name, each an instance of the dataclass that declares its settings
    """
    import tyro

    shown = io.StringIO()
    page = settings_class(schema, config, extra or {}, tables or {})
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):  # an exit is how tyro ends a help page
        tyro.cli(page, prog=prog, description=description, args=["--help"], config=(tyro.conf.FlagConversionOff,))
    text = shown.getvalue()
    for theirs, ours in OUR_WORDS.items():
        text = text.replace(theirs, ours)
    print("\n".join(line.rstrip() for line in text.splitlines()))


def settings_class(schema: Schema, config: RunConfig, extra: dict[str, str], tables: Mapping[str, Any]) -> type:
    """A dataclass with a field for every flag and table, for tyro to describe."""
    import tyro

    env_name = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV", help="See `puffer list`.")]
    parts: list[Any] = [("env_name", env_name, field(default=""))]
    parts += [(name, Annotated[str, tyro.conf.arg(help=text)], field(default="")) for name, text in extra.items()]
    parts += [(name, type(table), field(default_factory=partial(replace, table))) for name, table in tables.items()]

    known = [part.name for part in fields(BuiltInPolicy)]
    kwargs = {key: value for key, value in config.policy.kwargs.items() if key in known}
    own: list[Any] = [("name", str, field(default=config.policy.name))]
    for name in known:
        setting = schema.settings[f"policy.{name}"]
        if setting.kind.name == "any":  # tyro would make a flag of each part of a list
            value = kwargs.pop(name, None)
            own.append((name, *documented(setting, None if value is None else str(value))))
    policy = make_dataclass("Policy", own, bases=(BuiltInPolicy,), kw_only=True)
    parts += [
        ("vec", type(config.vec), field(default_factory=lambda: replace(config.vec))),
        ("train", type(config.train), field(default_factory=lambda: replace(config.train))),
        ("policy", policy, field(default_factory=lambda: policy(**kwargs))),
    ]

    schedule = [(key.partition(".")[2], setting) for key, setting in schema.settings.items() if key.startswith("schedule.")]
    shown = make_dataclass("Schedule", [(name, *documented(setting, "")) for name, setting in schedule], kw_only=True)
    parts.append(("schedule", shown, field(default_factory=shown)))

    env = [(key.partition(".")[2], setting) for key, setting in schema.settings.items() if key.startswith("env.")]
    if env:
        described = [(name, *documented(setting, config.env.get(name, setting.default))) for name, setting in env]
        declared = make_dataclass("Env", described, kw_only=True)
        parts.append(("env", declared, field(default_factory=declared)))
    else:
        parts.append(("env", tyro.conf.Suppress[str], field(default="")))
    parts.append(("loggers", *logger_tables(schema, config)))
    return make_dataclass("Settings", parts, bases=(RunConfig,), kw_only=True)


def logger_tables(schema: Schema, config: RunConfig) -> tuple[Any, Any]:
    """The type and the field for [loggers]: a table for each logger whose settings the schema has."""
    import tyro

    by_logger: dict[str, list[Any]] = {}
    for key, setting in schema.settings.items():
        if key.startswith("loggers."):
            _, logger, name = key.split(".")
            given = config.loggers.get(logger, {}).get(name, setting.default)
            by_logger.setdefault(logger, []).append((name, *documented(setting, given)))
    if not by_logger:
        return tyro.conf.Suppress[str], field(default="")
    made = [(name, make_dataclass(name.title(), parts, kw_only=True)) for name, parts in by_logger.items()]
    tables = make_dataclass("Loggers", [(name, kind, field(default_factory=kind)) for name, kind in made], kw_only=True)
    return tables, field(default_factory=tables)


def documented(setting: Setting, default: Any) -> tuple[Any, Any]:
    """The type of an env's argument for tyro, with its range in the help text, and the field with its default."""
    import tyro

    kind = setting.kind
    text = setting.help
    if kind.low is not None or kind.high is not None:
        text = f"{text} [{kind.low:g}, {kind.high:g}]".strip()
    plain: Any = Literal[kind.choices] if kind.choices else PYTHON_TYPES[kind.name]
    if default is None or not isinstance(default, (bool, int, float, str)):
        plain, default = str | None, None
    return Annotated[plain, tyro.conf.arg(help=text or None, metavar=kind.metavar)], field(default=default)
