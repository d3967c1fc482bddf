"""Memory: what is seen when, and that nothing but the first observation tells the bit."""

import math

import numpy as np
import pytest

from pufferlib_ocean.memory import Memory
from pufferlib_ocean.testing import play


@pytest.mark.parametrize("delay", [1, 4, 64])
def test_the_bit_is_shown_once_and_asked_for_after_the_delay(delay):
    env = Memory(num_envs=64, delay=delay)
    observations, _ = env.reset(seed=0)
    bits = observations[:, 0].copy()
    assert set(bits.tolist()) == {-1.0, 1.0} and not observations[:, 1].any()
    for t in range(1, delay + 1):
        observations, rewards, terminals, _, _ = env.step(np.arange(64, dtype=np.int32) % 2)
        assert not rewards.any() and not terminals.any(), "earlier actions are ignored"
        assert not observations[:, 0].any() and (observations[:, 1] == (t == delay)).all()
    answers = np.arange(64, dtype=np.int32) % 2
    observations, rewards, terminals, truncations, _ = env.step(answers)
    assert (rewards == (answers == (bits > 0))).all() and terminals.all() and not truncations.any()
    assert not env.final_observations.any() and set(observations[:, 0].tolist()) == {-1.0, 1.0}
    assert env.drain_log()["episode_length"] == delay + 1


def test_every_memoryless_policy_is_right_half_of_the_time():
    rng = np.random.default_rng(0)
    for _ in range(4):
        table = rng.random((3, 2))  # the chance of action 1 for bit -1, 0, 1 and for the flag

        def policy(observations, rng, table=table):
            chance = table[observations[:, 0].astype(int) + 1, observations[:, 1].astype(int)]
            return (rng.random(len(observations)) < chance).astype(np.int32)

        log = play(Memory(num_envs=1000), policy, steps=100)
        assert log["n"] == 20_000 and abs(log["score"] - 0.5) < 5 * 0.5 / math.sqrt(20_000)


def test_the_next_bit_does_not_depend_on_bits_and_answers_before():
    env = Memory(num_envs=2000, delay=1)
    rng = np.random.default_rng(0)
    observations, _ = env.reset(seed=0)
    agreeing = {"bit": [], "answer": []}
    for _ in range(20):
        bits, answers = observations[:, 0] > 0, rng.integers(0, 2, 2000, dtype=np.int32)
        env.step(answers)
        observations = env.step(answers)[0]
        agreeing["bit"].append((observations[:, 0] > 0) == bits)
        agreeing["answer"].append((observations[:, 0] > 0) == (answers > 0))
    for pairs in agreeing.values():
        assert abs(np.mean(pairs) - 0.5) < 5 * 0.5 / math.sqrt(40_000)


def test_who_remembers_is_always_right():
    env = Memory(num_envs=200)
    observations, _ = env.reset(seed=0)
    remembered = np.zeros(200, np.int32)
    for _ in range(50):
        remembered = np.where(observations[:, 0] != 0, observations[:, 0] > 0, remembered).astype(np.int32)
        observations = env.step(remembered)[0]
    log = env.drain_log()
    assert log["n"] == 2000 and log["score"] == log["perf"] == log["episode_return"] == 1
