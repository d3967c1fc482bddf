"""Wrappers around one env: of Gymnasium, declarative, native style, with several agents."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib import PufferEnv, Wrapper
from pufferlib.errors import ConfigError
from pufferlib.wrappers import ActionRepeat, TimeLimit


class Count(PufferEnv):
    """Observes its steps; ends after five of them."""

    def __init__(self, buf=None):
        super().__init__(buf)
        self.observation_space, self.action_space = self.make_space((1,)), self.make_discrete(3)

    def reset(self):
        self.t = 0
        return np.zeros(1, np.float32)

    def step(self, action):
        self.t += 1
        return np.array([self.t], np.float32), 1.0 + action, self.t == 5, {"t": self.t}


class Many(PufferEnv):
    """Two agents, for four steps."""

    possible_agents = ["a", "b"]

    def __init__(self, buf=None):
        super().__init__(buf)
        self.observation_space, self.action_space = self.make_space((1,)), self.make_discrete(3)

    def reset(self):
        self.t = 0
        return dict.fromkeys("ab", np.zeros(1, np.float32))

    def step(self, actions):
        self.t += 1
        observation = np.array([self.t], np.float32)
        rewards = {agent: float(action) for agent, action in actions.items()}
        return dict.fromkeys("ab", observation), rewards, {"__all__": self.t == 4}, {}


class Rows(PufferEnv):
    """Native style: two rows."""

    def __init__(self, buf=None):
        self.single_observation_space = spaces.Box(0, 9, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 2
        super().__init__(buf)

    def reset(self, seed=None):
        self.observations[:] = 1
        return self.observations, []

    def step(self, actions):
        self.observations[:] = 2
        self.rewards[:] = [1, 2]
        return self.observations, self.rewards, self.terminals, self.truncations, []


class Doubled(Wrapper):
    def step(self, actions):
        observation, reward, *rest = self.env.step(actions)
        reward *= 2
        return observation, reward, *rest


def play(vec, actions):
    vec.reset(seed=0)
    rows = []
    for action in actions:
        observations, rewards, terminals, truncations, infos = vec.step(np.full(vec.num_agents, action))
        final = infos.get("final_obs")
        rows.append((rewards[0], terminals[0], truncations[0], observations.flat[0], None if final is None else final.flat[0]))
    vec.close()
    return rows


def test_action_repeat_stops_at_the_end_of_an_episode():
    vec = pufferlib.emulate(lambda: ActionRepeat(Count(), 3), backend="serial")
    assert play(vec, [1, 1, 0]) == [(6, False, False, 3, None), (4, True, False, 0, 5), (3, False, False, 3, None)]


def test_action_repeat_of_several_agents():
    vec = pufferlib.emulate(lambda: ActionRepeat(Many(), 3), backend="serial")
    assert vec.num_agents == 2
    assert [row[:3] for row in play(vec, [2, 1])] == [(6, False, False), (1, True, False)]


def test_time_limit_truncates_and_resets():
    vec = pufferlib.emulate(lambda: TimeLimit(Count(), 2), backend="serial")
    assert play(vec, [0] * 4) == [(1, False, False, 1, None), (1, False, True, 0, 2)] * 2
    assert play(pufferlib.emulate(lambda: TimeLimit(Count(), 5), backend="serial"), [0] * 5)[-1][1:3] == (True, False)
    vec = pufferlib.emulate(lambda: TimeLimit(Many(), 3), backend="serial")
    assert [row[1:3] for row in play(vec, [0] * 6)] == [(False, False), (False, False), (False, True)] * 2


def test_around_a_gymnasium_env_and_each_other():
    vec = pufferlib.emulate(lambda: TimeLimit(ActionRepeat(gymnasium.make("CartPole-v1"), 2), 3), num_envs=2, backend="serial")
    rows = play(vec, [0, 1, 0, 1])
    assert [row[0] for row in rows] == [2, 2, 2, 2] and [row[2] for row in rows] == [False, False, True, False]


def test_around_a_native_style_env_the_arrays_are_shared():
    vec = pufferlib.emulate(lambda: Doubled(Rows()), num_envs=2, backend="serial")
    vec.reset(seed=0)
    np.testing.assert_array_equal(vec.step(np.zeros(4, int))[1], [2, 4, 2, 4])


def test_on_processes():
    vec = pufferlib.emulate(lambda: TimeLimit(Doubled(Count()), 2), num_envs=2, num_workers=2, backend="processes")
    assert play(vec, [0, 0]) == [(2, False, False, 1, None), (2, False, True, 0, 2)]


def test_a_wrapper_may_change_a_space():
    class Twice(Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.observation_space = self.make_space((2,))

        def reset(self, seed=None, **kwargs):
            return np.repeat(super().reset(seed, **kwargs), 2)

        def step(self, actions):
            observation, *rest = self.env.step(actions)
            return np.repeat(observation, 2), *rest

    vec = pufferlib.emulate(lambda: Twice(Count()), backend="serial")
    assert vec.single_observation_space.shape == (2,)
    assert play(vec, [0])[0][3] == 1


def test_batches_are_refused():
    for wrapper, argument in ((ActionRepeat, "frameskip"), (TimeLimit, "max_steps")):
        with pytest.raises(ConfigError, match=f"Rows is a batch.*{argument}"):
            wrapper(Rows(), 3)
    with pytest.raises(ConfigError, match="repeat must be at least 1"):
        ActionRepeat(Count(), 0)
