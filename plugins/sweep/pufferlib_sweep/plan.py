"""What a sweep does, made from an env's name, its preset, a file and flags: the settings that all trials share, and the space.

    plan = make_plan("ocean-breakout", flags)
    space = SearchSpace.from_tables(plan.space)
    tables = plan.trial_tables({"train.gamma": 0.98})  # the settings of a trial, as `puffer train --config` takes them

Everything that could go wrong with a value is found out here, before the first trial.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pufferlib.config.files import read_toml
from pufferlib.config.resolve import base_settings, resolve, schema_for
from pufferlib.config.run_config import FEED_FORWARD_POLICIES, SWEEP_TABLE, Given, RunConfig, Schema, merge, settings_of
from pufferlib.errors import ConfigError
from pufferlib_sweep.settings import CHANGEABLE, SweepConfig

DEFAULT_SPACE = Path(__file__).with_name("default_space.toml")
NOT_SEARCHED = ("train.seed", "train.device", "train.deterministic", "train.log_interval_s")
"""Set by the sweep for each trial, or of no effect on what is learnt."""
ROW_INTERVAL_S = 0.5
"""Trials write a row of metrics that often at most, unless the user says otherwise: the curve of a short one needs some."""
DIGITS = 8
"""Of the numbers that trials train with: best.toml is for people, too."""
Tables = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """A sweep's settings, ready to run.

    tables: RunConfig.tables() of every trial, before its own values. space: the tables of the search space by dotted name, each
    with its mean. given: the settings that the user gave, by dotted name, which are therefore not searched
    """

    env_name: str
    sweep: SweepConfig
    tables: Tables
    space: dict[str, Tables]
    given: dict[str, Any] = field(default_factory=dict)

    def trial_tables(self, values: Mapping[str, Any], seed: int = 0) -> Tables:
        """The settings of one trial. seed: added to train.seed."""
        tables = copy.deepcopy(self.tables)
        whole = whole_settings()
        for name, value in values.items():
            table, _, key = name.partition(".")
            if isinstance(value, float):
                value = round(value) if name in whole else float(f"{value:.{DIGITS}g}")
            tables[table][key] = value
        tables["train"]["seed"] += seed
        return tables

    def as_record(self) -> Tables:
        """Plain values for TOML and JSON; `from_record` reads them back."""
        return {
            "env_name": self.env_name, SWEEP_TABLE: asdict(self.sweep), "settings": self.tables, "given": self.given,
            "space": self.space,
        }  # fmt: skip

    def comparable(self) -> Tables:
        """What trials must have in common."""
        settings = {name: table for name, table in self.tables.items() if isinstance(table, Mapping)}
        return {**self.as_record(), SWEEP_TABLE: unchangeable(self.sweep), "settings": settings}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Plan:
        """Raises ConfigError where a key is missing, or a setting of the sweep is not known."""
        try:
            sweep = sweep_config(
                [[Given(f"{SWEEP_TABLE}.{k}", v, f"[sweep] {k}", False) for k, v in record[SWEEP_TABLE].items()]]
            )
            return cls(record["env_name"], sweep, record["settings"], record["space"], record["given"])
        except KeyError as error:
            raise ConfigError(f"not the record of a sweep: {error} is missing") from None

    def check_same(self, other: Plan, where: str) -> None:
        """Raise ConfigError if trials of the two plans could not be compared. where: what `other` is the plan of."""
        mine, theirs = (p.comparable() for p in (self, other))
        for part in ("env_name", SWEEP_TABLE, "space", "settings"):
            if mine[part] != theirs[part]:
                name, ours, old = first_difference(mine[part], theirs[part], "" if part != SWEEP_TABLE else "sweep.")
                what = "searches" if part == "space" else "has"
                raise ConfigError(
                    f"{where} is of another sweep: it {what} {name or part} {old}, not {ours}; go on with it by "
                    f"--sweep.resume DIR alone, or start a new one in another --run-dir"
                )


def make_plan(
    env_name: str,
    flags: Iterable[Given] = (),
    file: str | Path | None = None,
    search_space: Mapping[str, Any] | None = None,
) -> Plan:
    """The plan of a sweep. Raises EnvNotFoundError or ConfigError: a value at either end of the space is tried as well.

    flags: of the run and of the sweep. file: as `puffer train --config` takes it, with a table [sweep] perhaps
    search_space: tables of the space, in place of the default one and of those in the preset and the file
    """
    from pufferlib.plugins import registry

    spec = registry().find_env(env_name)
    preset = registry().preset_path(spec)
    of_sweep = [given for given in flags if given.key.startswith(f"{SWEEP_TABLE}.")]
    of_run = [given for given in flags if not given.key.startswith(f"{SWEEP_TABLE}.")]
    layers: list[list[Given]] = []
    spaces: list[dict[str, Tables | None]] = []
    for path in (preset, file):
        settings, tables = sweep_table(path) if path else ([], {})
        layers.append(settings)
        spaces.append(tables)
    sweep = sweep_config([*layers, of_sweep])
    config = resolve(env_name, of_run, file)
    mine = Trials(env_name, of_run, file, config)
    if search_space is not None:
        spaces = [{}, flatten(search_space)]
    defaults = mine.default_space() if sweep.defaults and search_space is None else {}
    wanted: dict[str, Tables | None] = {**defaults, **spaces[0], **spaces[1]}
    given = mine.given(spaces[1])
    space = {name: mine.with_mean(name, table) for name, table in wanted.items() if table is not None and name not in given}
    if not space:
        raise ConfigError("nothing is left to search: every setting of the search space is given; leave some of the flags out")
    mine.check(space)
    shared = config.tables()
    shared["env_name"] = env_name  # as it was given: `module:name` imports the module in each trial
    if "train.log_interval_s" not in given:
        shared["train"]["log_interval_s"] = min(ROW_INTERVAL_S, config.train.log_interval_s)
    return Plan(env_name, sweep, shared, space, given)


@dataclass
class Trials:
    """What the trials of a sweep have in common: where their settings come from."""

    env_name: str
    flags: Sequence[Given]
    file: str | Path | None
    config: RunConfig

    def default_space(self) -> dict[str, Tables]:
        """default_space.toml, without what cannot be searched here."""
        config, space = self.config, read_toml(DEFAULT_SPACE)
        left_out = {f"train.{name}" for name in config.schedule}
        if config.train.batch_size:
            left_out.add("train.horizon")
        if config.vec.num_workers or config.vec.batch_size or config.vec.envs_per_worker:
            left_out.add("vec.num_envs")
        if config.policy.name not in FEED_FORWARD_POLICIES or config.train.prio_alpha:
            left_out |= {"train.horizon", "train.minibatch_size"}  # these learn from whole segments: not every pair fits
        space = {name: self.absolute(name, table) for name, table in space.items() if name not in left_out}
        rate = space.get("train.learning_rate")
        if rate is not None:
            rate["min"] = max(rate["min"], config.train.min_learning_rate)
        return space

    def absolute(self, name: str, table: Tables) -> Tables:
        """`times` as min and max. A power of two is rounded away from the run's own value."""
        table, times = dict(table), table.get("times")
        if times is None:
            return table
        own, is_pow2 = self.own_value(name), table["distribution"] == "uniform_pow2"
        del table["times"]
        low, high = (max(1, round(own * factor)) for factor in times)
        if is_pow2:
            low, high = 1 << (low.bit_length() - 1), 1 << max(high - 1, 1).bit_length()
        return {**table, "min": low, "max": max(high, low + 1)}

    def own_value(self, name: str) -> Any:
        """The run's value of a setting, None where it has none."""
        table, _, key = name.partition(".")
        value = self.config.tables().get(table, {}).get(key)
        return None if value == "auto" else value

    def with_mean(self, name: str, table: Tables) -> Tables:
        """The table; where it names no mean, the run's own value is it, if it lies in the range."""
        own = self.own_value(name)
        is_number = isinstance(own, (int, float)) and not isinstance(own, bool)
        if "mean" in table or table.get("distribution") == "categorical" or not is_number:
            return table
        low, high = table.get("min"), table.get("max")
        inside = isinstance(low, (int, float)) and isinstance(high, (int, float)) and low <= own <= high
        return {**table, "mean": own} if inside else table

    def given(self, searched: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that flags or the file give. What the file both gives and searches is searched from there."""
        keys = list(dict.fromkeys(given.key for given in self.flags if "." in given.key))
        if self.file:
            for table, values in read_toml(self.file).items():
                if isinstance(values, Mapping) and table in self.config.tables():
                    keys += [f"{table}.{key}" for key in values if f"{table}.{key}" not in {*searched, *keys}]
        tables = self.config.tables()
        return {key: tables[key.partition(".")[0]].get(key.partition(".")[2], "auto") for key in keys}

    def check(self, space: Mapping[str, Tables]) -> None:
        """Raise ConfigError, with near matches, for an unknown setting, or a value in the space that training would refuse."""
        from pufferlib.config.env_arguments import env_arguments
        from pufferlib.plugins import registry
        from pufferlib_sweep.space import SearchSpace

        schema = schema_for(env_arguments(registry().find_env(self.env_name)), self.config.policy.name)
        for name in space:
            label = f"[{SWEEP_TABLE}.{name}]"
            if "." not in name or schema.find(name) is None:
                raise ConfigError(f"{label}: no such setting{schema.suggest(Given(name, None, label, False))}")
            if name in NOT_SEARCHED:
                raise ConfigError(f"{label}: {name} cannot be searched, it does not change what is learnt")
            scheduled = self.config.schedule.get(name.removeprefix("train."))
            if name.startswith("train.") and scheduled:
                raise ConfigError(
                    f"{label}: {name} follows [schedule] {scheduled!r}, so its own value has no effect; search "
                    f"schedule.{name.removeprefix('train.')} by choices instead"
                )
        for parameter in SearchSpace.from_tables(space).values():
            ends = getattr(parameter, "choices", None) or (parameter.from_unit(0.0), parameter.from_unit(1.0))
            for value in ends:
                label = f"[{SWEEP_TABLE}.{parameter.name}] {value!r}"
                try:
                    resolve(self.env_name, [*self.flags, Given(parameter.name, value, label, False)], self.file)
                except ConfigError as error:
                    raise ConfigError(str(error) if label in str(error) else f"{label}: {error}") from None


def sweep_schema() -> Schema:
    """The settings of a sweep itself."""
    return Schema(settings_of(SweepConfig, SWEEP_TABLE))


def sweep_config(layers: Iterable[Iterable[Given]]) -> SweepConfig:
    """The sweep's own settings, later layers over earlier ones. Raises ConfigError."""
    values, _ = merge(sweep_schema(), layers)
    return SweepConfig(**{key.partition(".")[2]: value for key, value in values.items()})


def sweep_table(path: str | Path) -> tuple[list[Given], dict[str, Tables | None]]:
    """The sweep's own settings in a file's table [sweep], and the tables of its space; None: not searched.

    Raises ConfigError where something in it is neither.
    """
    table = read_toml(path).get(SWEEP_TABLE, {})
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path}: [{SWEEP_TABLE}] must be a table, got {table!r}")
    own = {key: value for key, value in table.items() if not isinstance(value, Mapping) and "." not in key}
    settings = [Given(f"{SWEEP_TABLE}.{key}", value, f"{path} [{SWEEP_TABLE}] {key}", False) for key, value in own.items()]
    return settings, flatten({key: value for key, value in table.items() if key not in own})


def flatten(tables: Mapping[str, Any]) -> dict[str, Tables | None]:
    """The tables of a space by dotted name; None where `false` stands for one."""
    from pufferlib_sweep.space import flat_tables

    left_out: list[str] = []

    def kept(part: Mapping[str, Any], prefix: str) -> Tables:
        found = {}
        for key, value in part.items():
            if value is False and "distribution" not in part:
                left_out.append(prefix + key)
            elif not isinstance(value, Mapping) or "distribution" in value or not value:
                found[key] = value
            elif inner := kept(value, f"{prefix}{key}."):
                found[key] = inner
        return found

    tables = kept(tables, "")
    return {**{name: dict(table) for name, table in flat_tables(tables)}, **dict.fromkeys(left_out)}


@functools.cache
def whole_settings() -> frozenset[str]:
    """The settings whose values are whole numbers."""
    return frozenset(name for name, setting in base_settings().items() if setting.kind.name == "int")


def unchangeable(sweep: SweepConfig) -> Tables:
    """The settings that stay as they are while a sweep lasts."""
    return {name: value for name, value in asdict(sweep).items() if name not in (*CHANGEABLE, "name")}


def first_difference(mine: Any, theirs: Any, prefix: str = "") -> tuple[str, Any, Any]:
    """The dotted name and the two values where nested tables first differ."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for key in [*mine, *(key for key in theirs if key not in mine)]:
            if mine.get(key) != theirs.get(key):
                return first_difference(mine.get(key, "nothing"), theirs.get(key, "nothing"), f"{prefix}{key}.")
    return prefix.removesuffix("."), mine, theirs
