"""A Gymnasium env that counts, to be bent by each test, and one that refuses actions outside of its space."""

import contextlib

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.plugins import registry

BACKENDS = [spec.name for spec in registry().backends() if spec.name in ("serial", "processes")]


class Counting(gymnasium.Env):
    """t counts the steps; the observation is t, the reward 1; terminates at `horizon`."""

    observation_space = spaces.Box(0, 1000, (1,), np.float32)
    action_space = spaces.Discrete(2)
    horizon = 5

    def __init__(self, **settings):
        self.__dict__.update(settings)
        self.t = 0
        self.got = None

    def obs(self):
        return np.full(self.observation_space.shape, self.t, self.observation_space.dtype)

    def reward(self):
        return 1.0

    def info(self):
        return {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.obs(), {}

    def step(self, action):
        self.got = action
        self.t += 1
        return self.obs(), self.reward(), self.t >= self.horizon, False, self.info()


class Strict(Counting):
    def step(self, action):
        if not self.action_space.contains(action):
            raise ValueError(f"got {action!r}, which is not in {self.action_space}")
        return super().step(action)


@pytest.fixture
def counting():
    return Counting


@pytest.fixture
def strict():
    return Strict


@pytest.fixture
def each():
    """`each([factory, ...])`: a VecEnv whose env i is made by the i-th factory."""

    def make(factories):
        left = iter(factories)
        return pufferlib.emulate(lambda: next(left)(), num_envs=len(factories))

    return make


@pytest.fixture(params=BACKENDS)
def make(request):
    """`make(env, num_envs=4)`: a VecEnv with two workers, of every back end that takes Python envs."""
    with contextlib.ExitStack() as stack:

        def made(env, num_envs=4, **kwargs):
            num_envs = len(env) if isinstance(env, list) else num_envs
            vec = pufferlib.emulate(env, num_envs=num_envs, num_workers=2, backend=request.param, **kwargs)
            stack.callback(vec.close)
            return vec

        yield made


@pytest.fixture
def telling(strict):
    """Counts like the others, refuses actions outside of its space, and tells in its info which one it got."""

    class Telling(strict):
        def info(self):
            return {"got": self.got, "kind": type(self.got).__name__}

    return Telling
