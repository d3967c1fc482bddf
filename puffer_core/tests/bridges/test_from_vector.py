"""Gymnasium's vector envs as VecEnvs, in every autoreset mode."""

import functools
import importlib

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import pufferlib
from pufferlib.errors import ClosedError, ConfigError, EnvError
from pufferlib.policies import build_policy
from pufferlib.testing import check_vec_env
from pufferlib.wrappers import FrameStackObservation, NormalizeObservation

MODES = list(AutoresetMode)
HORIZONS = (3, 2)
ZEROS = np.zeros(2, int)


@pytest.fixture
def vector(episodes):
    """`vector(mode, cls)`: two envs with episodes of three and two steps."""

    def make(mode, cls=SyncVectorEnv):
        return cls([functools.partial(episodes, horizon) for horizon in HORIZONS], autoreset_mode=mode)

    return make


@pytest.mark.parametrize("mode", MODES)
def test_episodes_are_counted_whole_and_fillers_masked(vector, mode):
    """S11: 12 steps; each finished episode reports its own return and length, in any mode."""
    vec = pufferlib.from_vector(vector(mode))
    vec.reset(seed=1)
    ends, real = np.zeros(2, int), np.zeros(2, int)
    for _ in range(12):
        _, rewards, terminals, truncations, infos = vec.step(ZEROS)
        ended = terminals | truncations
        masks = vec.storage.masks[0]
        np.testing.assert_array_equal(rewards, masks.astype(np.float32))
        for row in np.flatnonzero(ended):
            assert masks[row] and infos["final_obs"][row, 2] == HORIZONS[row]
            assert truncations[row] == bool(ends[row] % 2) != terminals[row]
        ends += ended
        real += masks
    assert tuple(ends) == ((3, 4) if mode == AutoresetMode.NEXT_STEP else (4, 6))
    assert tuple(real) == ((9, 8) if mode == AutoresetMode.NEXT_STEP else (12, 12))
    log = vec.drain_log()
    assert log["n"] == ends.sum() and log["episode_return"] == log["episode_length"] == (3 * ends[0] + 2 * ends[1]) / ends.sum()


@pytest.mark.parametrize("mode", MODES)
def test_observations_of_resets(vector, mode):
    """Where a reset comes within the step, the new episode's first observation stands there; else in the filler row."""
    vec = pufferlib.from_vector(vector(mode))
    assert vec.reset(seed=1)[0][:, 1:].tolist() == [[0, 0], [0, 0]]
    seen = [vec.step(ZEROS)[0][1, 1:].tolist() for _ in range(4)]
    expected = [[0, 1], [0, 2], [1, 0], [1, 1]] if mode == AutoresetMode.NEXT_STEP else [[0, 1], [1, 0], [1, 1], [2, 0]]
    assert seen == expected


def test_same_step_gives_what_the_serial_back_end_gives(episodes):
    factories = [functools.partial(episodes, horizon) for horizon in HORIZONS]
    check_vec_env(
        lambda: pufferlib.from_vector(SyncVectorEnv(factories, autoreset_mode=AutoresetMode.SAME_STEP)),
        reference=lambda: pufferlib.emulate(factories, backend="serial"),
    )
    check_vec_env(
        lambda: FrameStackObservation(pufferlib.from_vector(SyncVectorEnv(factories, autoreset_mode=AutoresetMode.DISABLED)), 2),
        reference=lambda: FrameStackObservation(pufferlib.emulate(factories, backend="serial"), 2),
    )


@pytest.mark.parametrize("mode", MODES)
def test_worker_processes_of_gymnasium(vector, mode):
    one, other = pufferlib.from_vector(vector(mode)), pufferlib.from_vector(vector(mode, AsyncVectorEnv))
    np.testing.assert_array_equal(one.reset(seed=4)[0], other.reset(seed=4)[0])
    for _ in range(8):
        for mine, theirs in zip(one.step(ZEROS)[:4], other.step(ZEROS)[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    one.close()
    other.close()
    with pytest.raises(ClosedError):
        other.step(ZEROS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cls", [SyncVectorEnv, AsyncVectorEnv])
def test_structured_spaces(structured, mode, cls):
    vec = pufferlib.from_vector(cls([structured] * 2, autoreset_mode=mode))
    reference = pufferlib.emulate(structured, num_envs=2, backend="serial")
    assert vec.single_observation_space == reference.single_observation_space
    assert vec.single_action_space == reference.single_action_space
    seeds = [3, 4]
    np.testing.assert_array_equal(vec.reset(seed=seeds)[0], reference.reset(seed=seeds)[0])
    actions = np.array([[0, 1, 3], [2, 0, 0]])
    for _ in range(3):
        got, expected = vec.step(actions), reference.step(actions)
        ended = expected[2] | expected[3]
        if mode != AutoresetMode.NEXT_STEP or not ended.any():
            np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[4]["final_obs"], expected[4]["final_obs"])
    if cls is SyncVectorEnv:
        last = vec.env.envs[0].last
        assert last["go"] == -1 and last["pick"].tolist() == [1, 3]
    vec.close()


def test_infos_arrive_as_one_dict_per_env(vector):
    vec = pufferlib.from_vector(vector(AutoresetMode.SAME_STEP))
    vec.async_reset(seed=0)
    assert vec.recv().infos == [{"begun": 0, "env_index": 0}, {"begun": 0, "env_index": 1}]
    for _ in range(2):
        vec.send(ZEROS)
        infos = vec.recv().infos
    assert infos == [{"t": 2, "env_index": 0}, {"final_info": {"t": 2}, "begun": 1, "env_index": 1}]


def test_seeds(vector):
    vec = pufferlib.from_vector(vector(AutoresetMode.SAME_STEP), seed=5)
    first = vec.reset()[0].copy()
    np.testing.assert_array_equal(vec.reset(seed=5)[0], first)
    assert first[0, 0] != first[1, 0]
    assert vec.reset()[0][0, 0] != first[0, 0]


def test_gymnasiums_own_cartpole_is_trained_on():
    """CartPoleVectorEnv resets in the next step: fillers must not disturb learning."""
    vec = pufferlib.from_vector(gymnasium.make_vec("CartPole-v1", num_envs=16, vectorization_mode="vector_entry_point"))
    vec = FrameStackObservation(NormalizeObservation(vec), 2)
    torch.manual_seed(0)
    policy = build_policy("mlp", vec.single_observation_space, vec.single_action_space, hidden_size=32)
    trainer = pufferlib.PuffeRL(
        vec, policy, device="cpu", seed=1, optimizer="adam", learning_rate=2e-3, batch_size=16 * 64, horizon=64,
        minibatch_size=256, update_epochs=4, total_timesteps=50_000,
    )  # fmt: skip
    returns = [logs["environment/episode_return"] for logs in trainer if "environment/episode_return" in logs]
    assert np.mean(returns[:3]) < 40 < 100 < np.mean(returns[-5:])
    trainer.close()


def test_statistics_count_each_observation_once_with_fillers(vector):
    vec = NormalizeObservation(pufferlib.from_vector(vector(AutoresetMode.NEXT_STEP)))
    vec.reset(seed=0)
    for _ in range(7):
        vec.step(ZEROS)
    assert vec.moments.count == pytest.approx(16, abs=0.01)
    steps = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 1]
    assert vec.moments.mean[2] == pytest.approx(np.mean(steps), abs=0.01)


def test_a_vector_env_inside_each_worker_process(episodes):
    def maker(num_envs=1):
        return pufferlib.from_vector(SyncVectorEnv([episodes] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP))

    check_vec_env(
        lambda: pufferlib.make_vec(maker, num_envs=4, num_workers=2, backend="processes"),
        reference=lambda: pufferlib.emulate(episodes, num_envs=4, backend="serial"),
        steps=20,
    )


def test_refusals(episodes):
    with pytest.raises(EnvError, match=r"Episodes; for one env there is pufferlib.emulate"):
        pufferlib.from_vector(episodes())
    nameless = SyncVectorEnv([episodes])
    nameless.metadata = {}
    with pytest.raises(ConfigError, match=r"give autoreset_mode=, one of .*SAME_STEP"):
        pufferlib.from_vector(nameless)
    assert pufferlib.from_vector(nameless, autoreset_mode="NEXT_STEP").autoreset_mode == AutoresetMode.NEXT_STEP
    with pytest.raises(ConfigError, match="got 'never'"):
        pufferlib.from_vector(nameless, autoreset_mode="never")
    vec = pufferlib.emulate(episodes)
    assert pufferlib.from_vector(vec) is vec


def test_envpool():
    """EnvPool's CartPole, and the same episode lengths as without the bridge."""
    envpool = pytest.importorskip("envpool", reason="EnvPool is not installed")
    vec = pufferlib.from_vector(envpool.make("CartPole-v1", env_type="gymnasium", num_envs=4, seed=1))
    plain = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=4, seed=1)
    np.testing.assert_array_equal(vec.reset()[0], plain.reset()[0])
    lengths, begun, over = [], np.zeros(4, int), np.zeros(4, bool)
    for _ in range(120):
        observations, _, terminals, truncations, _ = plain.step(np.ones(4, np.int32))
        got = vec.step(np.ones(4, int))
        np.testing.assert_array_equal(got[0], observations)
        np.testing.assert_array_equal(vec.storage.masks[0], ~over)
        np.testing.assert_array_equal(got[2] | got[3], terminals | truncations)
        begun += ~over
        over = terminals | truncations
        lengths += begun[over].tolist()
        begun[over] = 0
    log = vec.drain_log()
    assert log["n"] == len(lengths) and log["episode_length"] == pytest.approx(np.mean(lengths)) == log["episode_return"]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_atari(mode):
    pytest.importorskip("ale_py", reason="ale-py is not installed")
    atari = importlib.import_module("ale_py.vector_env").AtariVectorEnv
    vec = pufferlib.from_vector(atari("pong", num_envs=2, autoreset_mode=mode, max_num_frames_per_episode=80))
    assert vec.reset(seed=1)[0].shape == (2, 4, 84, 84)
    ends = 0
    for _ in range(60):
        got = vec.step(np.zeros(2, int))
        ended = got[2] | got[3]
        ends += ended.sum()
        if ended.any():
            assert got[4]["final_obs"][ended].any()
    assert ends >= 2 and vec.drain_log()["n"] == ends
    vec.close()
