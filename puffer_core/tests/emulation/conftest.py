"""A Gymnasium env that counts, to be bent by each test, and one that refuses actions outside of its space."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib


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
