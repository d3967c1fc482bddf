"""Vectorised envs: `make_vec` picks and starts a back end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError
from pufferlib.vector.shape import VecShape, available_cpus, check_shape
from pufferlib.vector.vec_env import Batch, EnvFacts, VecEnv

__all__ = ["Batch", "EnvFacts", "VecEnv", "VecShape", "check_shape", "make_vec"]

EnvMaker = Callable[..., PufferEnv]
"""`maker(num_envs=k)` gives one PufferEnv batch of k envs."""


def make_vec(
    maker: EnvMaker,
    *,
    num_envs: int = 1,
    num_workers: int | None = None,
    batch_size: int | None = None,
    envs_per_worker: int | None = None,
    backend: str = "auto",
    seed: int | None = None,
    in_order: bool = False,
    backend_options: Mapping[str, Any] | None = None,
) -> VecEnv:
    """A VecEnv of `num_envs` envs.

    num_workers: threads or processes; None: for native envs as many as there are cores, if they divide num_envs; else 1
    batch_size: envs of one `recv`, a whole number of workers' shares that divides num_envs; None: all
    envs_per_worker: only checked, must equal num_envs / num_workers
    backend: auto (native envs: threads; others: processes, or serial where num_workers is 1) or a registered back end's name
    seed: used by the first reset that is given none
    in_order: `recv` hands batches over in the order they were sent, not in the order they finish
    backend_options: further arguments of the back end, such as `start_method`, `hang_timeout_s` and `restart_workers` of
        processes
    Raises ConfigError (a ValueError) before anything starts, naming the arguments, their values and what would work.
    """
    from pufferlib.plugins import registry
    from pufferlib.plugins.hints import provider

    native = is_native(maker)
    found = registry()
    cpus = available_cpus() if native and backend in ("auto", "threads") else 1
    shape = check_shape(num_envs, num_workers, batch_size, envs_per_worker, default_workers=cpus)
    names = {spec.name for spec in found.backends()}
    if backend not in names | {"auto"}:
        hint = provider(str(backend), {plugin.name for plugin in found.plugins() if plugin.status == "ok"})
        install = f"; install it with: {hint}" if hint else ""
        raise ConfigError(f"backend={backend!r} is not registered; registered: auto, {', '.join(sorted(names))}{install}")
    spec = found.find("backend", choose_backend(native, shape.num_workers, names) if backend == "auto" else backend)
    if spec.native_only and not native:
        raise ConfigError(f"backend={backend!r} steps native envs only, and this one is not; use auto or serial")
    target = found.resolve(spec.target, spec)
    options = dict(backend_options or {})
    check_options(spec.name, target, options)
    vec: VecEnv = target(maker, shape, seed=seed, in_order=in_order, **options)
    return vec


def check_options(backend: str, target: Callable[..., VecEnv], options: Mapping[str, Any]) -> None:
    """Raises ConfigError for an option that the back end does not have."""
    parameters = inspect.signature(target).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    own = sorted(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in ("seed", "in_order"))
    unknown = [name for name in options if name not in own]
    if unknown:
        raise ConfigError(
            f"backend_options[{unknown[0]!r}]: backend {backend!r} has no such option; it has {', '.join(own) or 'none'}"
        )


def choose_backend(native: bool, num_workers: int, registered: Collection[str]) -> str:
    """What `backend="auto"` means."""
    if native and "threads" in registered:
        return "threads"
    if not native and num_workers > 1 and "processes" in registered:
        return "processes"
    return "serial"


def is_native(maker: Any) -> bool:
    """Whether a maker's envs are C games, also where it is a functools.partial of such a class."""
    return bool(getattr(getattr(maker, "func", maker), "is_native", False))
