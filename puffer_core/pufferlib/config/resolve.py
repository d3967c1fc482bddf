"""From an env's name, its preset, a --config file and flags to one RunConfig."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pufferlib.config.env_arguments import EnvArguments, env_arguments
from pufferlib.config.logger_settings import logger_settings
from pufferlib.config.run_config import (
    BUILT_IN_POLICIES,
    BuiltInPolicy,
    Given,
    PolicyConfig,
    RunConfig,
    Schema,
    Setting,
    VecConfig,
    build,
    given_in_file,
    given_in_table,
    merge,
    settings_of,
)
from pufferlib.config.schedules import CHANGEABLE
from pufferlib.config.self_play_config import SelfPlayConfig
from pufferlib.config.train_config import TrainConfig
from pufferlib.config.values import Kind
from pufferlib.config.wrappers_config import WrappersConfig


def base_settings() -> dict[str, Setting]:
    """The settings of every run, whatever the env."""
    return {
        **settings_of(
            RunConfig, skip=("env_name", "policy", "schedule", "self_play", "wrappers", "loggers", "env", "vec", "train")
        ),
        **settings_of(VecConfig, "vec"),
        **settings_of(TrainConfig, "train"),
        **{f"schedule.{name}": Setting(Kind("text"), "", f"How {name} changes over training.") for name in CHANGEABLE},
        **settings_of(SelfPlayConfig, "self_play"),
        **settings_of(WrappersConfig, "wrappers"),
        **settings_of(PolicyConfig, "policy", skip=("kwargs",)),
        **settings_of(BuiltInPolicy, "policy"),
    }


def schema_for(
    arguments: EnvArguments, policy_name: str = PolicyConfig.name, loggers: Mapping[str, Setting] | None = None
) -> Schema:
    """The settings of a run with this env and policy, and with the settings of these loggers."""
    settings = base_settings()
    open_tables = {"env"} if arguments.is_open else set()
    if policy_name not in BUILT_IN_POLICIES:
        open_tables.add("policy")
        settings = {key: value for key, value in settings.items() if not key.startswith("policy.") or key == "policy.name"}
    return Schema({**settings, **(loggers or {}), **arguments.settings}, frozenset(open_tables))


def resolve(
    env_name: str, flags: Iterable[Given] = (), file: str | Path | None = None, base: Mapping[str, Any] | None = None
) -> RunConfig:
    """The settings of a run. Raises EnvNotFoundError or ConfigError.

    base: RunConfig.tables() of an earlier run, which then takes the place of the defaults and the preset
    """
    from pufferlib.plugins import registry

    spec = registry().find_env(env_name)
    preset = registry().preset_path(spec)
    layers: list[list[Given]] = []
    if base is not None:
        layers.append(given_in_tables(base))
    elif preset is not None:
        layers.append(given_in_file(preset))
    layers += [given_in_file(file) if file else [], list(flags)]
    layers, policy_name = for_the_last_policy(layers)
    arguments = env_arguments(spec)
    loggers = logger_settings((given.key for layer in layers for given in layer), known=base or {})
    values, labels = merge(schema_for(arguments, policy_name, loggers), layers)
    config = build(env_name, values, labels)
    registry().find("policy", config.policy.name)  # both known now, rather than when torch is loaded
    config.env = arguments.resolve(spec.name, config.env, spec.kwargs)
    return config


def for_the_last_policy(layers: Sequence[Sequence[Given]]) -> tuple[list[list[Given]], str]:
    """The layers without settings of a policy that a later layer replaces by another, and the name of the one that stays.

    Between built-in policies the settings that they share stay: `--policy.name lstm` keeps the preset's hidden_size.
    """
    name = PolicyConfig.name
    kept: list[list[Given]] = []
    for layer in layers:
        named = [str(given.value) for given in layer if given.key == "policy.name"]
        if named and named[-1] != name:
            taken = [BUILT_IN_POLICIES.get(policy, frozenset()) for policy in (name, named[-1])]
            shared = {f"policy.{key}" for key in taken[0] & taken[1]}
            kept = [[g for g in old if not g.key.startswith("policy.") or g.key in shared] for old in kept]
            name = named[-1]
        kept.append(list(layer))
    return kept, name


def given_in_tables(tables: Mapping[str, Any]) -> list[Given]:
    """The settings of an earlier run."""
    return [given for name, value in tables.items() if isinstance(value, Mapping) for given in given_in_table(name, value)] + [
        Given(key, tables[key], key, False) for key in ("tag", "logger", "callback") if key in tables
    ]
