"""Sending an env maker to a process that does not inherit it (spawn, forkserver), or saying why that cannot be done."""

from __future__ import annotations

import functools
import io
import pickle
from typing import Any

from pufferlib.errors import ConfigError


def pack_maker(maker: Any, start_method: str) -> bytes:
    """The maker as bytes for `pickle.loads`, by cloudpickle where it is installed.

    Raises ConfigError that names the maker and what would work.
    """
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = None
    try:
        return dumps(maker, cloudpickle)
    except Exception as error:
        raise ConfigError(
            f"the env maker {maker_name(maker)} cannot be sent to worker processes with start_method={start_method!r} "
            f"({type(error).__name__}: {error}); define it at module level, or as functools.partial(YourEnv, ...) of plain "
            f"values; lambdas and local classes need `pip install cloudpickle` or start_method='fork'"
        ) from error


def maker_name(maker: Any) -> str:
    """What the user would recognise: the class or function at the bottom."""
    while True:
        inner = maker.func if isinstance(maker, functools.partial) else getattr(maker, "factory", None)
        if inner is None:
            break
        maker = inner
    return str(getattr(maker, "__qualname__", None) or repr(maker))


def dumps(value: Any, cloudpickle: Any) -> bytes:
    """A maker as bytes, by this cloudpickle module, or by pickle where it is None."""
    if cloudpickle is None:
        return pickle.dumps(value)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """cloudpickle would quietly send an open file as a copy of its text."""

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, (io.TextIOWrapper, io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom)):
                raise TypeError(f"cannot pickle the open file {getattr(obj, 'name', '')!r}")
            return super().reducer_override(obj)

    sink = io.BytesIO()
    Pickler(sink).dump(value)
    return sink.getvalue()
