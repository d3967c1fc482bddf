"""What may be given to emulate, and stacks of native-style PufferEnvs."""

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib import PufferEnv
from pufferlib.errors import ConfigError, EnvError, NonFiniteEnvError, SpaceError, WorkerError


def test_an_instance_a_class_and_a_factory_give_the_same():
    factory = functools.partial(gymnasium.make, "CartPole-v1")
    given = [factory(), factory, lambda: factory()]
    first = [pufferlib.emulate(env, num_envs=4).reset(seed=7)[0].copy() for env in given]
    first.append(pufferlib.make("gym-CartPole-v1", num_envs=4).reset(seed=7)[0].copy())
    assert all(np.array_equal(first[0], other) for other in first) and len(np.unique(first[0], axis=0)) == 4


def test_an_instance_is_itself_the_first_env(counting):
    env = counting()
    vec = pufferlib.emulate(env, num_envs=1)
    vec.reset(seed=0)
    vec.step([1])
    assert env.got == 1


def test_an_instance_without_a_spec_cannot_be_copied(counting):
    with pytest.raises(EnvError, match=r"Counting cannot be copied.*factory"):
        pufferlib.emulate(counting(), num_envs=2)


def test_keyword_arguments_reach_classes_and_factories_only(counting):
    assert pufferlib.emulate(counting, num_envs=2, horizon=1)._envs[0].envs[1].horizon == 1
    with pytest.raises(ConfigError, match="horizon"):
        pufferlib.emulate(counting(), horizon=1)
    with pytest.raises(TypeError, match="speed"):
        pufferlib.make("gym-CartPole-v1", speed=3)


@pytest.mark.parametrize("thing", [3, object(), dict, lambda: None])
def test_what_is_no_env_is_refused_by_its_type(thing):
    with pytest.raises(EnvError, match=r"no env of a known kind.*gymnasium.core:Env"):
        pufferlib.emulate(thing)


def test_frames_come_from_the_first_env():
    vec = pufferlib.make("gym-CartPole-v1", num_envs=2, render_mode=None)
    assert vec.render_mode is None

    class Draws(gymnasium.Env):
        observation_space = spaces.Box(0, 1, (1,), np.float32)
        action_space = spaces.Discrete(2)

        def __init__(self, render_mode=None):
            self.render_mode = render_mode

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

        def render(self):
            return np.full((2, 3, 3), 7, np.uint8)

    vec = pufferlib.emulate(Draws, num_envs=2, render_mode="rgb_array")
    vec.reset()
    assert vec.render_mode == "rgb_array" and vec.render().shape == (2, 3, 3)


# ---------------------------------------------------------------- native style in Python


class Pair(PufferEnv):
    """Two rows that observe (seed, t) and are truncated at step 3. It never clears a flag: the stack does."""

    def __init__(self, buf=None):
        self.single_observation_space = spaces.Box(0, 2**31, (2,), np.float64)
        self.single_action_space = spaces.Discrete(4)
        self.num_agents = 2
        super().__init__(buf)

    def reset(self, seed=None):
        self.seed = self.seed if seed is None else seed
        self.t = 0
        self.observations[:] = [self.seed, 0]
        return self.observations, []

    def step(self, actions):
        self.t += 1
        self.observations[:] = [self.seed, self.t]
        self.rewards[:] = actions
        if self.t == 3:
            self.truncations[:] = True
            self.final_observations[:] = self.observations
            self.t = 0
            self.observations[:] = [self.seed, 0]
            return self.observations, self.rewards, self.terminals, self.truncations, [{"laps": 1}]
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_native_style_envs_are_stacked_without_copies():
    vec = pufferlib.emulate(Pair, num_envs=3)
    assert vec.num_envs == 3 and vec.num_agents == 6
    observations = vec.reset(seed=0)[0]
    assert len(np.unique(observations[:, 0])) == 3 and observations[0, 0] == observations[1, 0]
    for t in (1, 2, 3, 1):
        observations, rewards, terminals, truncations, infos = vec.step([0, 1, 2, 3, 0, 1])
        assert rewards.tolist() == [0, 1, 2, 3, 0, 1] and not terminals.any()
        assert truncations.all() == (t == 3) and (observations[:, 1] == t % 3).all()
        assert ("laps" in infos) == (t == 3)
        if t == 3:
            assert (infos["final_obs"][:, 1] == 3).all()
            assert infos["laps"].tolist() == [1, 1, 1], "one entry per env"
    assert np.shares_memory(vec._envs[0].envs[2].observations, vec.storage.observations)
    assert vec.drain_log() == {"laps": 1.0, "episode_return": 3 * 7 / 6, "episode_length": 3.0, "n": 6.0}


def test_a_class_that_takes_num_envs_is_a_batch_of_its_own():
    class Batch(Pair):
        def __init__(self, num_envs=1, buf=None):
            super().__init__(buf)
            self.num_envs = num_envs

    assert type(pufferlib.emulate(Batch, num_envs=1)._envs[0]) is Batch


def test_nan_and_exceptions_name_the_env():
    class Bad(Pair):
        def step(self, actions):
            if actions[0] == 3:
                raise KeyError("speed")
            self.rewards[:] = np.nan if actions[0] == 2 else 0
            return self.observations, self.rewards, self.terminals, self.truncations, []

    vec = pufferlib.emulate(Bad, num_envs=2)
    vec.reset(seed=0)
    with pytest.raises(NonFiniteEnvError, match="env 1 returned reward=nan"):
        vec.step([0, 0, 2, 0])
    vec.reset(seed=0)
    with pytest.raises(WorkerError, match=r"env 1 raised KeyError: 'speed' in step\(\)"):
        vec.step([0, 0, 3, 0])


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [("num_agents", 0, "num_agents"), ("num_agents", 1.5, "num_agents"), ("single_observation_space", spaces.Discrete(2), "Box")],
)
def test_declarations_are_checked(attribute, value, words):
    class Bad(PufferEnv):
        single_observation_space = spaces.Box(0, 1, (1,), np.float32)
        single_action_space = spaces.Discrete(2)
        num_agents = 1

    with pytest.raises(SpaceError, match=words):
        type("Bad", (Bad,), {attribute: value})()
    del Bad.num_agents
    with pytest.raises(SpaceError, match=r"must set .*num_agents"):
        Bad()


def test_gym_names_help():
    with pytest.raises(pufferlib.errors.EnvNotFoundError, match="CartPole"):
        pufferlib.make("gym-CartPol-v1")
    with pytest.raises(pufferlib.errors.EnvNotFoundError, match="no_such_module"):
        pufferlib.make("gym-no_such_module:Id-v0")
