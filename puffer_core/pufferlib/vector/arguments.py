"""Other arguments for envs that run already: makers with them, and a check that the new envs fit into the old ones' place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from pufferlib.errors import SpaceError
from pufferlib.vector.vec_env import EnvFacts

FIXED = ("observation_space", "action_space", "agents_per_env", "action_mask_size")
"""What arrays and policies were made for."""


def with_arguments(maker: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """The maker of the same envs with `arguments` over its own. Raises ConfigError where it makes envs that take none."""
    own = getattr(maker, "with_arguments", None)
    made: Callable[..., Any] = own(arguments) if own else functools.partial(maker, **arguments)
    return made


def check_fits(before: EnvFacts, after: EnvFacts, arguments: Mapping[str, Any]) -> None:
    """Raise SpaceError where envs with these arguments have other spaces or another number of agents."""
    for name in FIXED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            raise SpaceError(f"{given}: would change the envs' {name} from {old} to {new}, which running envs must keep")
