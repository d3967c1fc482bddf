"""Envs in which agents move one after the other (AEC)."""

import importlib

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import AECEnv

import pufferlib
from pufferlib.errors import EnvValueError
from pufferlib_pettingzoo.names import newest
from pufferlib_pettingzoo.turns import Turns, as_parallel

CLASSIC = {name: module for name, module in newest().items() if module.startswith("pettingzoo.classic") and name != "rps"}


class Race(AECEnv):
    """Three agents in turn go 0, 1 or 2 steps. Whoever passes 3 is out with 1 point; the last one left loses 2."""

    metadata = {"name": "race", "is_parallelizable": False}
    possible_agents = ["x", "y", "z"]
    box, act = spaces.Box(0, 9, (3,), np.float32), spaces.Discrete(3)

    def observation_space(self, agent):
        return self.box

    def action_space(self, agent):
        return self.act

    def observe(self, agent):
        return np.array([self.places[a] for a in self.possible_agents], np.float32)

    def reset(self, seed=None, options=None):
        self.agents, self.moves = list(self.possible_agents), []
        self.places, self.rewards, self._cumulative_rewards = (dict.fromkeys(self.agents, 0) for _ in range(3))
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
        self.infos = {a: {} for a in self.agents}
        self.agent_selection = "x"

    def step(self, action):
        mover = self.agent_selection
        if self.terminations[mover]:
            return self._was_dead_step(action)
        self.moves.append((mover, action))
        self._cumulative_rewards[mover] = 0
        self._clear_rewards()
        self.places[mover] += action
        living = [a for a in self.agents if not self.terminations[a]]
        self.agent_selection = living[(living.index(mover) + 1) % len(living)]
        if self.places[mover] > 3:
            self.rewards[mover], self.terminations[mover] = 1, True
            living.remove(mover)
            if len(living) == 1:
                self.rewards[living[0]], self.terminations[living[0]] = -2, True
        self._accumulate_rewards()
        self._deads_step_first()


def test_only_the_mover_acts_and_the_others_may_only_wait():
    env = Race()
    vec = pufferlib.emulate(env)
    vec.reset(seed=0)
    assert vec.storage.action_masks[0].tolist() == [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    vec.step([2, 0, 0])
    assert env.moves == [("x", 2)] and vec.storage.action_masks[0].tolist() == [[1, 0, 0], [1, 1, 1], [1, 0, 0]]
    assert vec.storage.masks[0].tolist() == [1, 1, 1], "who waits is in the game"
    assert vec.storage.observations[0].tolist() == [[2, 0, 0]] * 3, "everybody sees every move"


def test_rewards_ends_and_dead_steps_of_a_game():
    env = Race()
    vec = pufferlib.emulate(env)
    vec.reset(seed=0)
    seen = []
    for moves in ([2, 0, 0], [0, 1, 0], [0, 0, 1], [2, 0, 0], [0, 2, 0], [0, 0, 2], [0, 1, 0]):
        vec.step(moves)
        now = vec.storage[0]
        seen.append([x.astype(int).tolist() for x in (now.masks, now.rewards, now.terminals)])
    assert seen[3] == [[1, 1, 1], [1, 0, 0], [1, 0, 0]], "x is out"
    assert seen[4] == [[0, 1, 1], [0, 0, 0], [0, 0, 0]] and seen[5] == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert seen[6] == [[0, 1, 1], [0, 1, -2], [0, 1, 1]], "z learns of its loss in y's move"
    assert vec.storage.final_observations[0, 1:].tolist() == [[4, 4, 3]] * 2
    assert env.moves == [] and vec.storage.observations[0].tolist() == [[0, 0, 0]] * 3, "the next game has begun"
    assert vec.drain_log() == {"episode_return": 0, "episode_length": (4 + 7 + 7) / 3, "n": 3}


def test_a_dead_agent_that_stays_is_named():
    class Undead(Race):
        def step(self, action):
            if action is not None:
                super().step(action)

    vec = pufferlib.emulate(Undead)
    vec.reset(seed=0)
    for moves in ([2, 0, 0], [0, 1, 0], [0, 0, 1]):
        vec.step(moves)
    with pytest.raises(EnvValueError, match="env 0 kept 'x' among its agents"):
        vec.step([2, 0, 0])


def test_pettingzoos_own_conversion_serves_where_all_move_at_once():
    module = importlib.import_module(newest()["knights-archers-zombies"])
    env = as_parallel(module.env())
    assert not isinstance(env, Turns) and env.possible_agents == module.parallel_env().possible_agents
    env.close()


@pytest.mark.parametrize("name", CLASSIC)
def test_rewards_are_those_of_pettingzoos_own_loop(name):
    """The sum of what `last()` gives each agent in agent_iter, with the same moves."""
    make, rng = importlib.import_module(CLASSIC[name]).env, np.random.default_rng(1)
    env = make()
    env.reset(seed=5)
    wanted, moves = dict.fromkeys(env.possible_agents, 0.0), []
    for agent in env.agent_iter(100):
        observation, reward, terminal, truncation, _ = env.last()
        wanted[agent] += float(reward)
        if terminal or truncation:
            env.step(None)
        else:
            moves.append(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
            env.step(moves[-1])
    turns = Turns(make())
    turns.reset(seed=5)
    sums = dict.fromkeys(wanted, 0.0)
    for move in moves:
        for agent, reward in turns.step(dict.fromkeys(turns.agents, move))[1].items():
            sums[agent] += float(reward)
    assert sums == wanted and set(turns.agents) == set(env.agents)
