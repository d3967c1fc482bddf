"""A Ray cluster of two nodes on this machine, and envs that reach its workers by value."""

import functools
import os
import sys

import pytest

import pufferlib
from pufferlib.testing.workers import Failing, Ticking

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'pufferlib[ray]'")
pytest.importorskip("pufferlib_ray", reason="the plugin is not installed: pip install -e plugins/ray")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # Ray would write a token into the home folder
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no report of this run to Ray's makers
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's default, 15, starves workers on a machine that does other things
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

QUARTER = {"CPU": 0.25}


class Telling(Ticking):
    """Says in every info which process it lives in, and on which node."""

    def info(self):
        return {"pid": os.getpid(), "node": ray.get_runtime_context().get_node_id()}


@pytest.fixture(scope="session")
def cluster():
    """Two nodes of one CPU each; this process is connected to the first."""
    from ray.cluster_utils import Cluster

    store = {"object_store_memory": 100_000_000, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **store})
    nodes.add_node(num_cpus=1, object_store_memory=100_000_000)
    ray.init(nodes.address, logging_level="error", log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture
def ticking():
    return Ticking


@pytest.fixture
def telling():
    return Telling


@pytest.fixture
def failing():
    return functools.partial(functools.partial, Failing)


@pytest.fixture
def on_ray(cluster):
    """`on_ray(env, num_workers=2, hang_timeout_s=..., ...)`: emulated envs in actors, closed at the end."""
    made = []

    def make(env, *, num_envs=4, num_workers=2, batch_size=None, in_order=False, seed=None, **options):
        vec = pufferlib.emulate(
            env,
            num_envs=num_envs,
            num_workers=num_workers,
            batch_size=batch_size,
            in_order=in_order,
            seed=seed,
            backend="ray",
            backend_options={"resources_per_worker": QUARTER, **options},
        )
        made.append(vec)
        return vec

    yield make
    for vec in made:
        vec.close()
