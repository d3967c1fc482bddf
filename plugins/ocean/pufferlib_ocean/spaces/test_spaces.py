"""Spaces: every part of what is seen and done counts, through emulation as well as alone."""

import numpy as np
import pytest

import pufferlib
from pufferlib_ocean.spaces import Spaces
from pufferlib_ocean.spaces.spaces import best


def test_random_policy_earns_5_of_12():
    vec = pufferlib.make("ocean-spaces", num_envs=500, num_workers=1)
    vec.action_space.seed(1)
    vec.reset(seed=1)
    for _ in range(20):
        vec.step(vec.action_space.sample())
    log = vec.drain_log()
    # One episode's return has variance 1/4 * 1/4 + 1/4 * 2/9.
    assert log["n"] == 10_000 and abs(log["score"] - 5 / 12) < 5 * (17 / 144 / 10_000) ** 0.5
    assert log["score"] == pytest.approx(log["episode_return"]) and log["episode_length"] == 1


def test_hand_policy_reads_the_structure_and_earns_all():
    vec = pufferlib.make("ocean-spaces", num_envs=50, num_workers=1)
    observations = vec.reset(seed=2)[0]
    for _ in range(20):
        seen = pufferlib.unflatten(observations, vec.observation_structure)
        assert seen["image"].dtype == np.uint8 and seen["image"].shape == (50, 5, 5)
        assert seen["vector"].dtype == np.float32 and seen["code"].shape == (50,)
        first = (seen["image"].sum((1, 2)) > 12) ^ (seen["code"] == 1)
        observations, rewards, terminals, *_ = vec.step(np.stack([first, seen["vector"].argmax(1)], 1).astype(np.int32))
        assert (rewards == 1).all() and terminals.all()


def test_half_a_point_for_each_half():
    env = Spaces()
    for seed in range(20):
        seen, _ = env.reset(seed=seed)
        assert env.observation_space.contains(seen)
        first, second = best(seen)
        assert [env.step(action)[1] for action in ((first, second), (1 - first, second), (first, (second + 1) % 3))] == [
            1,
            0.5,
            0.5,
        ]
        assert env.step((1 - first, (second + 2) % 3))[1:4] == (0, True, False)


def test_the_image_and_the_code_decide_together():
    seen = {"image": np.ones((5, 5), np.uint8), "vector": np.zeros(3, np.float32), "code": np.int64(0)}
    assert best(seen)[0] == 1 and best({**seen, "code": np.int64(1)})[0] == 0
    seen["image"].reshape(-1)[:13] = 0  # 12 of 25 are left
    assert best(seen)[0] == 0 and best({**seen, "code": np.int64(1)})[0] == 1
