"""Agents that die, are born, change their order: rows, masks, resets. The same on every back end that steps Python envs."""

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.test import parallel_api_test

import pufferlib
from pufferlib.errors import ConfigError, EnvValueError, SpaceError, WorkerError

f32 = np.float32
BACKENDS = [{"backend": "serial"}, {"backend": "processes", "num_workers": 2}]


class Dying(ParallelEnv):
    """a leaves in step 1, c in step 2, b in step 3. An observation holds the agent's number and the time."""

    metadata, possible_agents, last = {"name": "dying"}, ["a", "b", "c"], {"a": 1, "b": 3, "c": 2}
    box, act = spaces.Box(0, 99, (2,), f32), spaces.Discrete(3)
    resets = 0

    def observation_space(self, agent):
        return self.box

    def action_space(self, agent):
        return self.act

    def see(self):
        return {a: np.array([ord(a) - 96, self.t], f32) for a in self.agents}

    def reset(self, seed=None, options=None):
        self.resets += 1
        self.agents, self.t, self.seed = list(self.possible_agents), 0, seed
        return self.see(), {a: {} for a in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents), (sorted(actions), self.agents)
        self.t += 1
        observations = self.see()
        over = {a: self.t >= self.last[a] for a in self.agents}
        self.agents = [a for a in self.agents if not over[a]]
        cut = dict.fromkeys(observations, False)
        return observations, dict.fromkeys(observations, 1.0), over, cut, {a: {"resets": self.resets} for a in over}


class OneAgent(ParallelEnv):
    """One agent with one plain Box; three steps."""

    metadata, possible_agents = {"name": "one_agent"}, ["solo"]
    box, act = spaces.Box(0, 1, (4,), f32), spaces.Discrete(2)

    def observation_space(self, agent):
        return self.box

    def action_space(self, agent):
        return self.act

    def reset(self, seed=None, options=None):
        self.agents, self.t = ["solo"], 0
        return {"solo": np.zeros(4, f32)}, {"solo": {}}

    def step(self, actions):
        self.t += 1
        self.agents = ["solo"] * (self.t < 3)
        return {"solo": np.full(4, self.t / 10, f32)}, {"solo": 1.0}, {"solo": self.t >= 3}, {"solo": False}, {"solo": {}}


class Nursery(Dying):
    """a is there from the start, b joins in step 2 and is cut off in step 4, joins again in step 6; a ends it in step 8.

    Observations come in another order every step.
    """

    possible_agents = ["a", "b"]
    joins, cut = {2, 6}, 4

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.agents = ["a"]
        return self.see(), {"a": {}}

    def step(self, actions):
        assert set(actions) == set(self.agents), (sorted(actions), self.agents)
        self.t += 1
        acted = list(self.agents)
        if self.t in self.joins:
            self.agents = ["b", "a"]
        observations = self.see()
        ends = dict.fromkeys(observations, self.t == 8)
        cuts = {a: a == "b" and self.t == self.cut for a in observations}
        self.agents = [a for a in self.agents if not ends[a] and not cuts[a]]
        return observations, {a: float(a in acted) for a in observations}, ends, cuts, {}


@pytest.fixture(params=BACKENDS, ids=lambda options: options["backend"])
def backend(request):
    return request.param


def rollout(env, steps, **options):
    """Storage of `steps` steps of two envs with action 0, the infos, and the VecEnv, closed."""
    vec = pufferlib.emulate(env, num_envs=2, seed=3, in_order=True, **options)
    storage = vec.allocate(steps + 1)
    infos = []
    vec.async_reset()
    for slot in range(steps):
        vec.recv()
        vec.send(np.zeros(vec.num_agents, np.int32), slot=slot + 1)
    infos += vec.recv().infos
    kept = {name: np.array(getattr(storage, name)) for name in storage.__dataclass_fields__}
    log = vec.drain_log()
    vec.close()
    return kept, infos, log


def test_agents_that_die_at_different_steps(backend):
    for env in (Dying, lambda: Dying()) if backend["backend"] == "serial" else (Dying,):
        kept, infos, log = rollout(env, 3, **backend)
        for rows in (slice(0, 3), slice(3, 6)):
            assert kept["masks"][:, rows].astype(int).tolist() == [[1, 1, 1], [1, 1, 1], [0, 1, 1], [0, 1, 0]]
            assert kept["terminals"][:, rows].astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
            assert kept["observations"][0, rows].tolist() == [[1, 0], [2, 0], [3, 0]]
            assert kept["observations"][1, rows].tolist() == [[1, 1], [2, 1], [3, 1]]
            assert kept["observations"][2, rows].tolist() == [[0, 0], [2, 2], [3, 2]]
            assert kept["observations"][3, rows].tolist() == [[1, 0], [2, 0], [3, 0]], "reset, the next episode"
            assert kept["final_observations"][3, rows][1].tolist() == [2, 3]
            assert kept["rewards"][:, rows].tolist() == [[0, 0, 0], [1, 1, 1], [0, 1, 1], [0, 1, 0]]
        assert not kept["truncations"].any()
        assert log["n"] == 6 and log["episode_return"] == 2 and log["episode_length"] == 2
        assert [info["env_index"] for info in infos] == [0, 1]
        assert infos[0]["final_info"] == {"b": {"resets": 1}}, "one reset before the end, and infos are named by agent"


def test_no_trace_of_the_dead_is_left_in_a_slot_that_is_used_again():
    vec = pufferlib.emulate(Dying)
    storage = vec.allocate(2)
    storage.observations[:] = 77
    vec.async_reset(seed=0)
    for slot in (1, 0, 1):
        vec.recv()
        vec.send([0, 0, 0], slot=slot)
        if slot == 0:
            assert storage.observations[0, 0].tolist() == [0, 0]


def test_agents_that_join_and_join_again(backend):
    kept, _, log = rollout(Nursery, 8, **backend)
    b = kept["masks"][:, 1], kept["observations"][:, 1], kept["rewards"][:, 1], kept["truncations"][:, 1], kept["terminals"][:, 1]
    masks, observations, rewards, truncations, terminals = b
    assert masks.astype(int).tolist() == [0, 0, 0, 1, 1, 0, 0, 1, 1], "what stands where it joins no action led to"
    assert observations.tolist() == [[0, 0], [0, 0], [2, 2], [2, 3], [2, 4], [0, 0], [2, 6], [2, 7], [0, 0]]
    assert rewards.tolist() == [0, 0, 0, 1, 1, 0, 0, 1, 1]
    assert truncations.nonzero()[0].tolist() == [4] and terminals.nonzero()[0].tolist() == [8]
    assert kept["final_observations"][4, 1].tolist() == [2, 4] and kept["final_observations"][8, 1].tolist() == [2, 8]
    assert kept["masks"][:, 0].all() and kept["observations"][8, 0].tolist() == [1, 0]
    assert log["n"] == 6 and log["episode_return"] == pytest.approx((8 + 2 + 2) / 3)


def test_one_agent_with_a_plain_box(backend):
    kept, _, _ = rollout(OneAgent, 4, **backend)
    assert kept["observations"].shape == (5, 2, 4) and kept["observations"].dtype == f32
    assert np.array_equal(kept["observations"][:, 0, 0], f32([0, 0.1, 0.2, 0, 0.1]))
    assert kept["rewards"][1:, 0].tolist() == [1, 1, 1, 1] and kept["terminals"][:, 0].nonzero()[0].tolist() == [3]


def test_every_env_gets_its_own_seed_on_every_back_end(backend):
    class Rolls(Dying):
        box = spaces.Box(0, 2**31, (1,), np.float64)

        def see(self):
            return {a: np.array([self.seed], np.float64) for a in self.agents}

    first, second = (rollout(Rolls, 0, **backend)[0]["observations"][0, ::3, 0] for _ in range(2))
    assert first.tolist() == second.tolist() and first[0] != first[1]
    assert first.tolist() == rollout(Rolls, 0)[0]["observations"][0, ::3, 0].tolist()


def test_threads_are_refused():
    with pytest.raises(ConfigError, match="native"):
        pufferlib.emulate(Dying, num_envs=2, backend="threads")


def test_an_env_that_exists_is_used_as_it_is():
    env = Dying()
    assert pufferlib.emulate(env).reset(seed=0)[0].tolist() == [[1, 0], [2, 0], [3, 0]] and env.resets == 1
    with pytest.raises(Exception, match=r"Dying cannot be copied.*factory"):
        pufferlib.emulate(Dying(), num_envs=2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("self.agents.remove('c')", "took 'c' from its agents without terminating or truncating it"),
        ("result[0].pop('c')", "no observation for the living agent 'c'"),
        ("result[1].pop('c')", "no reward for the living agent 'c'"),
        ("result[0].update(z=result[0]['c'])", "'z', which is none of its agents"),
    ],
)
def test_what_breaks_the_api_is_named(change, words):
    class Broken(Dying):
        def step(self, actions):
            result = super().step(actions)
            exec(change)
            return result

    vec = pufferlib.emulate(Broken, num_envs=2)
    vec.reset(seed=0)
    with pytest.raises(EnvValueError, match=rf"env 0 .*{words}"):
        vec.step([0] * 6)


def test_an_env_without_agents_after_its_reset_is_named():
    class Empty(Dying):
        def reset(self, seed=None, options=None):
            super().reset(seed, options)
            self.agents = []
            return {}, {}

    with pytest.raises(EnvValueError, match="env 0 returned no agent's observation from reset"):
        pufferlib.emulate(Empty).reset(seed=0)


def test_what_an_env_raises_names_it():
    class Fails(Dying):
        def step(self, actions):
            raise KeyError("speed")

    vec = pufferlib.emulate(Fails, num_envs=2)
    vec.reset(seed=0)
    with pytest.raises(WorkerError, match=r"env 0 .*KeyError: 'speed'"):
        vec.step([0] * 6)


def test_agents_that_nobody_knows_beforehand_need_a_number_of_rows():
    class Unknown(Dying):
        possible_agents = property(lambda self: (_ for _ in ()).throw(AttributeError("possible_agents")))

        def reset(self, seed=None, options=None):
            self.agents, self.t, self.born = ["a", "b"], 0, iter("cdefgh")
            return self.see(), {}

        def step(self, actions):
            """One leaves and a new one comes, every step."""
            assert set(actions) == set(self.agents)
            self.t += 1
            gone = self.agents[0]
            self.agents = [*self.agents, next(self.born)]
            observations = self.see()
            self.agents.remove(gone)
            flags = {a: a == gone for a in observations}
            return observations, dict.fromkeys(observations, 1.0), flags, dict.fromkeys(flags, False), {gone: {"gone": gone}}

    with pytest.raises(SpaceError, match=r"Unknown has no possible_agents.*max_agents"):
        pufferlib.emulate(Unknown)
    with pytest.raises(ConfigError, match="max_agents must be a whole number of at least 1, got 0"):
        pufferlib.emulate(Unknown, max_agents=0)
    vec = pufferlib.emulate(Unknown, max_agents=3)
    assert vec.reset(seed=0)[0][:, 0].tolist() == [1, 2, 0]
    assert vec.step([0] * 3)[0][:, 0].tolist() == [1, 2, 3] and vec.storage.masks[0].tolist() == [1, 1, 0]
    assert vec.storage.terminals[0].tolist() == [1, 0, 0]
    assert vec.step([0] * 3)[0][:, 0].tolist() == [4, 2, 3], "d sits where a was"
    assert vec.storage.masks[0].tolist() == [0, 1, 1] and vec.storage.terminals[0].tolist() == [0, 1, 0]
    crowded = pufferlib.emulate(Unknown, max_agents=2)
    crowded.reset(seed=0)
    with pytest.raises(Exception, match=r"no row left for 'c'.*max_agents=2"):
        crowded.step([0] * 2)


@pytest.mark.filterwarnings("ignore")
def test_these_envs_keep_to_pettingzoos_api():
    for env in (Dying(), OneAgent()):
        parallel_api_test(env, 20)
