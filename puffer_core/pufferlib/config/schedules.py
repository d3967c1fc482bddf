"""Settings that change over training: each is a function of the progress, 0 at the first step and 1 at `total_timesteps`.

    PuffeRL(env, policy, schedules={"ent_coef": "linear 0.02 0", "gamma": lambda progress: 0.97 + 0.02 * progress})

In files and flags a schedule is text, as `parse` reads it: `--schedule.ent-coef "linear 0.02 0"`, `[schedule] clip_coef = ...`.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

from pufferlib.config.train_config import TrainConfig, spell
from pufferlib.config.values import near
from pufferlib.errors import ConfigError

Schedule = Callable[[float], float]
"""From the progress in [0, 1] to the value."""

CHANGEABLE = (
    "learning_rate", "gamma", "gae_lambda", "rho_clip", "c_clip", "clip_coef", "vf_coef", "vf_clip_coef", "ent_coef", "target_kl",
    "max_grad_norm", "reward_scale", "reward_clip", "update_epochs",
)  # fmt: skip
"""The settings that training reads anew for every rollout. All others have shaped the arrays or the optimizer by then."""
FORMS = (
    "constant V; linear FROM TO; cosine FROM TO; piecewise 0:V 0.5:V 1:V (straight lines between); steps 0:V 0.5:V (each holds "
    "until the next); module:function of the progress"
)


@dataclass(frozen=True)
class Constant:
    """The same value throughout."""

    value: float

    def __call__(self, progress: float) -> float:
        return self.value


@dataclass(frozen=True)
class Linear:
    """A straight line from `start` to `end`."""

    start: float
    end: float

    def __call__(self, progress: float) -> float:
        return self.start + (self.end - self.start) * progress


@dataclass(frozen=True)
class Cosine:
    """Half a cosine wave from `start` to `end`: flat at both ends (Loshchilov and Hutter 2017, eq. 5)."""

    start: float
    end: float

    def __call__(self, progress: float) -> float:
        return self.end + (self.start - self.end) * 0.5 * (1 + math.cos(math.pi * progress))


@dataclass(frozen=True)
class Piecewise:
    """Values at points of the progress, with straight lines between them; before the first and after the last they hold.

    points: (progress, value), the progress rising from point to point
    steps: each value holds until the next point, instead of lines
    """

    points: tuple[tuple[float, float], ...]
    steps: bool = False

    def __post_init__(self) -> None:
        at = [point[0] for point in self.points]
        if not at or any(b <= a for a, b in itertools.pairwise(at)) or at[0] < 0 or at[-1] > 1:
            raise ConfigError(
                f"points must lie in [0, 1] and rise, got {' '.join(f'{a:g}:{v:g}' for a, v in self.points) or 'none'}"
            )

    def __call__(self, progress: float) -> float:
        before, after = self.points[0], self.points[-1]
        for point in self.points:
            if point[0] > progress:
                after = point
                break
            before = point
        if self.steps or before[0] >= progress or before is self.points[-1] or progress < self.points[0][0]:
            return before[1]
        return before[1] + (after[1] - before[1]) * (progress - before[0]) / (after[0] - before[0])


def parse(text: str, label: str = "a schedule") -> Schedule:
    """The schedule that `text` describes, see FORMS. Raises ConfigError, beginning with `label`."""
    word, *rest = text.split() or [""]
    try:
        if word == "constant" and len(rest) == 1:
            return Constant(number(rest[0]))
        if word in ("linear", "cosine") and len(rest) == 2:
            return (Linear if word == "linear" else Cosine)(number(rest[0]), number(rest[1]))
        if word in ("piecewise", "steps") and rest:
            pairs = [part.partition(":") for part in rest]
            return Piecewise(tuple((number(at), number(value)) for at, _, value in pairs), word == "steps")
        if ":" in word and not rest:
            return imported(word)
    except ConfigError as error:
        raise ConfigError(f"{label}: {error}") from None
    raise ConfigError(f"{label}: expected {FORMS}; got {text!r}")


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"expected a number, got {text!r}")
    return value


def imported(path: str) -> Schedule:
    """What `module:function` names."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be imported: {error}") from None
    if not callable(found):
        raise ConfigError(f"{path}: must be a function of the progress, got {found!r}")
    function: Schedule = found
    return function


def check_changeable(name: str) -> None:
    """Raise ConfigError, saying which settings may, for one that may not change while training goes on."""
    known = [part.name for part in fields(TrainConfig)]
    if name not in known:
        raise ConfigError(f"{name}: no such setting{near(name, CHANGEABLE)}")
    if name not in CHANGEABLE:
        raise ConfigError(f"{spell(name)} cannot change during training; those that can are {', '.join(CHANGEABLE)}")


def make_schedules(given: Mapping[str, Schedule | str | float], config: TrainConfig) -> dict[str, Schedule]:
    """Texts parsed, numbers made constant. Raises ConfigError for a setting that may not change or values out of its range."""
    made: dict[str, Schedule] = {}
    for name, schedule in given.items():
        check_changeable(name)
        label = f"schedule of {name}"
        if isinstance(schedule, (int, float)):
            made[name] = Constant(float(schedule))
        else:
            made[name] = parse(schedule, label) if isinstance(schedule, str) else schedule
        if not callable(made[name]):
            raise ConfigError(f"{label}: must be text, a number or a function of the progress, got {schedule!r}")
        for progress in (0.0, 0.5, 1.0):
            scheduled(config, {name: made[name]}, progress)
    return made


def scheduled(config: TrainConfig, schedules: Mapping[str, Schedule], progress: float) -> TrainConfig:
    """The settings at that progress. A learning rate may fall below min_learning_rate, which is where annealing would end."""
    values: dict[str, float] = {}
    for name, schedule in schedules.items():
        value = float(schedule(progress))
        values[name] = round(value) if name == "update_epochs" else value
    if "learning_rate" in values:
        values["min_learning_rate"] = min(config.min_learning_rate, values["learning_rate"])
    try:
        return replace(config, **values)  # type: ignore[arg-type]
    except ConfigError as error:
        raise ConfigError(f"schedule of {', '.join(schedules)} at progress {progress:g}: {error}") from None
