"""Envs for the tests of worker processes. They are defined in a fixture, as a user's own would be in a script."""

import os
import signal
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib


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
        return self.obs(), {}

    def step(self, action):
        self.t += 1
        over = self.t >= self.horizon
        return self.obs(), 1.0, over and not self.truncates, over and self.truncates, self.info()


class NeedsTwo(Exception):
    """Cannot be unpickled: it would be rebuilt with one argument."""

    def __init__(self, a, b):
        super().__init__(f"{a}/{b}")


class Boom(Ticking):
    """Raises in `where`: init, reset, step (the second) or close."""

    where, error = "step", ZeroDivisionError

    def __init__(self, **settings):
        super().__init__(**settings)
        self.maybe("init")

    def maybe(self, place):
        if place == self.where and (place != "step" or self.t == 1):
            raise NeedsTwo("boom", place) if self.error is NeedsTwo else self.error(f"boom in {place}")

    def reset(self, **arguments):
        self.maybe("reset")
        return super().reset(**arguments)

    def step(self, action):
        self.maybe("step")
        return super().step(action)

    def close(self):
        self.maybe("close")


class Vanish(Ticking):
    """Ends its process, or never answers, in the third step; `once` is a file that keeps it from doing so again."""

    how, once = "sigkill", None

    def step(self, action):
        if self.t == 2 and not (self.once and os.path.exists(self.once)):
            if self.once:
                open(self.once, "w").close()
            if self.how == "sigkill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            if self.how == "raise":
                raise KeyError("speed")
            time.sleep(10**6)
        return super().step(action)


@pytest.fixture
def ticking():
    return Ticking


@pytest.fixture
def boom():
    return Boom


@pytest.fixture
def vanish():
    return Vanish


@pytest.fixture
def needs_two():
    return NeedsTwo


@pytest.fixture
def processes():
    """`processes(env, num_workers=2, hang_timeout_s=..., ...)`: emulated envs in worker processes, closed at the end."""
    made = []

    def make(env, *, num_envs=4, num_workers=2, batch_size=None, in_order=False, seed=None, options=None, **settings):
        vec = pufferlib.emulate(
            env,
            num_envs=num_envs,
            num_workers=num_workers,
            batch_size=batch_size,
            in_order=in_order,
            seed=seed,
            backend="processes",
            backend_options=options,
            **settings,
        )
        made.append(vec)
        return vec

    yield make
    for vec in made:
        vec.close()


@pytest.fixture
def children():
    """`children()`: the process ids of this process's children, zombies among them."""

    def find(parent=None):
        with open(f"/proc/{parent or os.getpid()}/task/{parent or os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]

    return find
