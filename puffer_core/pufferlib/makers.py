"""From a class, a factory or an env to a maker: `maker(num_envs=k)` gives one PufferEnv batch of k envs.

| what is given | its batch |
|---|---|
| a NativeEnv class, or a class or function with a parameter `num_envs` | itself |
| a PufferEnv class, native style | Stacked |
| a PufferEnv class, declarative style | EmulatedBatch, or MultiAgentBatch where its values are dicts keyed by agent |
| a Gymnasium env, its class, or a factory of one | EmulatedBatch |
| anything that a plugin's EmulatorSpec knows | that emulator's batch |
| a list of such factories, one per env | the batch of the first one's kind |
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, EnvError
from pufferlib.numbering import first_env
from pufferlib.plugins import registry


def env_maker(target: Any, kwargs: Mapping[str, Any], render_mode: str | None = None) -> Callable[..., PufferEnv]:
    """The maker behind a target. Builds no env."""
    if render_mode is not None:
        kwargs = {**kwargs, "render_mode": render_mode}
    if isinstance(target, (list, tuple)):
        return EachItsOwn([functools.partial(factory, **kwargs) for factory in target])
    if not callable(target) or (not isinstance(target, type) and hasattr(target, "step") and hasattr(target, "reset")):
        if kwargs:
            raise ConfigError(f"{', '.join(kwargs)}: an existing env takes no keyword arguments; give its class or a factory")
        return ForeignMaker(Copies(target))
    made = functools.partial(target, **kwargs)
    if getattr(target, "is_native", False) or "num_envs" in _parameters(target):
        return made
    return ForeignMaker(made)


class ForeignMaker:
    """A maker for envs whose API shows once the first of them exists."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.factory = factory

    def __call__(self, num_envs: int = 1, buf: Any = None) -> PufferEnv:
        waiting = [self.factory()]
        adapter = find_emulator(waiting[0])
        return adapter(lambda: waiting.pop() if waiting else self.factory(), num_envs=num_envs, buf=buf)


class EachItsOwn:
    """A maker for envs that differ in more than their seed: the VecEnv's env k comes from factories[k]."""

    def __init__(self, factories: Sequence[Callable[[], Any]]) -> None:
        self.factories = factories

    def __call__(self, num_envs: int = 1, buf: Any = None) -> PufferEnv:
        first = first_env.get()
        left = iter(self.factories[first : first + num_envs])
        return ForeignMaker(lambda: next(left)())(num_envs, buf)


class Copies:
    """A factory that gives an existing env first, then new ones made from its Gymnasium spec."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._given = False

    def __call__(self) -> Any:
        if not self._given:
            self._given = True
            return self._env
        spec = getattr(self._env, "spec", None)
        if spec is None:
            raise EnvError(
                f"{type(self._env).__name__} cannot be copied without a Gymnasium spec: give its class or a factory, as in "
                f"emulate(lambda: {type(self._env).__name__}(...), num_envs=...)"
            )
        import gymnasium

        return gymnasium.make(spec)


def find_emulator(env: Any) -> Callable[..., PufferEnv]:
    """The adapter of an env, by the names of its classes, the most derived first. Raises EnvError naming the class."""
    if isinstance(env, PufferEnv) and hasattr(env, "single_observation_space"):
        PufferEnv.__init__(env, getattr(env, "buffers", None))  # once more, for what was set after the first time
        from pufferlib.emulation.stacked import Stacked

        return Stacked
    emulators = registry().emulators()
    for cls in type(env).__mro__:
        for spec in emulators:
            if f"{cls.__module__}:{cls.__qualname__}" in spec.classes:
                return registry().resolve(spec.target, spec)  # type: ignore[no-any-return]
    known = ", ".join(sorted(name for spec in emulators for name in spec.classes))
    raise EnvError(f"{type(env).__module__}.{type(env).__qualname__} is no env of a known kind; known base classes: {known}")


def _parameters(target: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(target).parameters
    except (TypeError, ValueError):  # a callable written in C
        return {}
