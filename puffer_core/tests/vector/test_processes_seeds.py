"""Case S14 with worker processes: seeds do not depend on how the envs are split, and no two workers draw alike."""

import os
import random

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="envs defined in tests reach workers by fork only")


class Rolls(gymnasium.Env):
    """Column 0: the env's own generator; 1 and 2: the global ones, which forked processes would share."""

    observation_space, action_space = spaces.Box(0, 1, (3,), np.float32), spaces.Discrete(2)

    def obs(self):
        return np.array([self.np_random.random(), np.random.random(), random.random()], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.obs(), {}

    def step(self, action):
        return self.obs(), 0.0, False, False, {}


def test_seeds_do_not_depend_on_workers_and_global_generators_differ(processes):
    serial = pufferlib.emulate(Rolls, num_envs=4, backend="serial")
    wanted = serial.reset(seed=7)[0][:, 0].copy()
    later = serial.reset()[0][:, 0].copy()
    assert len(set(wanted)) == 4
    for workers in (1, 2, 4):
        vec = processes(Rolls, num_workers=workers)
        first = vec.reset(seed=7)[0].copy()
        assert np.array_equal(first[:, 0], wanted)
        assert np.array_equal(vec.reset()[0][:, 0], later), "a reset without a seed goes on"
        assert np.array_equal(vec.reset(seed=7)[0][:, 0], wanted)
        per_worker = first[:: 4 // workers, 1:]
        assert len(np.unique(per_worker, axis=0)) == workers and len(set(per_worker.ravel())) == 2 * workers
    zero, one = vec.reset(seed=0)[0][:, 0].copy(), vec.reset(seed=1)[0][:, 0].copy()
    assert not set(zero) & set(one) and np.array_equal(vec.reset(seed=0)[0][:, 0], zero)


def test_a_seed_given_at_the_start_fixes_the_global_generators_too(processes):
    first, again, other = (processes(Rolls, seed=seed).reset()[0].copy() for seed in (5, 5, 6))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
