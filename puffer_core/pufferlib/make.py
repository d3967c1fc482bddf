"""make() and emulate(): from a name, a class, a factory or an env to a VecEnv of many.

The way: the registry finds a name's target, `makers.env_maker` turns the target into a maker of PufferEnv batches, and
`vector.make_vec` starts a back end on it. Listing and registering names import nothing heavy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from pufferlib.plugins import EnvSpec, registry

if TYPE_CHECKING:
    from pufferlib.vector import VecEnv


def make(
    name: str,
    *,
    num_envs: int = 1,
    num_workers: int | None = None,
    batch_size: int | None = None,
    envs_per_worker: int | None = None,
    backend: str = "auto",
    seed: int | None = None,
    in_order: bool = False,
    render_mode: str | None = None,
    backend_options: Mapping[str, Any] | None = None,
    check: Literal["first", "always", "off"] = "first",
    **env_kwargs: Any,
) -> VecEnv:
    """A VecEnv of `num_envs` envs of a registered name, such as `ocean-breakout` or `gym-CartPole-v1`.

    `module:name` imports the module first, so that a script can register its own. See `pufferlib.vector.make_vec` for the
    counts and the back ends; `env_kwargs` go to the env. Raises EnvNotFoundError, with near matches and what to install.

    check: how closely the observations of Python envs are looked at. Types, shapes and keys always are. first: NaN is an
        error, a number outside of its Box's bounds a warning, if it happens in the first 100 steps; always: both are errors
        at every step; off: neither is looked for.
    """
    from pufferlib.makers import env_maker
    from pufferlib.vector import make_vec

    spec = registry().find_env(name)
    maker = env_maker(registry().resolve(spec.target, spec), {**spec.kwargs, **env_kwargs}, render_mode, check)
    vec = make_vec(
        maker,
        num_envs=num_envs,
        num_workers=num_workers,
        batch_size=batch_size,
        envs_per_worker=envs_per_worker,
        backend=backend,
        seed=seed,
        in_order=in_order,
        backend_options=backend_options,
    )
    vec.name = spec.name
    return vec


def emulate(
    env: Any,
    *,
    num_envs: int = 1,
    num_workers: int | None = None,
    batch_size: int | None = None,
    envs_per_worker: int | None = None,
    backend: str = "auto",
    seed: int | None = None,
    in_order: bool = False,
    render_mode: str | None = None,
    backend_options: Mapping[str, Any] | None = None,
    check: Literal["first", "always", "off"] = "first",
    **env_kwargs: Any,
) -> VecEnv:
    """A VecEnv of `num_envs` copies of a foreign env: a class, a factory without positional arguments, or an env.

    An env is used as the first of the copies; the others are made from its Gymnasium `spec`, so one without a spec cannot be
    copied: give its class or a factory. A list of factories makes one env each, for envs that differ. Everything else as in
    `make`.
    """
    from pufferlib.errors import ConfigError
    from pufferlib.makers import env_maker
    from pufferlib.vector import make_vec

    if isinstance(env, (list, tuple)):
        if num_envs not in (1, len(env)) or not env:
            raise ConfigError(f"num_envs={num_envs} must be the number of factories, {len(env)}, or be left out")
        num_envs = len(env)
    maker = env_maker(env, env_kwargs, render_mode, check)
    return make_vec(
        maker,
        num_envs=num_envs,
        num_workers=num_workers,
        batch_size=batch_size,
        envs_per_worker=envs_per_worker,
        backend=backend,
        seed=seed,
        in_order=in_order,
        backend_options=backend_options,
    )


def list_envs() -> list[str]:
    """Every registered env name. Families such as `gym-<id>` are left out: listing them would import their packages."""
    return [spec.name for spec in registry().envs()]


def register(
    name: str,
    target: str | Callable[..., Any],
    *,
    summary: str = "",
    kwargs: Mapping[str, Any] | None = None,
    aliases: tuple[str, ...] = (),
    license: str = "",
) -> None:
    """Register an env from a script; packages do it by an entry point instead. Raises PluginError if the name is taken."""
    registry().register(EnvSpec(name, target, summary, kwargs or {}, None, aliases, license))


class _CallableModule(ModuleType):
    """`import pufferlib.make` puts this module where users expect the function; calling either does the same."""

    def __call__(self, *args: Any, **kwargs: Any) -> VecEnv:
        return make(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
