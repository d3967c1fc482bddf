import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib


class Picture(gymnasium.Env):
    """Random pictures from its own generator; ends, by turns truncated and terminal, after 3 + (episode % 3) steps."""

    observation_space = spaces.Box(0, 255, (12, 15, 3), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode = 0 if seed is not None else self.episode + 1
        self.t = 0
        return self.picture(), {}

    def picture(self):
        return self.np_random.integers(0, 256, (12, 15, 3), dtype=np.uint8)

    def step(self, action):
        self.t += 1
        over = self.t == 3 + self.episode % 3
        cut = bool(self.episode % 2)
        return self.picture(), float(self.t * (1 + action)), over and not cut, over and cut, {}


class Walk(Picture):
    """The same with float observations of any size."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)

    def picture(self):
        return (self.np_random.normal(size=3) * [1, 10, 100] + 5).astype(np.float32)


@pytest.fixture
def picture():
    return Picture


@pytest.fixture
def walk():
    return Walk


@pytest.fixture
def one():
    """`one(make_env)`: a serial VecEnv of one env, seeded with the seed itself."""
    return lambda env, **kwargs: pufferlib.emulate(env, num_envs=1, backend="serial", **kwargs)


@pytest.fixture
def agrees():
    """`agrees(vec, env)`: a VecEnv of one env gives, step by step, what Gymnasium's env gives, autoreset by hand."""

    def check(vec, env, steps=60, rtol=1e-5, atol=1e-5, seed=7):
        rng = np.random.default_rng(0)
        near = {"rtol": rtol, "atol": atol}
        given = env.reset(seed=seed)[0]
        np.testing.assert_allclose(vec.reset(seed=[seed])[0][0], given, **near)
        ends = 0
        for _ in range(steps):
            action = rng.integers(0, 2)
            given, reward, terminal, truncation, _ = env.step(int(action))
            observations, rewards, terminals, truncations, infos = vec.step(np.array([action]))
            assert (terminals[0], truncations[0]) == (terminal, truncation and not terminal)
            np.testing.assert_allclose(rewards[0], reward, **near)
            if terminal or truncation:
                ends += 1
                np.testing.assert_allclose(infos["final_obs"][0], given, **near)
                given = env.reset()[0]
            np.testing.assert_allclose(observations[0], given, **near)
        assert ends >= 3
        assert vec.single_observation_space.shape == env.observation_space.shape
        vec.close()

    return check
