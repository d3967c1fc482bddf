"""`check=`: how closely the observations of Python envs are looked at."""

import warnings

import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib import PufferEnv
from pufferlib.emulation.observation_check import FIRST_STEPS
from pufferlib.errors import ConfigError, EnvValueError, NonFiniteEnvError

SPACE = spaces.Dict({"in": spaces.Tuple((spaces.Box(-1, 1, (2,)),)), "code": spaces.Box(0, 3, (), np.int16)})


def outside(counting, at, code=0):
    """An env whose observation['in'][0][1] is 1.5 in step `at` of its life."""

    class Outside(counting):
        observation_space = SPACE
        lived = 0

        def obs(self):
            self.lived += 1
            value = 1.5 if self.lived - 1 == at else 1.0
            return {"in": (np.array([-1, value], np.float32),), "code": code}

    return Outside


def play(vec, steps):
    vec.reset(seed=0)
    for _ in range(steps):
        vec.step(np.zeros(vec.num_agents, int))


def test_by_default_a_number_out_of_bounds_is_one_warning_in_the_first_steps(counting):
    vec = pufferlib.emulate([outside(counting, -1), outside(counting, 2)], num_workers=1)
    with pytest.warns(RuntimeWarning, match=r"env 1 returned observation\['in'\]\[0\]\[1\]=1.5, outside .* -1.0 to 1.0") as told:
        play(vec, 30)
    assert len(told) == 1 and "check='always'" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(pufferlib.emulate(outside(counting, 2 * FIRST_STEPS), horizon=10**9), 2 * FIRST_STEPS + 5)


def test_with_always_it_is_an_error_at_any_time(make, counting):
    wild = outside(counting, FIRST_STEPS + 20)
    quiet = outside(counting, -1)
    vec = make([lambda: quiet(horizon=10**9), lambda: quiet(horizon=10**9), lambda: wild(horizon=10**9), quiet], check="always")
    play(vec, FIRST_STEPS + 19)
    with pytest.raises(EnvValueError, match=r"env 2 .*returned observation\['in'\]\[0\]\[1\]=1.5, outside"):
        vec.step(np.zeros(4, int))


def test_with_off_neither_bounds_nor_nan_are_looked_for_but_types_are(counting):
    class Bad(counting):
        observation_space = SPACE
        value = np.nan

        def obs(self):
            return {"in": (np.array([-7, self.value], np.float32),), "code": 99}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(pufferlib.emulate(Bad, num_envs=2, check="off"), 3)
    with pytest.raises(NonFiniteEnvError, match=r"env 0 returned NaN in its observation\['in'\]\[0\]\[1\]"):
        play(pufferlib.emulate(Bad, num_envs=2), 3)
    with pytest.raises(EnvValueError, match=r"observation\['code'\] of shape \(1,\)"):
        play(pufferlib.emulate(outside(counting, -1, code=[1]), check="off"), 1)


@pytest.mark.parametrize("low", [-3, 0])
def test_whole_numbers_have_bounds_too(counting, low):
    wild = outside(counting, -1, code=low + 4)
    wild.observation_space = spaces.Dict({**SPACE.spaces, "code": spaces.Box(low, low + 3, (), np.int16)})
    with pytest.raises(EnvValueError, match=rf"env 0 returned observation\['code'\]={low + 4}, outside .* {low} to {low + 3}"):
        play(pufferlib.emulate(wild, check="always"), 1)


def test_a_plain_box_is_looked_at_too(counting):
    space = spaces.Box(np.array([0, -1], np.float32), np.array([2, 1], np.float32))
    with pytest.raises(EnvValueError, match=r"env 0 returned observation\[0\]=3.0, outside of its space's bounds, 0.0 to 2.0"):
        play(
            pufferlib.emulate(
                lambda: counting(observation_space=space, obs=lambda: np.array([3, 0], np.float32)), check="always"
            ),
            1,
        )


class Native(PufferEnv):
    def __init__(self, buf=None):
        self.single_observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 2
        super().__init__(buf)

    def reset(self, seed=None):
        self.observations[:] = 0
        return self.observations, []

    def step(self, actions):
        self.observations[:] = actions[:, None] * 7
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_native_style_envs_in_python_are_looked_at_too():
    vec = pufferlib.emulate(Native, num_envs=2, check="always")
    vec.reset(seed=0)
    vec.step([0, 0, 0, 0])
    with pytest.raises(EnvValueError, match=r"env 1 returned observation\[0\]=7.0"):
        vec.step([0, 0, 1, 0])


def test_modes_are_checked_and_whole_batches_have_none(counting):
    with pytest.raises(ConfigError, match="check must be one of first, always, off, got 'never'"):
        pufferlib.emulate(counting, check="never")
    with pytest.raises(ConfigError, match=r"check='always': Batch makes whole batches"):
        pufferlib.emulate(type("Batch", (Native,), {"__init__": lambda self, num_envs=1, buf=None: None}), check="always")
