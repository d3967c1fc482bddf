"""Performance: episodes of fixed length, nothing to earn. That it equals its Python twin is tested beside the twin."""

import numpy as np

from pufferlib_ocean.performance import Performance
from pufferlib_ocean.performance_py.performance_py import Pcg32


def test_the_observation_is_the_last_random_number():
    env = Performance(work=7, obs_size=3)
    env.reset(seed=[11])
    source = Pcg32(11)
    for _ in range(5):
        last = [source.u32() for _ in range(7)][-1]
        observations, rewards, terminals, _, _ = env.step(np.zeros(1, np.int32))
        assert observations.tolist() == [[np.float32(last * 2.0**-32), 0, 0]] and not rewards.any() and not terminals.any()


def test_episodes_are_truncated_at_100_with_nothing_earned():
    env = Performance(num_envs=2, work=1)
    env.reset(seed=0)
    for t in range(1, 201):
        observations, _, terminals, truncations, _ = env.step(np.zeros(2, np.int32))
        assert not terminals.any() and (truncations == (t % 100 == 0)).all()
        if t % 100 == 0:
            assert not observations.any() and env.final_observations[:, 0].all()
    log = env.drain_log()
    assert (log["n"], log["episode_length"], log["score"], log["perf"], log["episode_return"]) == (4, 100, 0, 0, 0)


def test_without_work_the_observation_stays_0():
    env = Performance(work=0)
    env.reset(seed=0)
    assert not env.step(np.zeros(1, np.int32))[0].any()
