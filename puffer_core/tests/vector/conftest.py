"""Envs for the tests of worker processes, given by fixtures as a user's own would be defined in a script."""

import os

import pytest

import pufferlib
from pufferlib.testing.workers import Failing, NeedsTwo, Ticking


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


@pytest.fixture
def ticking():
    return Ticking


@pytest.fixture
def boom():
    return Boom


@pytest.fixture
def vanish():
    return Failing


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
