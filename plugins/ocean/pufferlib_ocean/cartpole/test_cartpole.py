"""Cartpole: step by step against Gymnasium's CartPole-v1, truncation, the continuous variant, and two policies' scores."""

import math

import gymnasium
import numpy as np
import pytest

from pufferlib_ocean.cartpole import Cartpole
from pufferlib_ocean.testing import play

STATE = slice(64, 96)
"""Where a world's four doubles stand in its memory: after the 8 pointers of `PufferIO`."""


def get_state(env, world=0):
    return np.frombuffer(env.world_bytes(world)[STATE])


def set_state(env, world, state):
    memory = bytearray(env.world_bytes(world))
    memory[STATE] = np.asarray(state, np.float64).tobytes()
    env.set_world_bytes(world, bytes(memory))


def balance(observations, _rng=None):
    return (3 * observations[:, 2] + observations[:, 3] > 0).astype(np.int32)


@pytest.fixture
def theirs():
    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    yield env
    env.close()


def start(theirs, state):
    theirs.reset()
    theirs.state = np.array(state, np.float64)


def test_200_steps_from_100_states_agree_with_gymnasium(theirs):
    rng = np.random.default_rng(0)
    states = rng.uniform([-2, -1, -0.18, -1], [2, 1, 0.18, 1], (100, 4))
    ours = Cartpole(num_envs=100, max_steps=0)
    ours.reset(seed=0)
    for world, state in enumerate(states):
        set_state(ours, world, state)
    trace = []
    alive = np.ones(100, bool)
    observations = states.astype(np.float32)
    for _ in range(200):  # half of the action lists balance, or nothing would live for 200 steps
        actions = np.where(np.arange(100) % 2 == 0, balance(observations), rng.integers(0, 2, 100)).astype(np.int32)
        observations, _, terminals, _, _ = ours.step(actions)
        trace.append((actions, np.where(terminals[:, None], ours.final_observations, observations), terminals.copy()))
    for world, state in enumerate(states):
        start(theirs, state)
        for actions, observed, terminals in trace:
            observation, _, terminated, _, _ = theirs.step(int(actions[world]))
            np.testing.assert_allclose(observed[world], observation, rtol=0, atol=1e-6)
            assert terminals[world] == terminated
            if terminated:
                alive[world] = False
                break
    assert 20 < alive.sum() < 80, "both ends and long lives are compared"


def test_10_000_steps_agree_with_gymnasium_step_by_step():
    rng = np.random.default_rng(1)
    theirs = gymnasium.make("CartPole-v1")
    ours = Cartpole()
    observations, _ = ours.reset(seed=0)
    theirs.reset()
    theirs.unwrapped.state = get_state(ours).copy()
    endings = {"terminal": 0, "truncation": 0}
    for t in range(10_000):
        noise = 0.0 if t < 3000 else 0.3
        action = balance(observations) if rng.random() >= noise else rng.integers(0, 2, 1, dtype=np.int32)
        observations, rewards, terminals, truncations, _ = ours.step(action)
        observation, reward, terminated, truncated, _ = theirs.step(int(action[0]))
        assert rewards[0] == reward and (terminals[0], truncations[0]) == (terminated, truncated and not terminated)
        ended = terminated or truncated
        np.testing.assert_allclose((ours.final_observations if ended else observations)[0], observation, rtol=0, atol=1e-6)
        if ended:
            endings["terminal" if terminated else "truncation"] += 1
            theirs.reset()
            theirs.unwrapped.state = get_state(ours).copy()
    theirs.close()
    assert endings["terminal"] > 10 and endings["truncation"] > 2


def test_one_step_is_exact_to_double_rounding():
    rng = np.random.default_rng(2)
    env = Cartpole(max_steps=0)
    env.reset(seed=0)
    for _ in range(300):
        x, v, angle, spin = state = rng.uniform([-2.3, -3, -0.2, -3], [2.3, 3, 0.2, 3])
        set_state(env, 0, state)
        env.step(np.array([1], np.int32))
        temp = (10 + 0.05 * spin**2 * math.sin(angle)) / 1.1
        spin_up = (9.8 * math.sin(angle) - math.cos(angle) * temp) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        push = temp - 0.05 * spin_up * math.cos(angle) / 1.1
        expected = [x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * spin_up]
        if not env.terminals[0]:
            np.testing.assert_allclose(get_state(env), expected, rtol=1e-14, atol=1e-15)


def test_balancing_is_truncated_at_500_and_not_terminal():
    env = Cartpole(num_envs=4)
    observations, _ = env.reset(seed=0)
    for t in range(1, 501):
        observations, rewards, terminals, truncations, _ = env.step(balance(observations))
        assert (rewards == 1).all() and not terminals.any() and (truncations == (t == 500)).all()
    assert env.drain_log()["perf"] == 1


def test_a_fall_on_the_last_step_is_terminal():
    env = Cartpole(max_steps=1)
    env.reset(seed=0)
    set_state(env, 0, [0, 0, 0.2094, 1])
    _, rewards, terminals, truncations, _ = env.step(np.array([0], np.int32))
    assert rewards[0] == 1 and terminals[0] and not truncations[0]


def test_continuous_force_is_ten_times_the_clipped_action():
    discrete, continuous = Cartpole(num_envs=6), Cartpole(num_envs=6, continuous=True)
    discrete.reset(seed=0), continuous.reset(seed=0)
    discrete.step(np.array([0, 1, 0, 1, 0, 1], np.int32))
    continuous.step(np.array([[-1], [1], [-7], [np.inf], [np.nan], [0]], np.float32))
    assert (discrete.observations[:4] == continuous.observations[:4]).all()
    coasting = continuous.observations[4:]
    assert (np.abs(coasting[:, 1]) < 0.1).all() and (coasting[:, 1] != discrete.observations[4:, 1]).all(), "no force"


def test_normalize_scales_and_clips():
    plain, scaled = Cartpole(num_envs=50), Cartpole(num_envs=50, normalize=True)
    rng = np.random.default_rng(0)
    for env in (plain, scaled):
        env.reset(seed=0)
    for _ in range(100):
        actions = rng.integers(0, 2, 50, dtype=np.int32)
        plain.step(actions), scaled.step(actions)
        expected = np.clip(plain.observations / np.array([2.4, 3, 0.2094, 3]), -1, 1)
        np.testing.assert_allclose(scaled.observations, expected, atol=1e-6)


def test_starts_are_uniform_within_a_twentieth():
    observations, _ = Cartpole(num_envs=4000).reset(seed=0)
    assert np.abs(observations).max() <= 0.05 and np.abs(observations.mean(0)).max() < 5 * 0.05 / math.sqrt(3 * 4000)
    assert np.abs(observations).max(0).min() > 0.0495


def test_random_policy_lasts_about_22_steps():
    log = play(Cartpole(num_envs=512), None, steps=500)
    assert log["n"] > 500 and 19 < log["score"] < 25 and log["perf"] == pytest.approx(log["score"] / 500)


def test_pushing_under_the_falling_pole_lasts_500_steps():
    log = play(Cartpole(num_envs=512), balance, steps=500)
    assert log["n"] >= 500 and log["score"] >= 490
