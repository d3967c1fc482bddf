"""Gymnasium envs: their batch, and every registered id as `gym-<id>`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import gymnasium

from pufferlib.emulation.batch import EmulatedBatch
from pufferlib.errors import EnvNotFoundError


class GymnasiumBatch(EmulatedBatch):
    """A batch of gymnasium.Env."""


def make_family(name: str) -> Callable[..., gymnasium.Env[Any, Any]]:
    """A factory for a Gymnasium id; `module:Id-v0` imports the module first. Raises EnvNotFoundError with Gymnasium's advice."""
    module, colon, env_id = name.rpartition(":")
    try:
        if colon:
            importlib.import_module(module)
        gymnasium.spec(env_id)
    except ImportError as error:
        raise EnvNotFoundError(f"gym-{name}: module {module!r} cannot be imported: {error}") from error
    except gymnasium.error.Error as error:
        raise EnvNotFoundError(f"gym-{name}: {error}") from error
    # Gymnasium's checker repeats, at every first step, what the batch checks anyway.
    return functools.partial(gymnasium.make, env_id, disable_env_checker=True)


def list_ids() -> list[str]:
    """Every id in Gymnasium's registry."""
    return sorted(gymnasium.registry)
