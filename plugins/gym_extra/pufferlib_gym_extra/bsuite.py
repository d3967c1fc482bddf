"""bsuite by Shimmy: `bsuite-<experiment>`, such as bsuite-deep-sea, in the setting that `--env.setting` chooses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium

from pufferlib.emulation.short_names import ShortNames
from pufferlib.errors import ConfigError
from pufferlib_gym_extra.needed import needed_for


def make(name: str) -> Callable[..., gymnasium.Env[Any, Any]]:
    """The factory of an experiment. Raises EnvNotFoundError with near names, EnvError with what to install."""
    return functools.partial(make_env, _experiments().find(name))


def names() -> list[str]:
    """What may follow `bsuite-`."""
    return _experiments().names()


def make_env(experiment: str, /, *, setting: int = 0, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """bsuite's env `<experiment>/<setting>` (Osband et al. 2020). Raises ConfigError where it has no such setting."""
    with needed_for("bsuite"):
        import bsuite
        from bsuite import sweep
        from shimmy.bsuite_compatibility import BSuiteCompatibilityV0
    bsuite_id = f"{experiment}/{setting}"
    count = sum(known.startswith(f"{experiment}/") for known in sweep.SWEEP)
    if bsuite_id not in sweep.SWEEP:
        raise ConfigError(f"setting={setting!r} must be 0 to {count - 1} for {experiment}")
    env: gymnasium.Env[Any, Any] = BSuiteCompatibilityV0(bsuite.load_from_id(bsuite_id), render_mode=render_mode)
    return env


def _experiments() -> ShortNames:
    with needed_for("bsuite"):
        from bsuite import sweep
    experiments = {bsuite_id.partition("/")[0] for bsuite_id in sweep.SWEEP}
    return ShortNames("bsuite", {experiment: experiment for experiment in experiments})
