"""Every wrapper that Gymnasium has as well gives the same, step by step, on the same env and seeds."""

import gymnasium.wrappers as theirs
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import NormalizeObservation as VectorNormalizeObservation

import pufferlib
from pufferlib import wrappers as ours


@pytest.mark.parametrize("padding", ["reset", "zero"])
def test_frame_stack(agrees, one, picture, padding):
    vec = ours.FrameStackObservation(one(picture), 4, padding=padding)
    agrees(vec, theirs.FrameStackObservation(picture(), 4, padding_type=padding), rtol=0, atol=0)


@pytest.mark.parametrize("keep_dim", [False, True])
def test_grayscale(agrees, one, picture, keep_dim):
    vec = ours.GrayscaleObservation(one(picture), keep_dim)
    agrees(vec, theirs.GrayscaleObservation(picture(), keep_dim), rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(6, 5), (7, 11), (12, 15), (1, 1)])
def test_resize(agrees, one, picture, shape):
    pytest.importorskip("cv2", reason="Gymnasium's ResizeObservation needs opencv-python")
    agrees(ours.ResizeObservation(one(picture), shape), theirs.ResizeObservation(picture(), shape), rtol=0, atol=1.01)


def test_normalize_observation(agrees, one, walk):
    agrees(ours.NormalizeObservation(one(walk)), theirs.NormalizeObservation(walk()), rtol=1e-3, atol=1e-3)


def test_normalize_observation_of_many_rows(walk):
    """While no episode ends, as Gymnasium's knows next-step resets only."""
    vec = ours.NormalizeObservation(pufferlib.emulate(walk, num_envs=5, backend="serial"))
    other = VectorNormalizeObservation(SyncVectorEnv([walk] * 5))
    seeds = [1, 2, 3, 4, 5]
    np.testing.assert_allclose(vec.reset(seed=seeds)[0], other.reset(seed=seeds)[0], rtol=1e-3, atol=1e-3)
    for _ in range(2):
        actions = np.zeros(5, int)
        np.testing.assert_allclose(vec.step(actions)[0], other.step(actions)[0], rtol=1e-3, atol=1e-3)


def test_clip_and_scale_reward(agrees, one, walk):
    agrees(ours.ClipReward(one(walk), 2, 5.5), theirs.ClipReward(walk(), 2, 5.5))
    agrees(ours.ScaleReward(one(walk), -0.25), theirs.TransformReward(walk(), lambda reward: -0.25 * reward))


def test_time_limit(agrees, one, walk):
    agrees(one(lambda: ours.TimeLimit(walk(), 3)), theirs.TimeLimit(walk(), 3))
    agrees(one(lambda: ours.TimeLimit(walk(), 4)), theirs.TimeLimit(walk(), 4))


def test_chains(agrees, one, picture):
    vec = ours.FrameStackObservation(ours.GrayscaleObservation(one(lambda: ours.TimeLimit(picture(), 4))), 3)
    other = theirs.FrameStackObservation(theirs.GrayscaleObservation(theirs.TimeLimit(picture(), 4)), 3)
    agrees(vec, other, rtol=0, atol=0)


def test_episode_statistics(walk):
    vec = ours.RecordEpisodeStatistics(pufferlib.emulate(walk, num_envs=3, backend="serial"))
    same = SyncVectorEnv([walk] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    other = theirs.vector.RecordEpisodeStatistics(same)
    vec.reset(seed=[1, 2, 3])
    other.reset(seed=[1, 2, 3])
    ended = 0
    for step in range(40):
        actions = np.array([0, 1, step % 2])
        mine, given = vec.step(actions)[4], other.step(actions)[4]
        assert ("episode" in mine) == ("episode" in given)
        if "episode" in mine:
            ended += 1
            np.testing.assert_array_equal(mine["_episode"], given["_episode"])
            for key in "rl":
                np.testing.assert_array_equal(mine["episode"][key], given["episode"][key])
    assert ended >= 5


def test_normalize_reward_until_an_end(walk):
    """After an end Gymnasium's forgets a terminal's own past, and goes on over a truncation; ours follows the episodes."""
    vec = ours.NormalizeReward(pufferlib.emulate(walk, num_envs=4, backend="serial"), gamma=0.9)
    same = SyncVectorEnv([walk] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    other = theirs.vector.NormalizeReward(same, gamma=0.9)
    vec.reset(seed=[1, 2, 3, 4])
    other.reset(seed=[1, 2, 3, 4])
    for step in range(2):
        actions = np.array([0, 1, 1, step])
        np.testing.assert_allclose(vec.step(actions)[1], other.step(actions)[1], rtol=1e-5)
