"""pufferlib: fast environments, and a trainer that keeps up with them.

    env = pufferlib.make("ocean-breakout", num_envs=1024)
    trainer = pufferlib.PuffeRL(env, policy)

Names load when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing itself takes milliseconds to import; type checkers know this name
if TYPE_CHECKING:
    from typing import Any

    from pufferlib import errors, wrappers
    from pufferlib.bridges import from_vector, to_sb3
    from pufferlib.buffers import Buffers
    from pufferlib.config.train_config import TrainConfig
    from pufferlib.emulation.legacy import LegacyGym
    from pufferlib.env import PufferEnv
    from pufferlib.loading import load_policy
    from pufferlib.make import emulate, list_envs, make, register
    from pufferlib.native import get_include
    from pufferlib.structure import structure_of, unflatten
    from pufferlib.train.callbacks import Callback
    from pufferlib.train.loggers import Logger, NoLogger
    from pufferlib.train.puffe_rl import PuffeRL
    from pufferlib.tuning import autotune
    from pufferlib.vector import Batch, VecEnv, make_vec
    from pufferlib.wrappers import Wrapper

    __version__: str
    MlflowLogger: type[Any]
    NeptuneLogger: type[Any]
    Protein: type[Any]
    ProteinSampler: type[Any]
    TensorboardLogger: type[Any]
    TrackioLogger: type[Any]
    WandbLogger: type[Any]

_HOME = {
    "Batch": "pufferlib.vector",
    "Buffers": "pufferlib.buffers",
    "Callback": "pufferlib.train.callbacks",
    "LegacyGym": "pufferlib.emulation.legacy",
    "Logger": "pufferlib.train.loggers",
    "NoLogger": "pufferlib.train.loggers",
    "PuffeRL": "pufferlib.train.puffe_rl",
    "PufferEnv": "pufferlib.env",
    "TrainConfig": "pufferlib.config.train_config",
    "VecEnv": "pufferlib.vector",
    "Wrapper": "pufferlib.wrappers",
    "autotune": "pufferlib.tuning",
    "emulate": "pufferlib.make",
    "from_vector": "pufferlib.bridges",
    "get_include": "pufferlib.native",
    "list_envs": "pufferlib.make",
    "load_policy": "pufferlib.loading",
    "make": "pufferlib.make",
    "make_vec": "pufferlib.vector",
    "register": "pufferlib.make",
    "structure_of": "pufferlib.structure",
    "to_sb3": "pufferlib.bridges",
    "unflatten": "pufferlib.structure",
}

__all__ = [
    "Batch",
    "Buffers",
    "Callback",
    "LegacyGym",
    "Logger",
    "NoLogger",
    "PuffeRL",
    "PufferEnv",
    "TrainConfig",
    "VecEnv",
    "Wrapper",
    "__version__",
    "autotune",
    "emulate",
    "errors",
    "from_vector",
    "get_include",
    "list_envs",
    "load_policy",
    "make",
    "make_vec",
    "register",
    "structure_of",
    "to_sb3",
    "unflatten",
    "wrappers",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        module = importlib.import_module(_HOME[name])
        value = getattr(module, name)
        if module.__name__ == "pufferlib.make":  # its import has put the module where the function belongs
            globals()["make"] = module.make
    elif name in ("errors", "wrappers"):
        value = importlib.import_module(f"pufferlib.{name}")
    elif name[0].isupper():
        return _registered_name(name)
    elif name == "__version__":
        from importlib.metadata import version

        value = version("pufferlib")
    else:
        raise AttributeError(f"module 'pufferlib' has no attribute {name!r}")
    globals()[name] = value
    return value


def _registered_name(name: str) -> Any:
    """What a plugin registers as a public name, such as `Protein`. Raises ImportError, which says what to install.

    (An AttributeError would not do there: `from pufferlib import X` replaces its text.)
    """
    from pufferlib.errors import PluginError
    from pufferlib.plugins import registry
    from pufferlib.plugins.hints import provider

    try:
        spec = registry().find("name", name)
    except PluginError as error:
        if provider(name, set()) is None:
            raise AttributeError(f"module 'pufferlib' has no attribute {name!r}") from None
        raise ImportError(f"pufferlib.{name}: {error}") from None
    return registry().resolve(spec.target, spec)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
