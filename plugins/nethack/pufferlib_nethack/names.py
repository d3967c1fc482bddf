"""Names to ids of NLE and MiniHack, and what imports the two."""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
from gymnasium.envs.registration import load_env_creator

from pufferlib.emulation.short_names import ShortNames
from pufferlib.errors import EnvError
from pufferlib_nethack.envs import DEFAULT_KEYS, NetHackEnv

INSTALL = "pip install --no-deps nle==1.3.0 minihack==1.0.2"
"""--no-deps: nle's metadata wants gymnasium 1.2.0 exactly, yet it runs with newer ones."""


def make_game(*, observation_keys: Sequence[str] = DEFAULT_KEYS, **kwargs: Any) -> NetHackEnv:
    """The whole game: NLE's NetHack-v0. Keyword arguments as in `NetHackEnv`."""
    return _make("NetHack-v0", observation_keys=observation_keys, **kwargs)


def make_nethack(name: str) -> Callable[..., NetHackEnv]:
    """The factory of `nethack-<task>`. Raises EnvNotFoundError with near names."""
    return functools.partial(_make, _nethack().find(name))


def make_minihack(name: str) -> Callable[..., NetHackEnv]:
    """The factory of `minihack-<task>`. Raises EnvNotFoundError with near names."""
    return functools.partial(_make, _minihack().find(name))


def list_nethack() -> list[str]:
    """What may follow `nethack-`."""
    return _nethack().names()


def list_minihack() -> list[str]:
    """What may follow `minihack-`."""
    return _minihack().names()


def _make(env_id: str, /, *, observation_keys: Sequence[str] = DEFAULT_KEYS, **kwargs: Any) -> NetHackEnv:
    import_package("nle" if env_id.startswith("NetHack") else "minihack")
    spec = gymnasium.spec(env_id)
    assert spec.entry_point is not None
    # Not gymnasium.make, which would keep max_episode_steps from the env and cut episodes from outside.
    factory = functools.partial(load_env_creator(spec.entry_point), **spec.kwargs)  # type: ignore[arg-type]
    return NetHackEnv(factory, observation_keys=observation_keys, **kwargs)


@functools.cache
def _nethack() -> ShortNames:
    import_package("nle")
    ids = [env_id for env_id in gymnasium.registry if re.fullmatch(r"NetHack[A-Z].*", env_id)]
    return ShortNames("nethack", {env_id: re.sub(r"(?<=[a-z])(?=[A-Z])", "-", env_id[len("NetHack") :]) for env_id in ids})


@functools.cache
def _minihack() -> ShortNames:
    import_package("minihack")
    ids = [env_id for env_id in gymnasium.registry if env_id.startswith("MiniHack-")]
    return ShortNames("minihack", {env_id: env_id[len("MiniHack-") :] for env_id in ids})


def import_package(name: str) -> None:
    """Import nle or minihack, which register their ids then. Raises EnvError with the line that installs them."""
    try:
        with warnings.catch_warnings(), _resources():
            warnings.simplefilter("ignore")  # of the packages' own making
            importlib.import_module(name)
    except ImportError as error:
        raise EnvError(f"{name} cannot be imported ({error}): {INSTALL}") from error


@contextmanager
def _resources() -> Iterator[None]:
    """MiniHack asks pkg_resources for folders; setuptools 81 and later have it no more, so there is a stand-in meanwhile."""
    if importlib.util.find_spec("pkg_resources") is not None:
        yield
        return
    stand_in: Any = ModuleType("pkg_resources")
    stand_in.resource_filename = _resource_filename
    sys.modules["pkg_resources"] = stand_in
    try:
        yield
    finally:
        sys.modules.pop("pkg_resources", None)


def _resource_filename(package: str, path: str) -> str:
    found = importlib.util.find_spec(package)
    assert found is not None and found.submodule_search_locations
    return str(Path(found.submodule_search_locations[0], path))
