"""Building a policy from its registered name."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from typing import Any

import torch
from torch import nn

from pufferlib.errors import ConfigError
from pufferlib.plugins import registry


def build(name: str, observation_space: Any, action_space: Any, seed: int | None, kwargs: dict[str, Any]) -> nn.Module:
    """See `pufferlib.policies.build_policy`."""
    target = resolve_policy(name)
    check_settings(name, target, kwargs)
    with torch.random.fork_rng(devices=[]) if seed is not None else contextlib.nullcontext():
        if seed is not None:
            torch.manual_seed(seed)
        policy: nn.Module = target(observation_space, action_space, **kwargs)
    policy.spec = (name, dict(kwargs))  # type: ignore[assignment]
    return policy


def resolve_policy(name: str) -> Any:
    """The class or function registered under `name`. Raises PluginError with near matches."""
    known = registry()
    record = known.find("policy", name)
    return known.resolve(record.target, record)


def check_settings(name: str, target: Any, kwargs: dict[str, Any]) -> None:
    """Raise ConfigError for a setting that the policy does not take, or one that it needs."""
    parameters = inspect.signature(target).parameters
    for key, parameter in parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty and key not in kwargs:
            raise ConfigError(f"policy {name!r} needs the setting {key!r}")
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    settings = [p for p in parameters if p not in ("observation_space", "action_space")]
    for key in kwargs:
        if key not in settings:
            near = difflib.get_close_matches(key, settings, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(settings)}"
            raise ConfigError(f"policy {name!r} has no setting {key!r}; {hint}")
