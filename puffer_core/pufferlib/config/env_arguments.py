"""The `[env]` settings: what an env declares, or what its constructor's signature says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pufferlib.config.run_config import Setting
from pufferlib.config.values import Kind
from pufferlib.native.arguments import Argument, Bool, Choice, File, Int, resolve

if TYPE_CHECKING:
    from pufferlib.plugins import EnvSpec

NOT_FOR_USERS = {"self", "num_envs", "seed", "buf", "render_mode"}
"""Parameters that the library itself fills."""


@dataclass(frozen=True)
class EnvArguments:
    """The arguments of one env. With `is_open` it takes others, too: TOML literals, checked by its own constructor."""

    settings: Mapping[str, Setting] = field(default_factory=dict)
    is_open: bool = False
    declared: Sequence[Argument] = ()

    def resolve(self, owner: str, given: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
        """`given`; where the env declares its arguments, over `fixed` (the record's own kwargs) and the defaults."""
        return vars(resolve(owner, self.declared, {**fixed, **given})) if self.declared else dict(given)


def env_arguments(spec: EnvSpec) -> EnvArguments:
    """What the env takes. This imports the env's module, which for native games is light."""
    from pufferlib.plugins import registry

    target = registry().resolve(spec.target, spec)
    declared = getattr(target, "arguments", None)
    if declared is not None:
        return EnvArguments({f"env.{argument.name}": setting_of(argument) for argument in declared}, declared=declared)
    return from_signature(target)


def setting_of(argument: Argument) -> Setting:
    """The setting of an argument that a native env declares."""
    default = "depends on the others" if callable(argument.default) else argument.default
    if isinstance(argument, Choice):
        kind = Kind("text", choices=argument.choices)
    elif isinstance(argument, Bool):
        kind = Kind("bool")
    elif isinstance(argument, File):
        kind = Kind("text")
    else:
        kind = Kind("int" if isinstance(argument, Int) else "float", low=argument.low, high=argument.high)
    return Setting(kind, default, argument.help)


def from_signature(target: Callable[..., Any]) -> EnvArguments:
    """The parameters of a constructor or factory as settings without a kind; open where it takes **kwargs."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return EnvArguments(is_open=True)
    names = [p.name for p in parameters if p.name not in NOT_FOR_USERS and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    is_open = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return EnvArguments({f"env.{name}": Setting(Kind("any")) for name in names}, is_open)
