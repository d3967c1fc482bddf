"""The native layer: the C interface of games, the thread pool, the binding, the build helper, and NativeEnv for game stubs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pufferlib.native.env import Bool, Choice, File, Float, Int, NativeEnv

__all__ = ["Bool", "Choice", "File", "Float", "Int", "NativeEnv", "get_include"]


def get_include() -> str:
    """The folder of `puffer_env.h`, `draw.h` and `puffer_module.h`, for a compiler's -I option."""
    return os.path.dirname(os.path.abspath(__file__))


def __getattr__(name: str) -> Any:
    # Lazily, since the build helper must import this package without numpy or gymnasium.
    if name in __all__:
        from pufferlib.native import env

        return getattr(env, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
