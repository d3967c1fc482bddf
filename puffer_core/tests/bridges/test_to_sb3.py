"""A VecEnv as Stable-Baselines3's."""

import functools
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.errors import SpaceError

sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")


def cartpole(**kwargs):
    return pufferlib.to_sb3(pufferlib.make("gym-CartPole-v1", num_envs=4, **{"backend": "serial", **kwargs}))


@pytest.mark.parametrize("how", [{}, {"backend": "processes", "num_workers": 2}])
def test_ppo_learns(how):
    model = sb3.PPO(
        "MlpPolicy", cartpole(**how), n_steps=128, batch_size=64, n_epochs=4, learning_rate=1e-3, seed=1, device="cpu"
    )
    model.learn(4096)
    lengths = [episode["l"] for episode in model.ep_info_buffer]
    assert model.num_timesteps == 4096 and np.mean(lengths[-10:]) > 30
    assert lengths == [episode["r"] for episode in model.ep_info_buffer]
    model.get_env().close()


def test_native_env_and_other_algorithms():
    vec = pufferlib.to_sb3(pufferlib.make("ocean-squared", num_envs=8))
    sb3.A2C("MlpPolicy", vec, n_steps=8, device="cpu").learn(512)
    sb3.DQN("MlpPolicy", vec, learning_starts=64, device="cpu").learn(512)


def test_the_same_steps_as_sb3s_own(episodes):
    factories = [functools.partial(episodes, horizon) for horizon in (3, 2)]

    class FromZero(gymnasium.ActionWrapper):
        action_space = spaces.Discrete(2)

        def action(self, action):
            return action + 5

    ours = pufferlib.to_sb3(pufferlib.emulate(factories, backend="serial"))
    theirs = sb3.common.vec_env.DummyVecEnv([lambda f=f: FromZero(f()) for f in factories])
    seeds = [int(seed) for seed in pufferlib.vector.seeding.env_seeds(11, 2)]
    theirs._seeds = seeds
    ours.seed(11)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    for _ in range(12):
        mine, others = ours.step(np.array([0, 1])), theirs.step(np.array([0, 1]))
        for a, b in zip(mine[:3], others[:3], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype and a.shape == b.shape
        for a, b in zip(mine[3], others[3], strict=True):
            assert a["TimeLimit.truncated"] is bool(b["TimeLimit.truncated"]) and a["t"] == b["t"]
            assert ("terminal_observation" in a) == ("terminal_observation" in b) == ("episode" in a)
            if "terminal_observation" in a:
                np.testing.assert_array_equal(a["terminal_observation"], b["terminal_observation"])
                assert a["episode"]["r"] == a["episode"]["l"] == a["t"]


def test_what_is_returned_is_a_copy():
    vec = cartpole()
    first = vec.reset()
    kept = first.copy()
    second = vec.step(np.ones(4, np.int64))
    kept_rewards = second[1].copy()
    for _ in range(3):
        vec.step(np.zeros(4, np.int64))
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second[1], kept_rewards)


def test_dict_observations_reach_the_multi_input_policy(structured):
    class Flat(structured):
        action_space = spaces.Discrete(2)

        def step(self, action):
            self.last = None
            return super(structured, self).step(5)

    vec = pufferlib.to_sb3(pufferlib.emulate(Flat, num_envs=2, backend="serial"))
    observations = vec.reset()
    assert set(observations) == {"place", "kind", "bits"} and observations["place"].dtype == np.float64
    for _ in range(3):
        _, _, dones, infos = vec.step(np.zeros(2, int))
    assert dones.all() and infos[1]["terminal_observation"]["place"][1] == 3
    assert vec.observation_space == Flat.observation_space


def test_nested_observations_are_refused():
    class Nested(gymnasium.Env):
        observation_space = spaces.Dict({"a": spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3)))})
        action_space = spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return {"a": (0, 0)}, {}

    with pytest.raises(SpaceError, match="nested"):
        pufferlib.to_sb3(pufferlib.emulate(Nested, backend="serial"))


def test_attributes_and_methods_of_the_envs():
    vec = cartpole()
    assert vec.get_attr("gravity") == [9.8] * 4
    vec.env_method("reset", seed=3, indices=[1])
    vec.set_attr("marked", 7, indices=2)
    assert vec.get_attr("marked", indices=[2]) == [7] and not vec.has_attr("no_such_thing")
    assert vec.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [True] * 4
    assert vec.env_is_wrapped(gymnasium.wrappers.ClipReward) == [False] * 4
    away = cartpole(backend="processes", num_workers=2)
    assert away.get_attr("num_workers", indices=[0, 1]) == [2, 2]
    with pytest.raises(AttributeError, match=r"gravity.*backend='serial'"):
        away.get_attr("gravity")
    with pytest.raises(AttributeError, match="reset"):
        away.env_method("reset")
    away.close()


def test_sb3s_own_wrappers(tmp_path):
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize

    vec = VecNormalize(VecFrameStack(VecMonitor(cartpole(), str(tmp_path / "monitor")), 3))
    model = sb3.PPO("MlpPolicy", vec, n_steps=64, batch_size=64, device="cpu")
    model.learn(512)
    mean, _ = evaluate_policy(model, vec, n_eval_episodes=4)
    assert mean > 5


def test_normalised_as_sb3_normalises(walk_pair):
    from stable_baselines3.common.vec_env import VecNormalize

    ours, theirs = walk_pair
    theirs = VecNormalize(pufferlib.to_sb3(theirs), norm_obs=False, gamma=0.9, clip_reward=5.0)
    ours = pufferlib.wrappers.NormalizeReward(ours, gamma=0.9, clip=5.0)
    ours.reset(seed=2)
    theirs.seed(2)
    theirs.reset()
    for _ in range(40):
        np.testing.assert_allclose(ours.step(np.zeros(3, int))[1], theirs.step(np.zeros(3, int))[1], rtol=1e-4)


@pytest.fixture
def walk_pair(episodes):
    return [pufferlib.emulate(episodes, num_envs=3, backend="serial") for _ in range(2)]


def test_without_the_package_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "import pufferlib\nenv = pufferlib.make('ocean-squared')\n"
        "try: pufferlib.to_sb3(env)\nexcept ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install stable-baselines3" in done.stdout, done.stderr
