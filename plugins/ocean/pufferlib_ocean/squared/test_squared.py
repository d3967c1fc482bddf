"""Squared: where the target stands, how the agent moves, when episodes end, and the scores of two policies."""

import numpy as np
import pytest

from pufferlib_ocean.performance_py.performance_py import Pcg32
from pufferlib_ocean.squared import Squared
from pufferlib_ocean.testing import play

STAY, UP, RIGHT, DOWN, LEFT = range(5)


def places(observations, radius, code):
    """(x, y) of a code in each row."""
    side = 2 * radius + 1
    cells = (observations == code).argmax(1)
    return cells % side, cells // side


def walk_to_target(observations, _rng=None, radius=5):
    (x, y), (tx, ty) = places(observations, radius, 1), places(observations, radius, 2)
    return np.select([tx > x, tx < x, ty > y, ty < y], [RIGHT, LEFT, DOWN, UP]).astype(np.int32)


@pytest.mark.parametrize("radius", [1, 5, 15])
def test_target_is_drawn_clockwise_from_the_top_left(radius):
    last = 2 * radius
    rim = [(i, 0) for i in range(last)] + [(last, i) for i in range(last)]
    rim += [(last - i, last) for i in range(last)] + [(0, last - i) for i in range(last)]
    env = Squared(num_envs=300, radius=radius)
    observations, _ = env.reset(seed=list(range(300)))
    drawn = [rim[Pcg32(seed).u32() * 8 * radius >> 32] for seed in range(300)]
    assert list(zip(*places(observations, radius, 2), strict=True)) == drawn
    assert set(zip(*places(observations, radius, 1), strict=True)) == {(radius, radius)}
    assert ((observations > 0).sum(1) == 2).all()


def test_agent_moves_and_is_blocked_at_the_edges():
    env = Squared(num_envs=200, max_steps=0)
    observations, _ = env.reset(seed=0)
    done = np.zeros(200, bool)
    for action, dx, dy in [(STAY, 0, 0), (UP, 0, -1), (RIGHT, 1, 0), (DOWN, 0, 1), (LEFT, -1, 0)]:
        for _ in range(7 if action else 1):
            x, y = places(observations, 5, 1)
            observations, _, terminals, _, _ = env.step(np.full(200, action, np.int32))
            done |= terminals
            new_x, new_y = places(observations, 5, 1)
            assert (new_x[~done] == np.clip(x + dx, 0, 10)[~done]).all() and (new_y[~done] == np.clip(y + dy, 0, 10)[~done]).all()
    assert done.any() and not done.all()


def test_arrival_ends_the_episode_with_reward_1_and_the_agent_on_the_target():
    env = Squared(num_envs=8)
    observations, _ = env.reset(seed=3)
    shortest = [abs(tx - 5) + abs(ty - 5) for tx, ty in zip(*places(observations, 5, 2), strict=True)]
    targets = (observations == 2).argmax(1)
    arrived = np.zeros(8, bool)
    for t in range(1, 11):
        observations, rewards, terminals, truncations, _ = env.step(walk_to_target(observations))
        now = np.array([s == t for s in shortest]) & ~arrived
        assert (terminals[~arrived] == now[~arrived]).all() and (rewards == terminals).all() and not truncations.any()
        for row in np.flatnonzero(now):
            final = env.final_observations[row]
            assert final[targets[row]] == 1 and (final > 0).sum() == 1
            assert observations[row].reshape(11, 11)[5, 5] == 1, "the next episode's first observation"
        arrived |= now
    assert arrived.all()


def test_who_stays_is_truncated_after_8_radius_plus_4_steps():
    env = Squared(num_envs=3, radius=2)
    env.reset(seed=0)
    for t in range(1, 21):
        _, rewards, terminals, truncations, _ = env.step(np.zeros(3, np.int32))
        assert not rewards.any() and not terminals.any() and (truncations == (t == 20)).all()


def test_out_of_range_actions_stay_and_are_counted():
    env = Squared(num_envs=2, max_steps=4)
    env.reset(seed=0)
    for action in ([5, 0], [-1, 0], [2**31 - 1, 0], [0, 0]):
        observations = env.step(np.array(action, np.int32))[0]
    assert (places(observations, 5, 1)[0] == 5).all()
    assert env.drain_log()["invalid_actions"] == 3 / 2


def test_random_policy_reaches_few_targets():
    log = play(Squared(num_envs=1024), None, steps=44 * 20)
    assert log["n"] > 500 and 0.05 < log["score"] < 0.08


def test_walking_towards_the_target_always_arrives_on_the_shortest_way():
    log = play(Squared(num_envs=256), walk_to_target, steps=100)
    assert log["n"] > 500 and log["score"] == 1 and log["perf"] == 1


def test_radius_1_is_one_or_two_steps_wide():
    log = play(Squared(num_envs=256, radius=1), lambda obs, _: walk_to_target(obs, radius=1), steps=50)
    assert log["score"] == 1 and log["perf"] == 1 and 1 <= log["episode_length"] <= 2
