"""PufferEnvs in plain Python: the declarative style, one agent or several."""

import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib import PufferEnv
from pufferlib.errors import EnvError, EnvTypeError, EnvValueError, SpaceError


class Walk(PufferEnv):
    """Observes its steps; done after three; the reward is the action."""

    def __init__(self, buf=None, length=3):
        super().__init__(buf)
        self.observation_space = self.make_space((2,))
        self.action_space = self.make_discrete(4)
        self.length = length

    def reset(self):
        self.t = 0
        return np.zeros(2, np.float32)

    def step(self, action):
        self.t += 1
        return np.full(2, self.t, np.float32), float(action), self.t == self.length, {"t": self.t}


def test_it_works_alone_and_in_a_batch():
    alone = Walk()
    assert alone.reset().shape == (2,) and alone.step(2)[1] == 2.0
    vec = pufferlib.emulate(Walk, num_envs=4, length=2)
    assert vec.reset(seed=0)[0].dtype == np.float32
    vec.step([0, 1, 2, 3])
    observations, rewards, terminals, truncations, infos = vec.step([0, 1, 2, 3])
    assert rewards.tolist() == [0, 1, 2, 3] and terminals.all() and not truncations.any() and (observations == 0).all()
    assert infos["final_obs"].tolist() == [[2.0, 2.0]] * 4 and infos["final_info"]["t"].tolist() == [2] * 4
    assert vec.drain_log() == {"episode_return": 3.0, "episode_length": 2.0, "n": 4.0, "t": 1.5}


def test_five_values_and_the_time_limit_of_old():
    class Five(Walk):
        def step(self, action):
            observation, reward, done, info = super().step(action)
            return observation, reward, False, done, info

    class TimeLimit(Walk):
        def step(self, action):
            observation, reward, done, info = super().step(action)
            return observation, reward, done, {**info, "TimeLimit.truncated": done}

    for cls in (Five, TimeLimit):
        vec = pufferlib.emulate(cls, num_envs=2, length=1)
        vec.reset()
        _, _, terminals, truncations, _ = vec.step([0, 0])
        assert truncations.all() and not terminals.any()


def test_a_reset_with_a_seed_parameter_gets_the_envs_seed():
    class Seeded(Walk):
        def reset(self, seed=None):
            if seed is not None:
                self.rng = np.random.default_rng(seed)
            return self.rng.random(2).astype(np.float32)

    vec = pufferlib.emulate(Seeded, num_envs=3)
    first = vec.reset(seed=1)[0].copy()
    assert len(np.unique(first)) == 6 and np.array_equal(vec.reset(seed=1)[0], first)
    assert not np.array_equal(vec.reset()[0], first)


def test_the_helpers_make_spaces():
    assert PufferEnv.make_space(3) == spaces.Box(-np.inf, np.inf, (3,), np.float32)
    assert PufferEnv.make_space((2, 2), 0, 255, np.uint8) == spaces.Box(0, 255, (2, 2), np.uint8)
    assert PufferEnv.make_space((2,), dtype=np.int8) == spaces.Box(-128, 127, (2,), np.int8)
    assert PufferEnv.make_space({"a": (2,), "b": {"c": 1}})["b"]["c"].shape == (1,)
    assert PufferEnv.make_discrete(3).n == 3 and PufferEnv.make_multi_discrete([2, 3]).nvec.tolist() == [2, 3]


def test_missing_spaces_are_named():
    class Forgot(PufferEnv):
        def __init__(self, buf=None):
            super().__init__(buf)
            self.observation_space = self.make_space((2,))

    with pytest.raises(SpaceError, match="Forgot must set action_space"):
        pufferlib.emulate(Forgot, num_envs=2)


def test_both_kinds_of_attributes_are_refused_in_either_order():
    class Before(PufferEnv):
        observation_space = spaces.Box(0, 1, (2,), np.float32)
        single_observation_space = observation_space

    with pytest.raises(SpaceError, match=r"single_observation_space.*observation_space.*only one kind"):
        Before()

    class After(PufferEnv):
        def __init__(self, buf=None):
            super().__init__(buf)
            self.observation_space = self.single_observation_space = self.make_space((2,))
            self.action_space = self.single_action_space = self.make_discrete(2)
            self.num_agents = 1

    with pytest.raises(SpaceError, match="only one kind"):
        pufferlib.emulate(After)


def test_another_number_of_values_is_refused():
    class Three(Walk):
        def step(self, action):
            return super().step(action)[:3]

    vec = pufferlib.emulate(Three, num_envs=2)
    vec.reset()
    with pytest.raises(EnvValueError, match=r"env 0 must return \(observation, reward, done, info\)"):
        vec.step([0, 0])


# ---------------------------------------------------------------- several agents

LAST = {"a": 1, "b": 3, "c": 2}


class Dying(PufferEnv):
    """Three agents that leave after 1, 3 and 2 steps. Each observes (its number, t)."""

    names = ("a", "b", "c")

    def __init__(self, buf=None):
        super().__init__(buf)
        self.observation_space = self.make_space((2,))
        self.action_space = self.make_discrete(3)

    def see(self):
        return {name: np.array([ord(name) - 96, self.t], np.float32) for name in self.living}

    def reset(self, seed=None):
        self.living, self.t = list(self.names), 0
        return self.see()

    def step(self, actions):
        assert set(actions) == set(self.living), "only the living act"
        self.t += 1
        observations = self.see()
        over = {name: self.t >= LAST[name] for name in self.living}
        self.living = [name for name in self.living if not over[name]]
        return observations, {name: float(actions[name]) for name in observations}, over, {name: {} for name in observations}


def test_agents_that_leave_early_are_masked_until_the_last_one_has_left():
    vec = pufferlib.emulate(Dying, num_envs=2)
    storage = vec.allocate(5)
    assert vec.num_envs == 2 and vec.num_agents == 6 and vec.agents_per_batch == 6
    vec.async_reset(seed=0)
    for t in range(4):
        vec.recv()
        vec.send([0, 1, 2, 2, 1, 0], slot=t + 1)
    vec.recv()
    second_env = storage[:, 3:]
    assert second_env.masks.tolist() == [[True] * 3, [True] * 3, [False, True, True], [False, True, False], [True] * 3]
    assert second_env.terminals[1:4].tolist() == [[True, False, False], [False, False, True], [False, True, False]]
    assert second_env.rewards[1:4].tolist() == [[2, 1, 0], [0, 1, 0], [0, 1, 0]]
    assert second_env.final_observations[1, 0].tolist() == [1, 1] and second_env.final_observations[3, 1].tolist() == [2, 3]
    assert second_env.observations[2, 0].tolist() == [0, 0], "no trace of one who has left"
    assert second_env.observations[3].tolist() == [[1, 0], [2, 0], [3, 0]], "the next episode begins in the last one's last step"
    log = vec.drain_log()
    assert log["n"] == 8 and log["episode_length"] == (2 * (1 + 3 + 2) + 2 * 1) / 8, "a's second episode has ended, too"


def test_one_flag_for_all_and_all_in_the_dict():
    class Scalar(Dying):
        def step(self, actions):
            observations, rewards, _, infos = super().step(actions)
            return observations, rewards, self.end, infos

    for end in (True, {"__all__": True}):
        vec = pufferlib.emulate(type("Ends", (Scalar,), {"end": end}), num_envs=1)
        vec.reset(seed=0)
        assert vec.step([0, 0, 0])[2].all() and vec.storage.observations[0, :, 1].tolist() == [0, 0, 0]


def test_rows_are_in_the_order_of_possible_agents():
    class Ordered(Dying):
        possible_agents = ("c", "a", "b")

    vec = pufferlib.emulate(Ordered, num_envs=1)
    assert vec.reset(seed=0)[0][:, 0].tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda o, r: o.update(z=o["a"]), EnvValueError, "'z'"),
        (lambda o, r: o.pop("b"), EnvValueError, "no observation for the living agent 'b'"),
        (lambda o, r: r.pop("b"), EnvValueError, "no reward for the living agent 'b'"),
        (lambda o, r: r.update(b=None), EnvTypeError, "reward=None"),
        (lambda o, r: o.update(b=np.zeros(3, np.float32)), EnvValueError, r"shape \(3,\)"),
    ],
)
def test_what_agents_return_is_checked(change, error, words):
    class Bad(Dying):
        def step(self, actions):
            result = super().step(actions)
            change(*result[:2])
            return result

    vec = pufferlib.emulate(Bad, num_envs=2)
    vec.reset(seed=0)
    with pytest.raises(error, match=f"env 0 .*{words}") as refused:
        vec.step([0] * 6)
    assert isinstance(refused.value, EnvError)


def test_agents_with_unlike_spaces_are_refused():
    class Unlike(Dying):
        def __init__(self, buf=None):
            super().__init__(buf)
            self.observation_space = {"a": self.make_space((2,)), "b": self.make_space((3,)), "c": self.make_space((2,))}

    with pytest.raises(SpaceError, match=r"'a' and 'b' of env 0 differ in observation_space.*pad"):
        pufferlib.emulate(Unlike)
