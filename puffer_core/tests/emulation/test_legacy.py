"""Envs of the old gym API: against Gymnasium's own where the real package has the same env, and by hand."""

import importlib.util
import types
import warnings
from collections import OrderedDict, namedtuple

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib import LegacyGym
from pufferlib.emulation.legacy import gymnasium_space
from pufferlib.errors import ConfigError, EnvError, EnvTypeError, EnvValueError, SpaceError
from pufferlib.testing import check_env
from pufferlib.wrappers import ActionRepeat

needs_gym = pytest.mark.skipif(not importlib.util.find_spec("gym"), reason="gym is not installed")
BoxSpace = namedtuple("BoxSpace", "low high shape dtype")
DiscreteSpace = namedtuple("DiscreteSpace", "n")


class OldEnv:
    """gym 0.21's API without a base class. The observation is (seed, t)."""

    observation_space = BoxSpace(0, 2**31, (2,), np.float64)
    action_space = DiscreteSpace(3)
    metadata = {"render.modes": ["human", "rgb_array"]}
    horizon, cut = 5, False

    def __init__(self, **settings):
        self.__dict__.update(settings)
        self.seeded, self.closed = 0, False

    def seed(self, seed=None):
        self.seeded = seed

    def reset(self):
        self.t = 0
        return np.array([self.seeded, 0.0])

    def step(self, action):
        assert action in (0, 1, 2)
        self.t += 1
        done = self.t == self.horizon
        return np.array([self.seeded, self.t], float), 1, done, {"TimeLimit.truncated": True} if done and self.cut else {}

    def render(self, mode="human"):
        return np.full((2, 2, 3), 7, np.uint8) if mode == "rgb_array" else None

    def close(self):
        self.closed = True


@pytest.mark.parametrize("cut", [False, True])
def test_a_done_is_a_terminal_or_where_the_info_says_so_a_truncation(cut):
    vec = pufferlib.emulate(lambda: LegacyGym(OldEnv(cut=cut)), num_envs=2, num_workers=1)
    vec.reset(seed=3)
    for t in range(1, 6):
        observations, rewards, terminals, truncations, infos = vec.step([0, 2])
        assert rewards.tolist() == [1, 1]
        assert terminals.tolist() == [t == 5 and not cut] * 2 and truncations.tolist() == [t == 5 and cut] * 2
    assert observations[:, 1].tolist() == [0, 0] and [o[1] for o in infos["final_obs"]] == [5, 5]
    assert vec.drain_log()["episode_length"] == 5


def test_seed_reaches_envs_that_are_seeded_by_a_method_of_their_own():
    vec = pufferlib.emulate(lambda: LegacyGym(OldEnv()), num_envs=2, num_workers=1)
    first, again = vec.reset(seed=3)[0][:, 0].copy(), vec.reset(seed=3)[0][:, 0].copy()
    assert first[0] != first[1] and (first == again).all() and (vec.reset(seed=4)[0][:, 0] != first).all()


def test_an_env_without_a_seed_says_so():
    class Unseeded(OldEnv):
        seed = None

    with pytest.warns(UserWarning, match="Unseeded has no seed"):
        LegacyGym(Unseeded()).reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LegacyGym(Unseeded()).reset()


def test_reset_gets_what_it_takes_and_nothing_else():
    class Middle(OldEnv):  # gym 0.26
        def reset(self, *, seed=None, options=None):
            super().seed(seed)
            return super().reset(), {"options": options}

    class Around:  # a gym.Wrapper, which hands anything on
        def __init__(self, env):
            self.env = self.unwrapped = env
            self.observation_space, self.action_space = env.observation_space, env.action_space

        def reset(self, **kwargs):
            return self.env.reset(**kwargs)

    for env in (Middle(), Around(Middle())):
        observation, info = LegacyGym(env).reset(seed=9, options={"level": 2})
        assert observation[0] == 9 and info == {"options": {"level": 2}}
    with pytest.raises(ConfigError, match=r"options=.*Around.*takes no options"):
        LegacyGym(Around(OldEnv())).reset(options={"level": 2})


def test_a_tuple_that_ends_in_a_dict_is_an_observation_where_the_space_says_so():
    class Pair(OldEnv):
        observation_space = spaces.Tuple((spaces.Discrete(4), spaces.Dict({"x": spaces.Discrete(4)})))
        with_info = False

        def reset(self):
            observation = (1, {"x": 2})
            return (observation, {"a": 3}) if self.with_info else observation

    assert LegacyGym(Pair()).reset() == ((1, {"x": 2}), {})
    assert LegacyGym(Pair(with_info=True)).reset() == ((1, {"x": 2}), {"a": 3})


def test_frames_are_asked_for_by_mode():
    env = LegacyGym(OldEnv())
    assert env.render_mode == "rgb_array" and env.render()[0, 0, 0] == 7
    assert LegacyGym(OldEnv(), render_mode="human").render() is None

    class Blind(OldEnv):
        metadata = {}

    assert LegacyGym(Blind()).render_mode is None

    class New(OldEnv):
        render_mode = "ansi"

        def render(self):
            return "new"

    assert LegacyGym(New()).render() == "new" and LegacyGym(New()).render_mode == "ansi"


def test_wrong_results_are_named_with_their_env():
    class Three(OldEnv):
        def step(self, action):
            return 1, 2, 3

    class Maybe(OldEnv):
        def step(self, action):
            return np.zeros(2), 1, "no", {}

    for cls, error, match in ((Three, EnvValueError, "env 0 must return.*not 3"), (Maybe, EnvTypeError, "env 0 .*done='no'")):
        vec = pufferlib.emulate(lambda cls=cls: LegacyGym(cls()), num_workers=1)
        vec.reset(seed=0)
        with pytest.raises(error, match=match):
            vec.step([0])


def test_what_only_looks_like_an_env_is_told_the_way():
    with pytest.raises(EnvError, match=r"OldEnv is no env of a known kind.*pufferlib.LegacyGym"):
        pufferlib.emulate(OldEnv)
    with pytest.raises(SpaceError, match=r"object has no observation_space.*LegacyGym\(env, observation_space="):
        LegacyGym(object())
    replaced = LegacyGym(OldEnv(), observation_space=spaces.Box(0, 2**31, (2,), np.float32), action_space=spaces.Discrete(2))
    assert replaced.observation_space.dtype == np.float32 and replaced.action_space.n == 2


def test_closing_reaches_the_env_if_it_can_be_closed():
    old = OldEnv()
    LegacyGym(old).close()
    assert old.closed
    LegacyGym(types.SimpleNamespace(observation_space=spaces.Discrete(2), action_space=spaces.Discrete(2))).close()


def test_the_testing_kit_and_wrappers_take_it():
    check_env(lambda: LegacyGym(OldEnv()))
    vec = pufferlib.emulate(lambda: ActionRepeat(LegacyGym(OldEnv()), 3), num_envs=2, num_workers=1)
    vec.reset(seed=0)
    assert vec.step([0, 0])[1].tolist() == [3, 3]


# ------------------------------------------------------------ spaces


def test_spaces_by_their_attributes():
    dict_space = namedtuple("DictSpace", "spaces")(OrderedDict(z=DiscreteSpace(2), a=BoxSpace(-1, 1, (3,), "float32")))
    found = gymnasium_space(dict_space)
    assert list(found.spaces) == ["z", "a"] and found["a"] == spaces.Box(-1, 1, (3,), np.float32)
    assert gymnasium_space(found) is found
    bits = types.SimpleNamespace(n=4, shape=(4,))
    counts = types.SimpleNamespace(nvec=[2, 3], shape=(2,))
    both = gymnasium_space(types.SimpleNamespace(spaces=(bits, counts)))
    assert both == spaces.Tuple((spaces.MultiBinary(4), spaces.MultiDiscrete([2, 3])))
    with pytest.raises(SpaceError, match=r"space\['b'\] is a str"):
        gymnasium_space(types.SimpleNamespace(spaces={"b": "text"}))


@needs_gym
@pytest.mark.filterwarnings("ignore")
def test_every_fixed_space_of_gym_has_its_equal():
    from gym import spaces as old

    for name, arguments in (
        ("Box", (np.array([-1.0, 0.0]), np.array([1.0, np.inf]), (2,), np.float64)),
        ("Box", (0, 255, (3, 2), np.uint8)),
        ("Discrete", (5,)),
        ("MultiDiscrete", ([2, 3, 4],)),
        ("MultiBinary", (6,)),
        ("MultiBinary", ([2, 3],)),
    ):
        of_old, ours = getattr(old, name)(*arguments), getattr(spaces, name)(*arguments)
        assert gymnasium_space(of_old) == ours, name
        nested = old.Dict({"b": old.Tuple((of_old, old.Discrete(3, start=-1))), "a": of_old})
        assert gymnasium_space(nested) == spaces.Dict({"b": spaces.Tuple((ours, spaces.Discrete(3, start=-1))), "a": ours})
    with pytest.raises(SpaceError, match="Text"):
        gymnasium_space(old.Text(3))


# ------------------------------------------------------------ the real package


@needs_gym
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["cartpole:CartPoleEnv", "mountain_car:MountainCarEnv", "pendulum:PendulumEnv"])
def test_gyms_envs_step_as_gymnasiums(name):
    """The two packages share these envs' code of steps, and their way to draw numbers."""
    module, _, cls = name.partition(":")
    old, new = (
        getattr(importlib.import_module(f"{package}.envs.classic_control.{module}"), cls) for package in ("gym", "gymnasium")
    )
    kept = []
    for made in (old, new):
        vec = pufferlib.emulate(made, num_envs=3, num_workers=1, seed=5)
        vec.action_space.seed(0)
        rows = [vec.reset()[0].copy()]
        for _ in range(60):
            observations, rewards, terminals, truncations, _ = vec.step(vec.action_space.sample())
            rows += [observations.copy(), rewards.copy(), terminals.copy(), truncations.copy()]
        kept.append(rows)
    # gym's torque of the pendulum is of another rank than its state; what comes of it is equal up to a bit
    assert all(np.allclose(a, b, rtol=1e-6, atol=1e-6) for a, b in zip(*kept, strict=True))


@needs_gym
@pytest.mark.filterwarnings("ignore")
def test_an_env_made_by_gym_cannot_be_copied_and_says_so():
    from gym.envs.classic_control import CartPoleEnv

    env = CartPoleEnv()
    env.spec = types.SimpleNamespace(id="CartPole-v1")
    assert not isinstance(env, gymnasium.Env)
    with pytest.raises(EnvError, match="CartPoleEnv cannot be copied"):
        pufferlib.emulate(env, num_envs=2)
