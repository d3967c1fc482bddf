"""What the wrappers over a VecEnv promise by themselves, on every back end, sync and async."""

import hypothesis.strategies as st
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings

import pufferlib
from pufferlib.errors import ClosedError, ConfigError, SpaceError
from pufferlib.testing import check_vec_env
from pufferlib.wrappers import (
    ClipAction,
    ClipReward,
    FrameStackObservation,
    GrayscaleObservation,
    NormalizeObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    RecordVideo,
    ResizeObservation,
    ScaleReward,
)
from pufferlib.wrappers.images import area_weights
from pufferlib.wrappers.running import RunningMoments
from pufferlib.wrappers.video import capped_cubic


def cartpole(backend="serial", **kwargs):
    return pufferlib.make("gym-CartPole-v1", num_envs=4, backend=backend, **kwargs)


WRAPPED = {
    "stack": lambda vec: FrameStackObservation(vec, 3),
    "stack of stacks": lambda vec: FrameStackObservation(FrameStackObservation(vec, 2), 2),
    "rewards": lambda vec: ClipReward(ScaleReward(vec, 3.0), -2, 2),
    "statistics": RecordEpisodeStatistics,
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_a_wrapped_env_keeps_the_whole_contract(name, backend):
    wrap = WRAPPED[name]
    check_vec_env(lambda: wrap(cartpole(backend, num_workers=2, batch_size=2)), reference=lambda: wrap(cartpole()), steps=40)


@pytest.mark.parametrize("wrap", [NormalizeObservation, NormalizeReward])
def test_statistics_of_one_batch_are_the_same_sync_and_async(wrap):
    check_vec_env(lambda: wrap(cartpole()), steps=60)
    check_vec_env(lambda: wrap(cartpole("processes", num_workers=2)), reference=lambda: wrap(cartpole()), steps=60)


def test_native_envs_are_wrapped_on_threads():
    check_vec_env(
        lambda: FrameStackObservation(pufferlib.make("ocean-squared", num_envs=6, num_workers=2, batch_size=3), 4),
        reference=lambda: FrameStackObservation(pufferlib.make("ocean-squared", num_envs=6, backend="serial"), 4),
        steps=150,
    )


def test_what_a_wrapper_does_not_change_is_shared_and_the_rest_is_not():
    vec = cartpole()
    stacked = FrameStackObservation(vec, 2)
    assert stacked.storage.rewards is vec.storage.rewards and stacked.storage.actions is vec.storage.actions
    assert stacked.storage.observations.shape == (1, 4, 2, 4)
    stacked.allocate(5)
    assert stacked.storage.rewards is vec.storage.rewards and stacked.storage.observations.shape == (5, 4, 2, 4)


def test_stacks_go_on_when_the_storage_is_replaced():
    vec, whole = FrameStackObservation(cartpole(), 3), FrameStackObservation(cartpole(), 3)
    for env in (vec, whole):
        env.reset(seed=1)
        env.step(np.ones(4, int))
    vec.allocate(4)
    np.testing.assert_array_equal(vec.step(np.zeros(4, int))[0], whole.step(np.zeros(4, int))[0])


@settings(max_examples=20, deadline=None)
@given(size=st.integers(1, 5), seed=st.integers(0, 2**31), steps=st.integers(1, 25))
def test_a_stack_holds_the_last_observations_of_its_episode(size, seed, steps):
    plain = pufferlib.emulate(Steps, num_envs=3, backend="serial")
    stacked = FrameStackObservation(pufferlib.emulate(Steps, num_envs=3, backend="serial"), size)
    seen = [[row.copy()] for row in plain.reset(seed=seed)[0]]
    stacked.reset(seed=seed)
    for _ in range(steps):
        observations, _, terminals, truncations, infos = plain.step(np.zeros(3, int))
        stacks, *_, stacked_infos = stacked.step(np.zeros(3, int))
        for row in range(3):
            if terminals[row] or truncations[row]:
                last = [*seen[row], infos["final_obs"][row]]
                np.testing.assert_array_equal(stacked_infos["final_obs"][row], ([last[0]] * size + last)[-size:])
                seen[row] = []
            seen[row].append(observations[row].copy())
            np.testing.assert_array_equal(stacks[row], ([seen[row][0]] * size + seen[row])[-size:])


class Steps(pufferlib.PufferEnv):
    """Observes how many steps were done; ends after 1 to 4 of them."""

    def __init__(self, buf=None):
        super().__init__(buf)
        self.observation_space, self.action_space = self.make_space((1,)), self.make_discrete(2)

    def reset(self, seed=None):
        self.rng = np.random.default_rng(seed) if seed is not None else self.rng
        self.t, self.end = 0, int(self.rng.integers(1, 5))
        return np.array([self.end * 10], np.float32)

    def step(self, action):
        self.t += 1
        return np.array([self.end * 10 + self.t], np.float32), 1.0, self.t == self.end, {}


class Sleepers(pufferlib.PufferEnv):
    """Two rows; the second one sleeps (mask 0) in steps 2 and 3."""

    def __init__(self, buf=None):
        self.single_observation_space = spaces.Box(0, 99, (1,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        self.num_agents = 2
        super().__init__(buf)

    def write(self):
        self.observations[:, 0] = self.t, self.t + 10
        self.masks[:] = True, self.t not in (2, 3)
        return self.observations, []

    def reset(self, seed=None):
        self.t = 0
        return self.write()

    def step(self, actions):
        self.t += 1
        self.write()
        self.rewards[:] = 1
        return self.observations, self.rewards, self.terminals, self.truncations, []


def test_a_row_that_wakes_up_begins_a_new_stack():
    vec = FrameStackObservation(pufferlib.emulate(Sleepers, backend="serial"), 3)
    vec.reset(seed=0)
    stacks = [vec.step(np.zeros(2, int))[0][:, :, 0].copy() for _ in range(5)]
    np.testing.assert_array_equal([stack[0] for stack in stacks], [[0, 0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]])
    np.testing.assert_array_equal(
        [stack[1] for stack in stacks], [[10, 10, 11], [12, 12, 12], [13, 13, 13], [13, 13, 14], [13, 14, 15]]
    )


def test_sleeping_rows_do_not_count():
    vec = NormalizeObservation(pufferlib.emulate(Sleepers, backend="serial"))
    vec.reset(seed=0)
    for _ in range(4):
        vec.step(np.zeros(2, int))
    assert vec.moments.count == pytest.approx(8, abs=0.01)
    assert vec.moments.mean[0] == pytest.approx(np.mean([0, 1, 2, 3, 4, 10, 11, 14]), abs=0.01)


@settings(max_examples=40, deadline=None)
@given(parts=st.lists(st.lists(st.floats(-1e3, 1e3), max_size=6), min_size=1, max_size=6), offset=st.sampled_from([0.0, 1e6]))
def test_pooled_moments_are_those_of_all_values(parts, offset):
    moments = RunningMoments()
    moments.count = 0.0
    values = np.array([value for part in parts for value in part]) + offset
    if not len(values):
        return
    for part in parts:
        moments.update(np.array(part) + offset)
    assert moments.count == len(values)
    np.testing.assert_allclose(moments.mean, values.mean(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.var, values.var(), rtol=1e-6, atol=1e-6)


def test_reward_statistics_follow_the_episodes():
    """By hand: one env, gamma 0.5, rewards 1; ends after two steps, so the returns are 1, 1.5, 1, 1.5."""

    class Two(Steps):
        def reset(self, seed=None):
            self.t, self.end = 0, 2
            return np.zeros(1, np.float32)

    vec = NormalizeReward(pufferlib.emulate(Two, backend="serial"), gamma=0.5)
    vec.reset(seed=0)
    for _ in range(4):
        reward = vec.step(np.zeros(1, int))[1][0]
    assert vec.moments.mean == pytest.approx(1.25, abs=1e-3) and vec.moments.var == pytest.approx(0.0625, abs=1e-3)
    assert reward == pytest.approx(1 / np.sqrt(vec.moments.var), rel=1e-3)
    assert vec.drain_log()["episode_return"] == 2


def test_frozen_statistics_stay():
    vec = NormalizeObservation(cartpole(), clip=1.5)
    vec.reset(seed=0)
    vec.update_statistics = False
    before = vec.moments.state()
    for _ in range(30):
        assert np.abs(vec.step(np.ones(4, int))[0]).max() <= 1.5
    assert all(np.array_equal(before[key], vec.moments.state()[key]) for key in before)


def test_state_goes_from_one_env_to_another():
    def make():
        return NormalizeReward(FrameStackObservation(NormalizeObservation(cartpole()), 2))

    one, other = make(), make()
    one.reset(seed=0)
    for _ in range(10):
        one.step(np.ones(4, int))
    assert set(one.state_dict()) == {"0/NormalizeObservation", "2/NormalizeReward"}
    other.load_state_dict(one.state_dict())
    np.testing.assert_array_equal(other.state_dict()["0/NormalizeObservation"]["mean"], one.env.env.moments.mean)
    assert other.moments.count == one.moments.count > 40
    with pytest.raises(ConfigError, match="2/NormalizeReward"):
        NormalizeObservation(cartpole()).load_state_dict(one.state_dict())


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 40), new=st.integers(1, 40))
def test_area_weights_share_every_pixel_out(size, new):
    if new > size:
        return
    weights = area_weights(size, new)
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(weights.sum(0), new / size, rtol=1e-4)


def test_resize_averages_areas(picture):
    plain = pufferlib.emulate(picture, num_envs=2, backend="serial")
    vec = ResizeObservation(pufferlib.emulate(picture, num_envs=2, backend="serial"), (4, 5))
    whole, small = plain.reset(seed=3)[0], vec.reset(seed=3)[0]
    expected = np.rint(whole.reshape(2, 4, 3, 5, 3, 3).mean((2, 4), dtype=np.float64))
    assert small.dtype == np.uint8 and small.shape == (2, 4, 5, 3)
    np.testing.assert_allclose(small, expected, atol=1)  # a half may be rounded either way
    assert (small == expected).mean() > 0.99


def test_clip_action_hands_over_what_is_allowed():
    class Echo(pufferlib.PufferEnv):
        def __init__(self, buf=None):
            super().__init__(buf)
            self.observation_space, self.action_space = self.make_space((2,)), spaces.Box(-1, 2, (2,), np.float32)

        def reset(self):
            return np.zeros(2, np.float32)

        def step(self, action):
            return np.array(action, np.float32), 0.0, False, {}

    vec = ClipAction(pufferlib.emulate(Echo, num_envs=2, backend="serial"))
    vec.reset(seed=0)
    actions = np.array([[-5, 5], [0.5, -0.5]], np.float32)
    np.testing.assert_array_equal(vec.step(actions)[0], [[-1, 2], [0.5, -0.5]])
    np.testing.assert_array_equal(vec.storage.actions[0], actions)
    assert np.isinf(vec.single_action_space.high).all()
    with pytest.raises(SpaceError, match="Discrete"):
        ClipAction(cartpole())


def test_episode_statistics_of_several_agents():
    class Two(Sleepers):
        def step(self, actions):
            super().step(actions)
            self.masks[:] = True
            self.terminals[:] = False, self.t == 2
            return self.observations, self.rewards, self.terminals, self.truncations, []

    vec = RecordEpisodeStatistics(pufferlib.emulate(Two, num_envs=2, backend="serial"))
    vec.reset(seed=0)
    assert "episode" not in vec.step(np.zeros(4, int))[4]
    said = vec.step(np.zeros(4, int))[4]
    np.testing.assert_array_equal(said["episode"]["r"], [[0, 2], [0, 2]])
    np.testing.assert_array_equal(said["episode"]["l"], [[0, 2], [0, 2]])
    assert said["_episode"].all() and not said["_final_obs"][0]


@pytest.mark.parametrize("batch_size", [2, 1])
def test_videos_of_chosen_episodes(tmp_path, batch_size):
    imageio = pytest.importorskip("imageio.v2")
    vec = pufferlib.make("ocean-squared", num_envs=2, num_workers=2, batch_size=batch_size, max_steps=6)
    vec = RecordVideo(vec, tmp_path / "videos", episode_trigger=lambda episode: episode in (0, 2), prefix="run")
    vec.reset(seed=0)
    ends = 0
    while ends < 4:
        out = vec.step(np.zeros(2, int))
        ends += bool(out[2][0] or out[3][0])
    vec.close()
    assert sorted(path.name for path in (tmp_path / "videos").iterdir()) == ["run-episode-0.mp4", "run-episode-2.mp4"]
    frames = imageio.get_reader(tmp_path / "videos" / "run-episode-0.mp4").count_frames()
    assert frames == 6, "the first state and five steps; the sixth ended the episode"


def test_the_first_thousand_episodes_are_recorded_at_cubes():
    assert [n for n in range(2001) if capped_cubic(n)] == [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000]


def test_closing_and_using_closed_ones():
    vec = FrameStackObservation(cartpole(), 2)
    vec.close()
    vec.close()
    assert vec.env.is_closed
    with pytest.raises(ClosedError):
        vec.reset()


def test_refusals_name_what_would_work(picture):
    pictures = pufferlib.emulate(picture, backend="serial")
    with pytest.raises(ConfigError, match="stack_size must be at least 1"):
        FrameStackObservation(pictures, 0)
    with pytest.raises(ConfigError, match="padding"):
        FrameStackObservation(pictures, 2, padding="edge")
    with pytest.raises(ConfigError, match="the height is 12"):
        ResizeObservation(pictures, (13, 5))
    with pytest.raises(SpaceError, match=r"float32\[4\]"):
        GrayscaleObservation(cartpole())
    with pytest.raises(ConfigError, match="low=1 must be below high=0"):
        ClipReward(pictures, 1, 0)
    with pytest.raises(ConfigError, match="gamma"):
        NormalizeReward(pictures, gamma=1.5)
    with pytest.raises(ConfigError, match="render_mode='rgb_array'"):
        RecordVideo(pictures, ".")
    with pytest.raises(SpaceError, match="Dict"):
        ResizeObservation(pufferlib.emulate(Structured, backend="serial"), (2, 2))


class Structured(Steps):
    def __init__(self, buf=None):
        super().__init__(buf)
        self.observation_space = self.make_space({"a": (2,), "b": (1,)})
