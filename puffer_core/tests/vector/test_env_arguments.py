"""set_env_arguments: envs with other arguments in the place of running ones, on every back end."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.errors import ConfigError, OrderError, SpaceError
from pufferlib.wrappers import FrameStackObservation


class Counter(gymnasium.Env):
    """Counts up to `top`, in steps of `by`; the episode ends there."""

    action_space = spaces.Discrete(2)

    def __init__(self, top=5, by=1, size=1):
        if top < 1:
            raise ValueError(f"top must be at least 1, got {top}")
        self.observation_space = spaces.Box(-1, 1000, (size,), np.float32)
        self.top, self.by = top, by

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.full(self.observation_space.shape, self.count, np.float32), {}

    def step(self, action):
        self.count += self.by
        return np.full(self.observation_space.shape, self.count, np.float32), 1.0, self.count >= self.top, False, {}


BACKENDS = [("serial", 2, {}), ("processes", 2, {}), ("processes", 2, {"start_method": "spawn"})]


def counters(backend, workers, options, **kwargs):
    return pufferlib.emulate(
        Counter, num_envs=4, num_workers=workers, backend=backend, backend_options=options, batch_size=2, **kwargs
    )


def lengths(env, steps=40):
    env.reset(seed=0)
    env.drain_log()
    for _ in range(steps):
        env.step(np.zeros(env.num_agents, np.int32))
    return env.drain_log()["episode_length"]


@pytest.mark.parametrize(("backend", "workers", "options"), BACKENDS)
def test_python_envs_play_by_the_new_arguments(backend, workers, options):
    env = counters(backend, workers, options, top=6)
    assert lengths(env) == 6
    env.set_env_arguments(top=8)
    assert lengths(env) == 8
    env.set_env_arguments(by=2)  # on top of what was changed before
    assert lengths(env) == 4
    assert env.changed_arguments == {"top": 8, "by": 2}
    env.close()


@pytest.mark.parametrize(("backend", "workers", "options"), BACKENDS[:2])
def test_refused_arguments_leave_the_running_envs(backend, workers, options):
    env = counters(backend, workers, options, top=6)
    for arguments, words in (
        ({"top": 0}, "top must be at least 1"),
        ({"unheard": 1}, "unheard"),
        ({"size": 2}, "observation_space"),
    ):
        with pytest.raises((ConfigError, SpaceError, TypeError, ValueError), match=words):
            env.set_env_arguments(**arguments)
        assert env.changed_arguments == {}
        assert lengths(env) == 6
    env.close()


@pytest.mark.parametrize(("backend", "workers"), [("serial", 2), ("threads", 2)])
def test_native_envs_play_by_the_new_arguments_in_the_same_storage(backend, workers):
    env = pufferlib.make("ocean-squared", num_envs=4, num_workers=workers, backend=backend, batch_size=2, seed=3, max_steps=9)
    storage = env.allocate(5)
    assert lengths(env) <= 9
    env.set_env_arguments(max_steps=3)
    assert env.storage is storage
    assert lengths(env) <= 3
    with pytest.raises(ConfigError, match="max_steps"):
        env.set_env_arguments(max_steps=-1)
    with pytest.raises(SpaceError, match="observation_space"):
        env.set_env_arguments(radius=3)
    assert lengths(env) <= 3
    env.close()


def test_a_reset_must_follow_and_its_seed_is_reproducible():
    first = []
    for _ in range(2):
        env = pufferlib.make("ocean-pong", num_envs=4, seed=3)
        env.reset()
        env.set_env_arguments(bot_speed=1.0)
        with pytest.raises(OrderError, match="reset"):
            env.step(np.zeros(4, np.int32))
        first.append(env.reset()[0].copy())
        env.close()
    assert (first[0] == first[1]).all()
    assert len(np.unique(first[0], axis=0)) == 4


def test_wrapped_envs_and_envs_that_take_none():
    env = FrameStackObservation(counters("serial", 2, {}, top=6), 2)
    env.set_env_arguments(top=3)
    assert lengths(env) == 3
    env.close()
    copies = pufferlib.emulate(gymnasium.make("CartPole-v1"), num_envs=2, backend="serial")
    with pytest.raises(ConfigError, match="take no arguments"):
        copies.set_env_arguments(sutton_barto_reward=True)
    copies.close()
