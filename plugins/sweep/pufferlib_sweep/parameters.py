"""The kinds of parameters of a sweep, each mapping its values to and from the unit interval.

In the unit interval equal distances are meant to matter equally: logarithmic for learning rates and step counts, in log-odds for
discounts. Light: Optuna is imported when it is asked.
"""

from __future__ import annotations

import difflib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pufferlib.errors import ConfigError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Floats = NDArray[np.float64]
DEFAULT_SCALE = 0.25
"""Standard deviation of a search prior whose scale is not given, as a part of the whole range in the unit interval."""


@dataclass(frozen=True)
class Parameter(ABC):
    """One setting that a sweep varies. `name` is the setting's dotted name, such as "train.learning_rate"."""

    name: str

    kind: ClassVar[str]
    """The word for it in a TOML table: `distribution = "..."`."""

    @property
    def optuna_name(self) -> str:
        """Under which Optuna stores it."""
        return self.name

    @property
    def prior(self) -> tuple[float, float] | None:
        """Centre and standard deviation of the search prior in the unit interval, or None where all values are alike."""
        return None

    @abstractmethod
    def to_unit(self, value: Any) -> float:
        """The value's place in [0, 1]; values beyond the limits go to the nearest end."""

    @abstractmethod
    def from_unit(self, u: float) -> Any:
        """The value at `u`, which is clamped to [0, 1]. The inverse of `to_unit`; whole numbers and choices are rounded to."""

    def snap(self, column: Floats) -> Floats:
        """`to_unit(from_unit(u))` of many coordinates in [0, 1]: where the values that they stand for lie. float64[m]"""
        return column

    @abstractmethod
    def distribution(self) -> BaseDistribution:
        """What Optuna samples, in Optuna's terms."""

    def to_optuna(self, value: Any) -> Any:
        """What Optuna stores for a value."""
        return value

    def from_optuna(self, stored: Any) -> Any:
        """The value that Optuna stored."""
        return stored


@dataclass(frozen=True)
class NumberParameter(Parameter):
    """A number in [min, max]. `mean` and `scale` say where good values are expected.

    mean: the centre of the search prior, in [min, max]. A sweep's first trial uses it, and early trials stay near it
    scale: the prior's standard deviation as a part of the whole range of the unit interval, > 0; 0.25 where only `mean` is given
    """

    min: float
    max: float
    mean: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        for key in ("min", "max", "mean", "scale"):
            value = getattr(self, key)
            if value is None and key in ("mean", "scale"):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
                raise ConfigError(f"{self.name}: {key}={value!r} must be a finite number")
        if not self.min < self.max:
            raise ConfigError(
                f"{self.name}: min={self.min!r} must be below max={self.max!r}; a fixed setting does not belong in a sweep"
            )
        self.check_limits()
        if self.mean is not None and not self.min <= self.mean <= self.max:
            raise ConfigError(f"{self.name}: mean={self.mean!r} must be in [min, max] = [{self.min!r}, {self.max!r}]")
        if self.scale is not None and self.scale <= 0:
            raise ConfigError(f"{self.name}: scale={self.scale!r} must be above 0 (a part of the whole range, e.g. 0.25)")

    def check_limits(self) -> None:
        """Raise ConfigError where min and max do not suit the kind."""

    @property
    def prior(self) -> tuple[float, float] | None:
        if self.mean is None and self.scale is None:
            return None
        return 0.5 if self.mean is None else self.to_unit(self.mean), DEFAULT_SCALE if self.scale is None else self.scale

    @staticmethod
    @abstractmethod
    def warp(value: float) -> float:
        """A monotone function in whose values the range is even."""

    @staticmethod
    @abstractmethod
    def unwarp(warped: float) -> float:
        """The inverse of `warp`."""

    def to_unit(self, value: Any) -> float:
        if value <= self.min:
            return 0.0
        if value >= self.max:
            return 1.0
        low, high = self.warp(self.min), self.warp(self.max)
        return min(max((self.warp(value) - low) / (high - low), 0.0), 1.0)

    def from_unit(self, u: float) -> Any:
        if u <= 0:
            return self.cast(self.min)
        if u >= 1:
            return self.cast(self.max)
        low, high = self.warp(self.min), self.warp(self.max)
        return self.cast(min(max(self.unwarp(low + u * (high - low)), self.min), self.max))  # rounding may step over an end

    def cast(self, value: float) -> float | int:
        return float(value)

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import FloatDistribution

        return FloatDistribution(float(self.min), float(self.max))


class Uniform(NumberParameter):
    """Even over [min, max]."""

    kind = "uniform"

    @staticmethod
    def warp(value: float) -> float:
        return float(value)

    @staticmethod
    def unwarp(warped: float) -> float:
        return warped


class LogNormal(NumberParameter):
    """Even over the logarithm of [min, max], normal there around `mean`. For learning rates and coefficients."""

    kind = "log_normal"

    @staticmethod
    def warp(value: float) -> float:
        return math.log(value)

    @staticmethod
    def unwarp(warped: float) -> float:
        return math.exp(warped)

    def check_limits(self) -> None:
        if self.min <= 0:
            raise ConfigError(f"{self.name}: min={self.min!r} must be above 0 in a logarithmic range; for 0, use uniform")

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import FloatDistribution

        return FloatDistribution(float(self.min), float(self.max), log=True)


class LogitNormal(NumberParameter):
    """Even over the log-odds log(x / (1 - x)) of [min, max] within (0, 1). For gamma and gae_lambda, which act through 1 - x.

    Optuna has no such distribution: its own samplers see an even range of plain values.
    """

    kind = "logit_normal"

    @staticmethod
    def warp(value: float) -> float:
        return math.log(value) - math.log1p(-value)

    @staticmethod
    def unwarp(warped: float) -> float:
        return 1 / (1 + math.exp(-warped))

    def check_limits(self) -> None:
        if self.min <= 0 or self.max >= 1:
            raise ConfigError(
                f"{self.name}: min={self.min!r} and max={self.max!r} must be within (0, 1), ends excluded, e.g. 0.8 and 0.9999"
            )


class WholeNumber(NumberParameter):
    """What the whole-number kinds share: limits that are whole, values of type int."""

    def check_limits(self) -> None:
        for key in ("min", "max"):
            if getattr(self, key) != int(getattr(self, key)):
                raise ConfigError(f"{self.name}: {key}={getattr(self, key)!r} must be a whole number for {self.kind}")
        super().check_limits()

    def cast(self, value: float) -> int:
        return round(value)


class IntUniform(WholeNumber, Uniform):
    """Whole numbers, all equally likely."""

    kind = "int_uniform"

    def from_unit(self, u: float) -> int:
        low, high = int(self.min), int(self.max)
        count = high - low + 1
        # equal shares of the interval, so that the ends are as likely as the rest
        return low + min(int(min(max(u, 0.0), 1.0) * count), count - 1)

    def snap(self, column: Floats) -> Floats:
        return snapped(column, int(self.max) - int(self.min) + 1)

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import IntDistribution

        return IntDistribution(int(self.min), int(self.max))


def snapped(column: Floats, count: int) -> Floats:
    """Coordinates moved to the nearest of `count` places that have equal shares of the interval."""
    return np.minimum(np.floor(column * count), count - 1) / (count - 1)


FINE = 1e-3
"""Places that lie closer together than this part of the unit interval are as good as continuous."""


class IntLogNormal(WholeNumber, LogNormal):
    """Whole numbers, even over their logarithm. For total_timesteps and other counts over orders of magnitude."""

    kind = "int_log_normal"

    def snap(self, column: Floats) -> Floats:
        if self.to_unit(self.min + 1) < FINE:  # whole numbers lie closest together at the top, and furthest apart here
            return column
        return np.array([self.to_unit(self.from_unit(u)) for u in column])

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import IntDistribution

        return IntDistribution(int(self.min), int(self.max), log=True)


class UniformPow2(WholeNumber):
    """Powers of two, all equally likely. For batch, network and env counts.

    Optuna stores the exponent under "log2 NAME": an ordered number, so that every sampler sees 512 between
    256 and 1024.
    """

    kind = "uniform_pow2"

    @staticmethod
    def warp(value: float) -> float:
        return math.log2(value)

    @staticmethod
    def unwarp(warped: float) -> float:
        return math.pow(2, warped)

    def check_limits(self) -> None:
        super().check_limits()
        for key in ("min", "max"):
            value = int(getattr(self, key))
            if value < 1 or value & (value - 1):
                below = 1 << max(value.bit_length() - 1, 0) if value > 0 else 1
                near = f"{below} or {2 * below}" if value > 1 else "1"
                raise ConfigError(f"{self.name}: {key}={value} must be a power of two, e.g. {near}")

    @property
    def exponents(self) -> tuple[int, int]:
        return int(self.min).bit_length() - 1, int(self.max).bit_length() - 1

    def from_unit(self, u: float) -> int:
        low, high = self.exponents
        return 1 << IntUniform("", low, high).from_unit(u)

    def snap(self, column: Floats) -> Floats:
        low, high = self.exponents
        return snapped(column, high - low + 1)

    @property
    def optuna_name(self) -> str:
        return f"log2 {self.name}"

    def to_optuna(self, value: int) -> int:
        return round(math.log2(value))

    def from_optuna(self, stored: int) -> int:
        return 1 << int(stored)

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import IntDistribution

        return IntDistribution(*self.exponents)


@dataclass(frozen=True)
class Categorical(Parameter):
    """One of several values without an order: strings, numbers or truth values."""

    choices: tuple[str | int | float | bool, ...]

    kind: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        if not isinstance(self.choices, (list, tuple)):
            raise ConfigError(f"{self.name}: choices={self.choices!r} must be a list")
        object.__setattr__(self, "choices", tuple(self.choices))
        wrong = [choice for choice in self.choices if not isinstance(choice, (str, int, float, bool))]
        if wrong:
            raise ConfigError(f"{self.name}: choice {wrong[0]!r} must be a string, a number or a truth value")
        distinct = {(type(choice), choice) for choice in self.choices}
        if len(distinct) < 2 or len(distinct) != len(self.choices):
            raise ConfigError(f"{self.name}: choices={list(self.choices)!r} must be at least two, all different")

    def to_unit(self, value: Any) -> float:
        for index, choice in enumerate(self.choices):
            if type(choice) is type(value) and choice == value:
                return index / (len(self.choices) - 1)
        raise ConfigError(f"{self.name}: {value!r} is not among the choices {list(self.choices)!r}")

    def from_unit(self, u: float) -> str | int | float | bool:
        return self.choices[IntUniform("", 0, len(self.choices) - 1).from_unit(u)]

    def snap(self, column: Floats) -> Floats:
        return snapped(column, len(self.choices))

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.choices)


KINDS: dict[str, type[NumberParameter]] = {
    "uniform": Uniform,
    "int_uniform": IntUniform,
    "uniform_pow2": UniformPow2,
    "log_normal": LogNormal,
    "log": LogNormal,
    "int_log_normal": IntLogNormal,
    "int_log": IntLogNormal,
    "logit_normal": LogitNormal,
    "logit": LogitNormal,
}


def parse_parameter(name: str, table: Mapping[str, Any]) -> Parameter:
    """One parameter from its table."""
    words = [*KINDS, Categorical.kind]
    kind = table.get("distribution")
    if kind not in words:
        near = difflib.get_close_matches(str(kind), words, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(words)}"
        raise ConfigError(f"{name}: distribution={kind!r} is not known; {hint}")
    keys = ("choices",) if kind == Categorical.kind else ("min", "max", "mean", "scale")
    for key in table:
        if key not in ("distribution", *keys):
            raise ConfigError(f"{name}: {key!r} is not known for {kind}; known: {', '.join(keys)}")
    missing = [key for key in keys[: 1 if kind == Categorical.kind else 2] if key not in table]
    if missing:
        raise ConfigError(f"{name}: {kind} needs {' and '.join(missing)}")
    if kind == Categorical.kind:
        return Categorical(name, table["choices"])
    scale = None if table.get("scale") == "auto" else table.get("scale")
    return KINDS[kind](name, table["min"], table["max"], table.get("mean"), scale)
