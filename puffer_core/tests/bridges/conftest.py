import gymnasium
import numpy as np
import pytest
from gymnasium import spaces


class Episodes(gymnasium.Env):
    """Observes (a drawn number, episode, steps); reward 1; ends after `horizon` steps, by turns cut off and over."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = spaces.Discrete(2, start=5)

    def __init__(self, horizon=3):
        self.horizon, self.episode = horizon, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode = 0 if seed is not None else self.episode + 1
        self.drawn, self.t = self.np_random.random(), 0
        return self.observe(), {"begun": self.episode}

    def observe(self):
        return np.array([self.drawn, self.episode, self.t], np.float32)

    def step(self, action):
        assert action in (5, 6), action
        self.t += 1
        over, cut = self.t == self.horizon, bool(self.episode % 2)
        return self.observe(), 1.0, over and not cut, over and cut, {"t": self.t}


class Structured(Episodes):
    observation_space = spaces.Dict(
        {"place": spaces.Box(-9, 9, (2,), np.float64), "kind": spaces.Discrete(40, start=3), "bits": spaces.MultiBinary(3)}
    )
    action_space = spaces.Dict({"go": spaces.Discrete(3, start=-1), "pick": spaces.MultiDiscrete([2, 4])})

    def observe(self):
        return {"place": np.array([self.drawn, self.t]), "kind": np.int64(3 + self.t), "bits": np.array([1, 0, 1], np.int8)}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.last = action
        return super().step(5)


@pytest.fixture
def episodes():
    return Episodes


@pytest.fixture
def structured():
    return Structured
