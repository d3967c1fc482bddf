"""Rewards, ends of episodes, statistics, infos and seeds of emulated envs."""

import functools
import random
import threading

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.errors import EnvTypeError, EnvValueError, NonFiniteEnvError, WorkerError


def run(vec, steps, seed=None):
    """The results of `steps` steps with action 0, copied, after a reset if a seed is given."""
    if seed is not None:
        vec.reset(seed=seed)
    taken = []
    for _ in range(steps):
        results = vec.step(np.zeros(vec.action_space.shape, int))
        taken.append([np.copy(part) for part in results[:4]] + [results[4]])
    return taken


# ---------------------------------------------------------------- rewards

GOOD = {
    "int": (1, 1.0),
    "float32": (np.float32(1.5), 1.5),
    "float64": (np.float64(1.5), 1.5),
    "0-d": (np.array(2.0), 2.0),
    "length 1": (np.array([2.5]), 2.5),
    "bool": (True, 1.0),
    "numpy bool": (np.True_, 1.0),
}
BAD = {
    "None": (None, TypeError),
    "length 2": (np.ones(2), ValueError),
    "text": ("1", TypeError),
    "empty": (np.zeros(0), ValueError),
    "complex": (1j, TypeError),
    "list of text": (["1"], TypeError),
}


@pytest.mark.parametrize("kind", GOOD)
def test_every_kind_of_number_is_a_reward(counting, each, kind):
    value, reward = GOOD[kind]
    mixed = each([lambda: counting(reward=lambda: value, horizon=2), lambda: counting(reward=lambda: 1, horizon=5)])
    mixed.reset(seed=0)
    for _, rewards, _, _, _ in run(mixed, 6):
        assert rewards.tolist() == [reward, 1.0] and rewards.dtype == np.float32


@pytest.mark.parametrize("kind", BAD)
def test_anything_else_is_refused_with_the_envs_number(counting, each, kind):
    value, family = BAD[kind]
    vec = each([counting, lambda: counting(reward=lambda: value)])
    vec.reset(seed=0)
    with pytest.raises(family, match=r"env 1 .*reward"):
        run(vec, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("nan")])
def test_nan_and_infinity_are_no_rewards(counting, each, value):
    vec = each([counting, counting, lambda: counting(reward=lambda: value)])
    vec.reset(seed=0)
    with pytest.raises(NonFiniteEnvError, match="env 2 returned reward="):
        run(vec, 1)


# ---------------------------------------------------------------- ends of episodes


def test_unequal_episodes_report_their_own_return_and_length(counting, each):
    vec = each([lambda: counting(horizon=3), lambda: counting(horizon=2)])
    statistics = gymnasium.wrappers.vector.RecordEpisodeStatistics(vec)
    statistics.reset(seed=0)
    finished = [[], []]
    for _, _, terminals, truncations, infos in run(statistics, 12):
        assert not truncations.any()
        assert np.array_equal(terminals, infos.get("_final_obs", [False, False]))
        for env in np.flatnonzero(terminals):
            finished[env].append((infos["episode"]["r"][env], infos["episode"]["l"][env]))
    assert finished == [[(3.0, 3)] * 4, [(2.0, 2)] * 6]
    assert vec.drain_log() == {"episode_return": 2.4, "episode_length": 2.4, "n": 10.0}
    assert vec.drain_log() == {}


class Ends(gymnasium.Env):
    """Observes t; ends at step 2 with the flags that it was given."""

    observation_space = spaces.Box(0, 9, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, terminal, truncation):
        self.flags = terminal, truncation

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.zeros(1, np.float32), {"begun": True}

    def step(self, action):
        self.t += 1
        over = self.t == 2
        return np.full(1, self.t, np.float32), 0.0, over and self.flags[0], over and self.flags[1], {"step": self.t}


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ((True, False), (True, False)),
        ((False, True), (False, True)),
        ((True, True), (True, False)),
        ((np.True_, np.False_), (True, False)),
        ((0, 1), (False, True)),
        ((np.array([True]), np.array(False)), (True, False)),
    ],
)
def test_terminal_and_truncation_are_never_merged(given, seen):
    vec = pufferlib.emulate(Ends, num_envs=2, terminal=given[0], truncation=given[1])
    vec.reset(seed=0)
    (first, second) = run(vec, 2)
    assert not first[2].any() and not first[3].any() and "final_obs" not in first[4]
    assert second[2].tolist() == [seen[0]] * 2 and second[3].tolist() == [seen[1]] * 2
    assert second[0].tolist() == [[0.0]] * 2 and second[4]["final_obs"].tolist() == [[2.0]] * 2
    assert second[4]["final_info"]["step"].tolist() == [2, 2] and second[4]["begun"].all()
    assert "step" not in second[4], "what the step said stands in final_info, what the reset said beside it"


@pytest.mark.parametrize("flag", [None, "yes", 2, [True, False], 0.5])
def test_odd_flags_are_refused(flag):
    vec = pufferlib.emulate(lambda: Ends(flag, False), num_envs=1)
    vec.reset(seed=0)
    with pytest.raises(EnvTypeError, match="env 0 returned terminated="):
        run(vec, 2)


def test_the_final_observation_stands_in_the_same_slot_as_the_flag(counting):
    vec = pufferlib.emulate(counting, num_envs=2, horizon=2)
    storage = vec.allocate(4)
    vec.async_reset(seed=0)
    for t in range(3):
        vec.recv()
        vec.send([0, 0], slot=t + 1)
    assert storage.terminals[:, 0].tolist() == [False, False, True, False]
    assert storage.final_observations[2].tolist() == [[2.0], [2.0]] and storage.observations[2].tolist() == [[0.0], [0.0]]


# ---------------------------------------------------------------- infos


class VaryingInfo(gymnasium.Env):
    observation_space = spaces.Box(0, 99, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, shift=0, horizon=6):
        self.shift, self.horizon = shift, horizon

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.t += 1
        said = [{}, {"score": 3}, {"msg": "hi", "pos": np.arange(3)}, {"score": None, "ok": True}]
        said += [{"nested": {"score": 50, "log": [1, 2, 3]}}, {"score": 7, "nan": float("nan"), "n": 4}]
        return np.full(1, self.t, np.float32), 1.0, self.t == self.horizon, False, said[(self.t + self.shift) % 6]


def test_averages_are_of_numbers_only(each):
    vec = each([lambda s=s: VaryingInfo(s) for s in range(3)])
    vec.reset(seed=0)
    run(vec, 60)
    log = vec.drain_log()
    assert log["score"] == 5.0 and log["nested/score"] == 50.0 and log["ok"] == 1.0 and log["info/n"] == 4.0
    assert log["n"] == 30 and log["episode_return"] == log["episode_length"] == 6.0
    assert set(log) == {"score", "nested/score", "ok", "info/n", "n", "episode_return", "episode_length"}


def test_each_info_names_its_env(each):
    vec = each([lambda s=s: VaryingInfo(s) for s in range(3)])
    vec.async_reset(seed=0)
    assert vec.recv().infos == []
    vec.send([0, 0, 0])
    infos = vec.recv().infos
    assert [info["env_index"] for info in infos] == [0, 1, 2]
    assert infos[0]["score"] == 3 and infos[1]["msg"] == "hi" and infos[2]["score"] is None


def test_infos_of_several_batches_count_through_all_envs(counting):
    vec = pufferlib.emulate(counting, num_envs=4, num_workers=2, batch_size=2, horizon=1, info=lambda: {"t": 1})
    vec.reset(seed=0)
    infos = run(vec, 1)[0][4]
    assert infos["_final_info"].all() and infos["final_info"]["t"].tolist() == [1, 1, 1, 1]
    assert vec.drain_log() == {"episode_return": 1.0, "episode_length": 1.0, "n": 4.0, "t": 1.0}


# ---------------------------------------------------------------- seeds


class Rolls(gymnasium.Env):
    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(1000)

    def obs(self):
        return self.np_random.random(1).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.given = seed
        return self.obs(), {}

    def step(self, action):
        random.random()
        return self.obs(), 0.0, True, False, {}


@pytest.mark.parametrize(
    "plan", [{"num_workers": 1}, {"num_workers": 2}, {"num_workers": 4}, {"num_workers": 4, "batch_size": 1}]
)
def test_seeds_do_not_depend_on_the_workers(plan):
    vec, reference = pufferlib.emulate(Rolls, num_envs=4, **plan), pufferlib.emulate(Rolls, num_envs=4, backend="serial")
    first = vec.reset(seed=7)[0].copy()
    assert np.array_equal(first, reference.reset(seed=7)[0]) and len(np.unique(first)) == 4
    assert np.array_equal(run(vec, 3)[-1][0], run(reference, 3)[-1][0])
    assert np.array_equal(vec.reset(seed=7)[0], first)
    assert not np.isin(pufferlib.emulate(Rolls, num_envs=4).reset(seed=8)[0], first).any()


def test_a_later_reset_goes_on_and_zero_is_a_seed():
    vec = pufferlib.emulate(Rolls, num_envs=2)
    first = vec.reset(seed=0)[0].copy()
    autoreset = run(vec, 1)[0][0]
    unseeded = vec.reset()[0].copy()
    assert len(np.unique(np.concatenate([first, autoreset, unseeded]))) == 6
    assert [env.given for env in vec._envs[0].envs] == [None, None]
    assert np.array_equal(vec.reset(seed=0)[0], first)


def test_action_spaces_are_seeded_too():
    samples = []
    for _ in range(2):
        vec = pufferlib.emulate(Rolls, num_envs=2)
        vec.reset(seed=3)
        samples.append([env.action_space.sample() for env in vec._envs[0].envs])
    assert samples[0] == samples[1]


def test_options_reach_the_env(counting):
    class Takes(counting):
        def reset(self, *, seed=None, options=None):
            self.t = options["start"] if options else 0
            return self.obs(), {}

    assert pufferlib.emulate(Takes, num_envs=2).reset(seed=0, options={"start": 3})[0].tolist() == [[3.0], [3.0]]


# ---------------------------------------------------------------- envs that raise


class NeedsTwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a}/{b}")


@pytest.fixture
def boom(counting):
    """`boom(where)`: an env class that raises there."""

    def make(where):
        class Boom(counting):
            def maybe(self, place):
                if place == where:
                    raise NeedsTwoArguments("boom", place)

            def __init__(self):
                super().__init__()
                self.maybe("__init__")

            def reset(self, **kwargs):
                self.maybe("reset")
                return super().reset(**kwargs)

            def step(self, action):
                self.maybe("step")
                return super().step(action)

            def close(self):
                self.maybe("close")

        return Boom

    return make


@pytest.mark.parametrize("where", ["__init__", "reset", "step"])
def test_what_an_env_raises_is_told_with_its_number_and_traceback(counting, each, boom, where):
    closed = []
    neighbour = functools.partial(counting, close=lambda: closed.append(1))
    with pytest.raises(WorkerError) as told:
        run(each([neighbour, boom(where), neighbour]), 1, seed=0)
    text = str(told.value)
    assert "env 1" in text and f"NeedsTwoArguments: boom/{where}" in text and "Traceback" in text and where in text
    assert isinstance(told.value.__cause__, NeedsTwoArguments)
    assert len(closed) == (where == "__init__"), "an env that cannot be built leaves no neighbour open"


def test_an_env_that_cannot_be_closed_is_a_warning_and_the_others_are_closed(counting, each, boom):
    closed = []
    neighbour = functools.partial(counting, close=lambda: closed.append(1))
    vec = each([neighbour, boom("close"), neighbour])
    with pytest.warns(RuntimeWarning, match=r"(?s)env 1 raised NeedsTwoArguments: boom/close in close\(\).*Traceback"):
        vec.close()
    assert closed == [1, 1] and vec.is_closed


@pytest.mark.parametrize(
    ("method", "returned", "words"),
    [
        ("reset", np.zeros(1, np.float32), r"must return \(observation, info\) from reset"),
        ("reset", (np.zeros(1, np.float32), None), "info=None"),
        ("step", (np.zeros(1, np.float32), 1.0, True, {}), r"from step\(\).*tuple of 4"),
        ("step", None, r"from step\(\).*NoneType"),
        ("step", (np.zeros(1, np.float32), 1.0, True, False, None), "info=None"),
        ("step", (np.zeros(1, np.float32), 1.0, True, False, [1]), r"info=\[1\]"),
    ],
)
def test_results_of_the_wrong_form_say_what_is_expected(counting, each, method, returned, words):
    bad = type("Bad", (counting,), {method: lambda self, *args, **kwargs: returned})
    vec = each([counting, bad])
    with pytest.raises((EnvValueError, EnvTypeError), match=f"env 1 .*{words}"):
        run(vec, 1, seed=0)


def test_an_error_raised_in_c_code_is_not_taken_for_a_wrong_result(counting, each):
    class Compiled(counting):
        step = property(lambda self: {}.pop)  # raises KeyError with no Python frame of its own

    for factories, env in ([[Compiled, counting], 0], [[counting, Compiled], 1]):
        vec = each(factories)
        with pytest.raises(WorkerError, match=rf"env {env} raised KeyError: .*0.* in step"):
            run(vec, 1, seed=0)


def test_a_final_info_that_cannot_be_copied_is_handed_over_as_it_is(counting):
    lock = threading.Lock()
    vec = pufferlib.emulate(counting, num_envs=1, horizon=1, info=lambda: {"lock": lock, "t": 1})
    vec.reset(seed=0)
    infos = vec.step([0])[4]
    assert infos["final_info"]["lock"][0] is lock and infos["final_info"]["t"][0] == 1
