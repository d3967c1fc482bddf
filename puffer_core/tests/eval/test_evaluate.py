"""evaluate(): whole episodes, fair shares, exact recurrent states, repeatable."""

from __future__ import annotations

import itertools

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

import pufferlib
from pufferlib.env import PufferEnv
from pufferlib.errors import ConfigError
from pufferlib.eval import Actor, RandomActor, evaluate


class Clock(gymnasium.Env):
    """Shows the step of the episode; each step gives reward 1; episodes of instance k last k + 1 steps."""

    observation_space = spaces.Box(0, 100, (1,), np.float32)
    action_space = spaces.Discrete(3)

    def __init__(self, length):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.array([0], np.float32), {}

    def step(self, action):
        self.time += 1
        return np.array([self.time], np.float32), 1.0, self.time == self.length, False, {"score": float(self.length)}


def clocks(num_envs):
    lengths = itertools.count(1)
    return pufferlib.emulate(lambda: Clock(next(lengths)), num_envs=num_envs, backend="serial")


class Constant(nn.Module):
    """Prefers one action, mildly."""

    def __init__(self, action=1, strength=1.0):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(3))
        self.logits.data[action] = strength

    def forward(self, observations):
        return self.logits.expand(len(observations), 3), torch.zeros(len(observations))


class Counting(Constant):
    """Its state counts the steps since it was cleared, which must be what the clock shows."""

    def initial_state(self, rows):
        return torch.zeros(rows, 1)

    def forward(self, observations, state):
        torch.testing.assert_close(observations, state)
        parameters, value = super().forward(observations)
        return parameters, value, state + 1


def test_each_row_plays_its_share_so_that_long_episodes_count_as_much_as_short_ones():
    with_shares = evaluate(clocks(4), Constant(), episodes=10)
    assert sorted(e.row for e in with_shares) == [0] * 3 + [1] * 3 + [2] * 2 + [3] * 2
    assert all(e.length == e.episode_return == e.row + 1 for e in with_shares)


def test_fewer_episodes_than_rows_leave_the_last_rows_out():
    assert [e.row for e in evaluate(clocks(5), Constant(), episodes=2)] == [0, 1]


def test_recurrent_state_is_cleared_in_each_row_where_its_episode_ends():
    assert len(evaluate(clocks(4), Counting(), episodes=12)) == 12


def test_the_score_is_the_envs_own():
    assert [e.score for e in evaluate(clocks(1), Constant(), episodes=2)] == [1.0, 1.0]
    env = pufferlib.emulate(lambda: gymnasium.make("CartPole-v1"), num_envs=1, backend="serial")
    assert [e.score for e in evaluate(env, None, episodes=2)] == [None, None]


def actions_of(policy, **kwargs):
    env = pufferlib.emulate(lambda: Clock(20), backend="serial")
    taken = []
    evaluate(env, policy, 1, on_step=lambda finished: taken.append(int(env.storage.actions[0, 0])), **kwargs)
    return taken[1:]


def test_deterministic_takes_the_likeliest_action_and_sampling_does_not_always():
    assert set(actions_of(Constant(2, 0.5), deterministic=True)) == {2}
    assert len(set(actions_of(Constant(2, 0.5), seed=0))) > 1


@pytest.mark.parametrize("policy", [None, Constant(1, 0.2)])
def test_one_seed_gives_one_evaluation(policy):
    assert actions_of(policy, seed=3) == actions_of(policy, seed=3)
    assert actions_of(policy, seed=3) != actions_of(policy, seed=4)


def test_a_policy_is_evaluated_in_evaluation_mode_without_gradients():
    policy = Constant()
    policy.train()
    evaluate(clocks(1), policy, 1)
    assert not policy.training
    assert policy.logits.grad is None


@pytest.mark.parametrize("episodes", [0, -1, 1.5, "3"])
def test_the_number_of_episodes_is_checked(episodes):
    with pytest.raises(ConfigError, match="episodes"):
        evaluate(clocks(1), None, episodes)


def test_an_episode_that_does_not_end_is_cut_and_its_row_plays_no_more():
    episodes = evaluate(clocks(4), Constant(), 12, max_steps=3)  # of 1, 2, 3 and 4 steps, three each
    assert [e.length for e in episodes if e.row < 3] == [e.row + 1 for e in episodes if e.row < 3]
    assert sorted(e.row for e in episodes) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    (cut,) = [e for e in episodes if e.is_cut]
    assert cut == (3, 3.0, 3, None, 1, True)


class Visitors(PufferEnv):
    """Three agents of an endless world: the first is always there, the second in steps 6 to 8, then its episode ends; the third
    never."""

    single_observation_space = spaces.Box(0, 1, (1,), np.float32)
    single_action_space = spaces.Discrete(2)
    num_agents = 3

    def reset(self, seed=None):
        self.time = 0
        self.masks[:] = [True, False, False]
        return self.observations, []

    def step(self, actions):
        self.time += 1
        self.masks[:] = [True, 6 <= self.time <= 8, False]
        self.rewards[:], self.terminals[:] = self.masks, [False, self.time == 8, False]
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_an_agent_that_comes_late_has_all_its_steps_and_one_that_never_comes_has_no_episode():
    found = {most: evaluate(pufferlib.emulate(Visitors, backend="serial"), None, 3, max_steps=most) for most in (5, 7)}
    assert found[7] == [(0, 7.0, 7, None, 1, True), (1, 3.0, 3, None, 1, False)]
    assert found[5] == [(0, 5.0, 5, None, 1, True)]


def test_the_number_of_steps_is_checked():
    for steps in (0, -1, 1.5, "3"):
        with pytest.raises(ConfigError, match="max_steps"):
            evaluate(clocks(1), None, 1, max_steps=steps)


def test_an_interrupt_gives_the_episodes_so_far():
    def stop(finished):
        if len(finished) == 2:
            raise KeyboardInterrupt

    assert len(evaluate(clocks(1), None, 10, on_step=stop)) == 2

    def stop_at_once(finished):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(clocks(1), None, 10, on_step=stop_at_once)


def test_random_actions_cover_their_space_and_respect_masks():
    space = spaces.MultiDiscrete([3, 2])
    actor = RandomActor(space, 4, 5, seed=0)
    masks = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 0, 0, 0, 0]], np.uint8)
    drawn = np.stack([actor.act(np.zeros((4, 1)), masks) for _ in range(200)])
    assert drawn.dtype == np.int32
    assert all(space.contains(row) for step in drawn for row in step)
    assert {tuple(a) for a in drawn[:, 0]} == set(itertools.product(range(3), range(2)))
    assert {tuple(a) for a in drawn[:, 1]} == {(1, 0)}
    assert {tuple(a) for a in drawn[:, 2]} == {(0, 1), (2, 1)}
    assert len({tuple(a) for a in drawn[:, 3]}) == 6  # a mask that forbids everything says nothing


def test_random_box_actions_lie_in_bounded_and_unbounded_boxes():
    space = spaces.Box(np.array([-1, -np.inf, 0], np.float32), np.array([1, np.inf, np.inf], np.float32))
    actor = RandomActor(space, 2, seed=0)
    drawn = np.concatenate([actor.act(np.zeros((2, 1))) for _ in range(200)])
    assert drawn.dtype == np.float32
    assert all(space.contains(row) for row in drawn)
    assert (drawn.std(axis=0) > 0.3).all()


def test_box_actions_of_a_policy_are_clipped_to_the_box():
    class Far(nn.Module):
        def forward(self, observations):
            return (torch.full((len(observations), 2), 7.0), torch.zeros(2)), torch.zeros(len(observations))

    actions = Actor(Far(), spaces.Box(-1, 1, (2,)), 3, deterministic=True).act(np.zeros((3, 1), np.float32))
    assert actions.dtype == np.float32
    assert actions.tolist() == [[1, 1]] * 3
