"""The connection to a Ray cluster, which all VecEnvs of this process share, and what it has room for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pufferlib.errors import ConfigError, PluginError
from pufferlib.vector.shape import available_cpus

LOCAL = "local"
BUILT_IN = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
"""Ray's names of resources that are arguments of their own."""


@dataclass
class Link:
    """Whether this process was connected here, and how many VecEnvs use the connection."""

    users: int = 0
    ours: bool = False
    address: str = ""


_link = Link()


def load_ray() -> Any:
    """The module `ray`. Raises PluginError with what to install."""
    try:
        import ray
    except ImportError as error:
        raise PluginError(f"backend='ray' needs Ray ({type(error).__name__}: {error}): pip install 'pufferlib[ray]'") from error
    return ray


def connect(address: str | None) -> Any:
    """Join the cluster, or start one on this machine; the module `ray`. Each `connect` needs one `release`.

    address: "auto" (the cluster that this machine belongs to), "host:port", "ray://host:port", or None: the cluster that the
    environment variable RAY_ADDRESS names, else one that lives as long as it is used. A process that called `ray.init` itself
    keeps its connection.
    Raises ConfigError when there is no cluster at that address, or when this process is connected to another one.
    """
    if address is not None and (not isinstance(address, str) or not address):
        raise ConfigError(f"address must be None, 'auto', 'host:port' or 'ray://host:port', got {address!r}")
    ray = load_ray()
    if ray.is_initialized():
        _check_same_cluster(ray, address)
    else:
        target = address or os.environ.get("RAY_ADDRESS") or LOCAL
        alone = {"num_cpus": available_cpus(), "include_dashboard": False} if target == LOCAL else {}
        try:
            ray.init(target, logging_level="warning", **alone)
        except ConnectionError as error:
            raise ConfigError(f"address={address!r}: no Ray cluster answers there ({error})") from error
        _link.users, _link.ours, _link.address = 0, True, target
    _link.users += 1
    return ray


def release() -> None:
    """The last one to leave ends a connection, or a cluster, that `connect` has made."""
    _link.users -= 1
    if _link.users or not _link.ours:
        return
    _link.ours, _link.address = False, ""
    with contextlib.suppress(Exception):  # the user may have ended it before
        load_ray().shutdown()


def _check_same_cluster(ray: Any, address: str | None) -> None:
    here = getattr(ray.get_runtime_context(), "gcs_address", "")
    if address not in (None, "auto", here, _link.address):
        raise ConfigError(
            f"address={address!r}: this process is connected to the Ray cluster {_link.address or here} already; leave address "
            f"out to use that one, or call ray.shutdown() first"
        )


def default_resources() -> dict[str, float]:
    """One CPU for each worker; nothing where the cluster is only ours: as many workers as one likes, as with processes."""
    return {} if _link.address == LOCAL else {"CPU": 1.0}


def check_resources(resources: Any) -> dict[str, float]:
    """What each worker takes, by Ray's names. Raises ConfigError."""
    if not isinstance(resources, Mapping) or not all(isinstance(name, str) for name in resources):
        raise ConfigError(f"resources_per_worker must be a mapping such as {{'CPU': 1}}, got {resources!r}")
    for name, amount in resources.items():
        if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not amount >= 0:
            raise ConfigError(f"resources_per_worker[{name!r}] must be a number of at least 0, got {amount!r}")
    return {name: float(amount) for name, amount in resources.items() if amount}


def actor_options(resources: Mapping[str, float]) -> dict[str, Any]:
    """The arguments of Ray that ask for these resources, spread over the nodes. A lost actor is not started again by Ray."""
    options: dict[str, Any] = {"num_cpus": 0, "resources": {}, "scheduling_strategy": "SPREAD", "max_restarts": 0}
    for name, amount in resources.items():
        if name in BUILT_IN:
            options[BUILT_IN[name]] = amount
        else:
            options["resources"][name] = amount
    return options


def check_room(ray: Any, num_workers: int, resources: Mapping[str, float]) -> None:
    """Raises ConfigError if the cluster's nodes, even when nobody else uses them, cannot hold the workers."""
    if not resources:
        return
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    room = sum(int(min(node.get(name, 0) / amount for name, amount in resources.items()) + 1e-9) for node in nodes)
    if room >= num_workers:
        return
    has = "; ".join(", ".join(f"{node.get(name, 0):g} {name}" for name in resources) for node in nodes)
    fewer = f"num_workers={room}, " if room else ""
    raise ConfigError(
        f"num_workers={num_workers}, each with resources_per_worker={dict(resources)}, do not fit the Ray cluster, "
        f"whose {len(nodes)} nodes hold {room} ({has}); what works: {fewer}smaller resources_per_worker (as {{'CPU': 0.5}}), "
        f"more nodes, or start_timeout_s=600 where the cluster grows by itself"
    )
