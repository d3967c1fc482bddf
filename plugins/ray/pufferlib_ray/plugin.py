"""What this package registers. Light: neither Ray nor the back end is imported before it is used."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import BackendSpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_backends() -> Iterable[BackendSpec]:
    return [BackendSpec("ray", target="pufferlib_ray.vec:RayVec", summary="Any env, in actors on the machines of a Ray cluster")]
