"""A Ray cluster of two nodes on this machine, and envs that reach its workers by value."""

import functools
import os
import signal
import sys
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'pufferlib[ray]'")
pytest.importorskip("pufferlib_ray", reason="the plugin is not installed: pip install -e plugins/ray")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # Ray would write a token into the home folder
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no report of this run to Ray's makers
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's default, 15, starves workers on a machine that does other things
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

QUARTER = {"CPU": 0.25}


class Ticking(gymnasium.Env):
    """The observation is (steps in this episode, a draw of the own generator); reward 1; ends at `horizon`."""

    observation_space = spaces.Box(0, 1000, (2,), np.float32)
    action_space = spaces.Discrete(2)
    horizon = 5
    truncates = False

    def __init__(self, **settings):
        self.__dict__.update(settings)
        self.t = 0

    def obs(self):
        return np.array([self.t, self.draw], np.float32)

    def info(self):
        return {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.draw = 0, self.np_random.random()
        return self.obs(), dict(options or {})

    def step(self, action):
        self.t += 1
        over = self.t >= self.horizon
        return self.obs(), 1.0, over and not self.truncates, over and self.truncates, self.info()


class Telling(Ticking):
    """Says in every info which process it lives in, and on which node."""

    def info(self):
        return {"pid": os.getpid(), "node": ray.get_runtime_context().get_node_id()}


class Needs(Exception):
    """Cannot be unpickled: it would be rebuilt with one argument."""

    def __init__(self, a, b):
        super().__init__(f"{a}/{b}")


class Failing(Ticking):
    """Goes wrong in its third step; `once` is a file that keeps it from doing so again."""

    how, once = "raise", None

    def __init__(self, **settings):
        super().__init__(**settings)
        if self.how == "init":
            raise Needs("no", "licence")

    def step(self, action):
        if self.t == 2 and not (self.once and os.path.exists(self.once)):
            if self.once:
                open(self.once, "w").close()
            if self.how == "raise":
                raise Needs("speed", 3)
            if self.how == "sigkill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            if self.how == "info":
                return (*super().step(action)[:4], {"hook": lambda: None})
            time.sleep(10**6)
        return super().step(action)

    def close(self):
        if self.how == "close":
            raise Needs("close", 1)


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
