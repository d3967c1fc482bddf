"""What a sweep searches: one `Parameter` for each setting, together a `SearchSpace`.

The sampler thinks in the unit cube; Optuna's storage, and with it every other sampler and the dashboard, sees values as they are
trained with.

    space = SearchSpace.from_tables({
        "train.learning_rate": {"distribution": "log_normal", "min": 1e-5, "max": 1e-1, "mean": 1e-3},
        "train.gamma": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999},
    })
    values = space.suggest(trial)  # {"train.learning_rate": 0.00042, "train.gamma": 0.991}

Light: Optuna is imported when it is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pufferlib.errors import ConfigError

from .parameters import (
    Categorical,
    Floats,
    IntLogNormal,
    IntUniform,
    LogitNormal,
    LogNormal,
    NumberParameter,
    Parameter,
    Uniform,
    UniformPow2,
    parse_parameter,
)

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import BaseTrial

__all__ = [
    "Categorical",
    "Floats",
    "IntLogNormal",
    "IntUniform",
    "LogNormal",
    "LogitNormal",
    "NumberParameter",
    "Parameter",
    "SearchSpace",
    "Uniform",
    "UniformPow2",
]


class SearchSpace(Mapping[str, Parameter]):
    """The parameters of a sweep by name, in order. Points of the unit cube have one coordinate for each, in that order."""

    def __init__(self, parameters: Iterable[Parameter]):
        self.parameters = tuple(parameters)
        self.by_name = {parameter.name: parameter for parameter in self.parameters}
        if not self.parameters:
            raise ConfigError("a sweep needs at least one parameter to search")
        if len(self.by_name) < len(self.parameters):
            names = [parameter.name for parameter in self.parameters]
            raise ConfigError(f"parameters must have different names, got {names}")

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any]) -> SearchSpace:
        """A space from tables as they stand in a TOML file, nested by section or with dotted names.

        {"train": {"learning_rate": {"distribution": "log_normal", "min": 1e-5, "max": 1e-1, "mean": 1e-3}},
         "policy.name": {"distribution": "categorical", "choices": ["mlp", "lstm"]}}

        Keys: distribution (uniform, int_uniform, uniform_pow2, log_normal (log), int_log_normal (int_log), logit_normal (logit),
        categorical), min, max, and optionally mean and scale ("auto" is the same as leaving it out); for categorical, choices.
        Raises ConfigError that names the parameter, the key and what would work.
        """
        return cls(parse_parameter(name, table) for name, table in flat_tables(tables))

    def __getitem__(self, name: str) -> Parameter:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.parameters)

    def __repr__(self) -> str:
        return f"SearchSpace({list(self.parameters)!r})"

    def distributions(self) -> dict[str, BaseDistribution]:
        """What Optuna samples, by the names that it stores."""
        return {parameter.optuna_name: parameter.distribution() for parameter in self.parameters}

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        """Ask an Optuna trial (or a FrozenTrial) for a value of each parameter. Works with every sampler."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        values = {}
        for parameter in self.parameters:
            name, distribution = parameter.optuna_name, parameter.distribution()
            stored: Any
            if isinstance(distribution, CategoricalDistribution):
                stored = trial.suggest_categorical(name, distribution.choices)
            elif isinstance(distribution, IntDistribution):
                stored = trial.suggest_int(name, distribution.low, distribution.high, log=distribution.log)
            elif isinstance(distribution, FloatDistribution):
                stored = trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)
            values[parameter.name] = parameter.from_optuna(stored)
        return values

    def from_params(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Values from what Optuna stored (`trial.params`), or None where one of them is missing."""
        if any(parameter.optuna_name not in params for parameter in self.parameters):
            return None
        return {parameter.name: parameter.from_optuna(params[parameter.optuna_name]) for parameter in self.parameters}

    def to_params(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What Optuna stores for values, e.g. for `study.enqueue_trial`."""
        return {
            parameter.optuna_name: parameter.to_optuna(values[parameter.name])
            for parameter in self.parameters
            if parameter.name in values
        }

    def to_unit(self, values: Mapping[str, Any]) -> Floats:
        """The point of the unit cube, float64[parameters], for values by name."""
        return np.array([parameter.to_unit(values[parameter.name]) for parameter in self.parameters])

    def from_unit(self, point: Iterable[float]) -> dict[str, Any]:
        """Values by name for a point of the unit cube."""
        return {parameter.name: parameter.from_unit(float(u)) for parameter, u in zip(self.parameters, point, strict=True)}

    def snap(self, points: Floats) -> Floats:
        """Points moved to where the values that they stand for lie: float64[m, parameters], whole numbers on a grid."""
        return np.stack([parameter.snap(points[:, i]) for i, parameter in enumerate(self.parameters)], axis=1)


def flat_tables(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each parameter's dotted name and table: a table that names a distribution, or holds no further table, is a parameter's."""
    for key, table in tables.items():
        name = prefix + key
        if not isinstance(table, Mapping):
            raise ConfigError(f'{name}={table!r} must be a table such as {{distribution = "uniform", min = 0, max = 1}}')
        if "distribution" in table or not any(isinstance(value, Mapping) for value in table.values()):
            yield name, table
        else:
            yield from flat_tables(table, f"{name}.")
