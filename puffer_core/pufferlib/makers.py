"""From a class, a factory or an env to a maker: `maker(num_envs=k)` gives one PufferEnv batch of k envs.

| what is given | its batch |
|---|---|
| a NativeEnv class, or a class or function with a parameter `num_envs` | itself |
| a PufferEnv class, native style | Stacked |
| a PufferEnv class, declarative style | EmulatedBatch, or MultiAgentBatch where its values are dicts keyed by agent |
| a Gymnasium env, its class, or a factory of one | EmulatedBatch |
| an env of the old `gym`, its class, or a factory of one | EmulatedBatch, through LegacyGym |
| anything that a plugin's EmulatorSpec knows | that emulator's batch |
| a list of such factories, one per env | the batch of the first one's kind |
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError, EnvError
from pufferlib.numbering import first_env
from pufferlib.plugins import registry
from pufferlib.plugins.hints import provider

CHECKS = ("first", "always", "off")


def env_maker(
    target: Any, kwargs: Mapping[str, Any], render_mode: str | None = None, check: str = "first"
) -> Callable[..., PufferEnv]:
    """The maker behind a target. Builds no env. Raises ConfigError for a `check` that it cannot have."""
    if check not in CHECKS:
        raise ConfigError(f"check must be one of {', '.join(CHECKS)}, got {check!r}")
    if render_mode is not None:
        kwargs = {**kwargs, "render_mode": render_mode}
    if isinstance(target, (list, tuple)):
        options, _ = emulator_options(target[0], kwargs)
        own = {name: value for name, value in kwargs.items() if name not in options}
        return EachItsOwn([functools.partial(factory, **own) for factory in target], check, options)
    options, kwargs = emulator_options(target, kwargs)
    if not callable(target) or (not isinstance(target, type) and hasattr(target, "step") and hasattr(target, "reset")):
        if kwargs:
            raise ConfigError(f"{', '.join(kwargs)}: an existing env takes no keyword arguments; give its class or a factory")
        return ForeignMaker(Copies(target), check, options)
    made = functools.partial(target, **kwargs)
    if getattr(target, "is_native", False) or "num_envs" in _parameters(target):
        if check != "first":
            name = getattr(target, "__name__", repr(target))
            raise ConfigError(f"check={check!r}: {name} makes whole batches of its own, which are not checked")
        return made
    return ForeignMaker(made, check, options)


def emulator_options(target: Any, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keyword arguments for the emulator, such as `pad`, and those for the env, whose own parameters go first."""
    known = {name for spec in registry().emulators() for name in spec.options} if kwargs else set()
    options = {name: value for name, value in kwargs.items() if name in known and name not in _parameters(target)}
    return options, {name: value for name, value in kwargs.items() if name not in options}


class ForeignMaker:
    """A maker for envs whose API shows once the first of them exists."""

    def __init__(self, factory: Callable[[], Any], check: str = "first", options: Mapping[str, Any] | None = None) -> None:
        importlib.import_module("pufferlib.emulation.gymnasium")  # now, so that forked workers need not each do it
        self.factory, self.check, self.options = factory, check, dict(options or {})

    def with_arguments(self, arguments: Mapping[str, Any]) -> ForeignMaker:
        """The maker of the same envs with other arguments. Raises ConfigError for copies of an env, which take none."""
        if isinstance(self.factory, Copies):
            raise ConfigError(f"{', '.join(arguments)}: copies of an existing env take no arguments; give its class or a factory")
        return ForeignMaker(functools.partial(self.factory, **arguments), self.check, self.options)

    def __call__(self, num_envs: int = 1, buf: Any = None) -> PufferEnv:
        waiting = [self.factory()]
        adapter, known = find_emulator(waiting[0])
        for name, value in self.options.items():
            if name not in known:
                raise ConfigError(f"{name}={value!r}: {adapter.__name__} for a {type(waiting[0]).__name__} has no such option")
        batch = adapter(lambda: waiting.pop() if waiting else self.factory(), num_envs=num_envs, buf=buf, **self.options)
        if self.check != "first":
            own_check = getattr(batch, "check", None)
            if own_check is None:
                batch.close()
                raise ConfigError(f"check={self.check!r}: {type(batch).__name__} checks nothing")
            own_check.mode = self.check
        return batch


class EachItsOwn:
    """A maker for envs that differ in more than their seed: the VecEnv's env k comes from factories[k]."""

    def __init__(
        self, factories: Sequence[Callable[[], Any]], check: str = "first", options: Mapping[str, Any] | None = None
    ) -> None:
        self.factories, self.check, self.options = factories, check, options

    def with_arguments(self, arguments: Mapping[str, Any]) -> EachItsOwn:
        """The maker of the same envs with other arguments, the same for all."""
        return EachItsOwn([functools.partial(factory, **arguments) for factory in self.factories], self.check, self.options)

    def __call__(self, num_envs: int = 1, buf: Any = None) -> PufferEnv:
        first = first_env.get()
        left = iter(self.factories[first : first + num_envs])
        return ForeignMaker(lambda: next(left)(), self.check, self.options)(num_envs, buf)


class Copies:
    """A factory that gives an existing env first, then new ones made from its Gymnasium spec."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._given = False

    def __call__(self) -> Any:
        if not self._given:
            self._given = True
            return self._env
        import gymnasium

        spec = getattr(self._env, "spec", None)
        if not isinstance(spec, gymnasium.envs.registration.EnvSpec):
            raise EnvError(
                f"{type(self._env).__name__} cannot be copied without a Gymnasium spec: give its class or a factory, as in "
                f"emulate(lambda: {type(self._env).__name__}(...), num_envs=...)"
            )
        return gymnasium.make(spec)


def find_emulator(env: Any) -> tuple[Callable[..., PufferEnv], tuple[str, ...]]:
    """The adapter of an env and its options, by the names of the env's classes, the most derived first.

    Raises EnvError naming the class and, where it is known, what to install.
    """
    if isinstance(env, PufferEnv) and hasattr(env, "single_observation_space"):
        PufferEnv.__init__(env, getattr(env, "buffers", None))  # once more, for what was set after the first time
        from pufferlib.emulation.stacked import Stacked

        return Stacked, ()
    from pufferlib.wrappers.per_env import innermost

    emulators = registry().emulators()
    for cls in type(innermost(env)).__mro__:
        for spec in emulators:
            if f"{cls.__module__}:{cls.__qualname__}" in spec.classes:
                return registry().resolve(spec.target, spec), spec.options
    known = ", ".join(sorted(name for spec in emulators for name in spec.classes))
    kind = f"{type(env).__module__}.{type(env).__qualname__}"
    installed = {plugin.name for plugin in registry().plugins() if plugin.status == "ok"}
    packages = {cls.__module__.partition(".")[0] for cls in type(env).__mro__}
    if hints := sorted(filter(None, (provider(package, installed) for package in packages))):
        raise EnvError(f"{kind} needs a plugin: {' or '.join(hints)}")
    by_hand = "; one with gym's old API: pufferlib.LegacyGym(env)" if hasattr(env, "step") and hasattr(env, "reset") else ""
    raise EnvError(f"{kind} is no env of a known kind; known base classes: {known}{by_hand}")


def _parameters(target: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(target).parameters
    except (TypeError, ValueError):  # a callable written in C
        return {}
