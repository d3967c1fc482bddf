"""Each check of the kit is seen to fail on an env, a back end or a plugin that breaks just that rule."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib import PufferEnv
from pufferlib.errors import CheckError
from pufferlib.plugins import EnvSpec, Plugin, PolicySpec, Registry
from pufferlib.testing import check_env, check_plugin, check_vec_env
from pufferlib.testing import plugins as kit_plugins
from pufferlib.vector.serial import SerialVec
from pufferlib.vector.shape import VecShape


class Walk(PufferEnv):
    """Observes a random walk of its own and t; truncated after five steps. `sabotage` runs at the end of each step."""

    def __init__(self, num_envs=1, buf=None):
        self.single_observation_space = spaces.Box(-100, 100, (2,), np.float32)
        self.single_action_space = spaces.Discrete(3)
        self.num_envs = self.num_agents = num_envs
        super().__init__(buf)

    def reset(self, seed=None):
        self.generators = [np.random.default_rng(s) for s in seed]
        self.t = 0
        self.place = np.array([g.random() for g in self.generators])
        self.write()
        self.rewards[:] = 0
        self.terminals[:] = self.truncations[:] = False
        return self.observations, []

    def write(self):
        self.observations[:, 0], self.observations[:, 1] = self.place, self.t

    def step(self, actions):
        self.t += 1
        self.place += np.asarray(actions) - 1 + [g.random() for g in self.generators]
        self.rewards[:] = self.place
        self.terminals[:] = False
        self.truncations[:] = self.t == 5
        self.write()
        if self.t == 5:
            self.final_observations[:] = self.observations
            self.t = 0
            self.place[:] = 0
            self.write()
        self.sabotage(actions)
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def sabotage(self, actions):
        pass


def test_a_good_env_passes():
    check_env(Walk)
    check_env(lambda: gymnasium.make("CartPole-v1"), steps=60)


def outside_of_the_space(env, actions):
    env.observations[0, 0] = 101


def reward_is_nan(env, actions):
    env.rewards[0] = np.nan


def both_flags(env, actions):
    env.terminals[:] = env.truncations


def no_final_observation(env, actions):
    if env.truncations[0]:
        env.final_observations[0] = np.nan


def final_observation_too_often(env, actions):
    env.final_observations[0] = 0


def beyond_its_rows(env, actions):
    env.rewards.base[-1] = 1


def keeps_old_arrays(env, actions):
    env.first = getattr(env, "first", env.rewards)
    if env.first is not env.rewards:
        env.rewards[:] = np.random.default_rng().random(env.num_envs)


def draws_from_the_clock(env, actions):
    env.observations[0, 0] += np.random.default_rng().random()


def rows_depend_on_neighbours(env, actions):
    env.rewards += len(env.rewards)


@pytest.mark.parametrize(
    ("sabotage", "words"),
    [
        (outside_of_the_space, "not in Box"),
        (reward_is_nan, "not finite"),
        (both_flags, "terminal and truncation at once"),
        (no_final_observation, "final_observations holds none of"),
        (final_observation_too_often, "no episode ended"),
        (beyond_its_rows, "outside of the env's own rows of rewards"),
        (keeps_old_arrays, "a second run .* gave other rewards"),
        (draws_from_the_clock, "a second run .* gave other observations"),
        (rows_depend_on_neighbours, "the last env alone gave other rewards"),
    ],
)
def test_a_bad_env_is_caught(sabotage, words):
    with pytest.raises(CheckError, match=words):
        check_env(type("Bad", (Walk,), {"sabotage": sabotage}), steps=20)


def test_a_reset_that_leaves_rewards_is_caught():
    class Leaves(Walk):
        def reset(self, seed=None):
            super().reset(seed)
            self.rewards[:] = 1
            return self.observations, []

    with pytest.raises(CheckError, match="after reset"):
        check_env(Leaves)


# ---------------------------------------------------------------- back ends


def serial(cls=SerialVec, batch=2):
    return lambda: cls(Walk, VecShape(4, 4, batch))


def test_a_good_back_end_passes():
    check_vec_env(serial(), reference=serial(batch=4))


class OtherNumbers(SerialVec):
    def _start_step(self, group, source, target):
        super()._start_step(group, source, target)
        self._views[target][group].rewards[:] += self.num_batches


class IgnoresTheSlot(SerialVec):
    def _start_step(self, group, source, target):
        super()._start_step(group, source, 0)


class StepsTwice(SerialVec):
    def recv(self):
        batch = super().recv()
        batch.rewards[:] += 1
        return batch


class NoFinalObservation(SerialVec):
    def step(self, actions):
        return (*super().step(actions)[:4], {})


class Reopens(SerialVec):
    def _check_open(self):
        pass


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (OtherNumbers, "the reference gave other rewards in step 1"),
        (IgnoresTheSlot, "recv and send gave other"),
        (StepsTwice, "recv and send gave other rewards in step 0, row 0"),
        (NoFinalObservation, "final_obs is given for"),
        (Reopens, "ClosedError"),
    ],
)
def test_a_bad_back_end_is_caught(cls, words):
    with pytest.raises(CheckError, match=words):
        check_vec_env(serial(cls), reference=serial(batch=4))


# ---------------------------------------------------------------- plugins


@pytest.fixture
def plugin_of(monkeypatch, tmp_path):
    """`plugin_of(record, ...)`: the registry holds one plugin "mine" with these records."""

    def make(*records, status="ok"):
        registry = Registry([Plugin("mine", "pufferlib.plugins.builtin", "dist-mine", "1", status, "why", list(records))])
        monkeypatch.setattr(kit_plugins, "registry", lambda: registry)
        return registry

    return make


def test_a_good_plugin_passes(plugin_of):
    plugin_of(EnvSpec("mine-walk", Walk, "A walk"), PolicySpec("p", "json:dumps", "A policy"))
    assert check_plugin("mine", steps=10) == ["mine-walk", "p"]


def test_the_built_in_plugin_passes():
    assert {"gym", "mlp", "lstm", "mingru", "serial", "threads"} <= set(check_plugin("core"))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (EnvSpec("mine-x", "no_such_module:Env", "x"), "no_such_module"),
        (EnvSpec("mine-x", Walk), "'mine-x'.*no summary"),
        (EnvSpec("mine-x", "json:__name__", "x"), "cannot be called"),
        (EnvSpec("mine-x", Walk, "x", preset="nowhere.toml"), "nowhere.toml is missing"),
        (EnvSpec("mine-x", Walk, "x", preset="builtin.py"), "builtin.py is no TOML"),
        (EnvSpec("mine-x", type("Bad", (Walk,), {"sabotage": reward_is_nan}), "x"), "'mine-x': step 1, row 0: the reward"),
    ],
)
def test_a_bad_plugin_is_caught(plugin_of, record, words):
    plugin_of(record)
    with pytest.raises(CheckError, match=words):
        check_plugin("mine", steps=10)


def test_a_plugin_that_is_missing_failed_or_empty_is_caught(plugin_of):
    plugin_of(status="failed")
    with pytest.raises(CheckError, match=r"'mine' \(dist-mine 1\) is failed: why"):
        check_plugin("mine")
    with pytest.raises(CheckError, match="no plugin is named 'yours'"):
        check_plugin("yours")
    plugin_of()
    with pytest.raises(CheckError, match="registers nothing"):
        check_plugin("mine")


def test_a_preset_with_an_unknown_table_is_caught(plugin_of, monkeypatch, tmp_path):
    registry = plugin_of(EnvSpec("mine-x", Walk, "x", preset="preset.toml"))
    (tmp_path / "preset.toml").write_text("[trian]\nlearning_rate = 1\n")
    monkeypatch.setattr(registry, "preset_path", lambda spec: tmp_path / spec.preset)
    with pytest.raises(CheckError, match="trian"):
        check_plugin("mine")


def test_check_error_is_an_assertion_and_the_librarys():
    assert issubclass(CheckError, AssertionError) and issubclass(CheckError, pufferlib.errors.PufferError)
