"""Wrappers as settings of a run: flags, files, training, evaluation, resume."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib.cli.eval import Request
from pufferlib.cli.main import main
from pufferlib.cli.play import one_world
from pufferlib.config.resolve import resolve
from pufferlib.config.run_config import Given
from pufferlib.config.wrappers_config import WrappersConfig
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.loading import load_policy, make_env_of
from pufferlib.train.checkpoint import load_env_state, read_checkpoint, unpack

NAME = "gym-CartPole-v1"


class Pictures(gymnasium.Env):
    observation_space, action_space = spaces.Box(0, 255, (8, 6, 3), np.uint8), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 3.0, False, False, {}


def layers(env):
    """Names of the wrappers, the innermost first."""
    found = []
    while hasattr(env, "receive"):
        found.insert(0, type(env).__name__)
        env = env.env
    return found


def test_they_go_around_the_env_in_the_documented_order():
    wanted = WrappersConfig(grayscale=True, resize="4x3", normalize_observations=True, frame_stack=2, normalize_rewards=True)
    env = wanted.around_observations(pufferlib.emulate(Pictures, num_envs=2, num_workers=1))
    assert layers(env) == ["GrayscaleObservation", "ResizeObservation", "NormalizeObservation", "FrameStackObservation"]
    assert env.single_observation_space.shape == (2, 4, 3) and wanted.change_observations
    trained = wanted.around_rewards(env, gamma=0.9)
    assert layers(trained)[4:] == ["NormalizeReward"] and trained.gamma == 0.9
    trained.close()


def test_the_defaults_wrap_nothing():
    env = pufferlib.emulate(Pictures, num_envs=1, num_workers=1)
    none = WrappersConfig()
    assert none.around_rewards(none.around_observations(env), 0.9) is env and not none.change_observations
    env.close()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--wrappers.frame-stak", "4"], "did you mean --wrappers.frame-stack?"),
        (["--wrappers.frame-stack", "0"], "frame_stack (--wrappers.frame-stack) must be at least 1, got 0"),
        (["--wrappers.frame-stack", "two"], "--wrappers.frame-stack: expected an integer"),
        (["--wrappers.resize", "84"], "must be HEIGHTxWIDTH, such as 84x84, got '84'"),
        (
            ["--wrappers.normalize-observations", "1", "--wrappers.clip-observations", "-1"],
            "clip_observations (--wrappers.clip-observations) must be above 0, got -1",
        ),
        (["--wrappers.clip-observations", "5"], "set normalize_observations (--wrappers.normalize-observations) true as well"),
        (["--wrappers.stack-leaves", "camera"], "set frame_stack (--wrappers.frame-stack) to 2 or more as well"),
        (["--wrappers.frame-stack", "2", "--wrappers.stack-leaves", "x"], "this env observes a single Box"),
        (["--wrappers.grayscale", "true"], "(--wrappers.grayscale): GrayscaleObservation needs uint8"),
    ],
)
def test_a_wrong_wrapper_or_value_is_told_in_one_line(flags, words, capsys, tmp_path):
    assert main(["train", NAME, "--run-dir", str(tmp_path / "run"), *flags]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and not (tmp_path / "run").exists()


def test_files_and_presets_hold_them_and_flags_win(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("[wrappers]\nframe_stack = 3\nnormalize_rewards = true\n")
    found = resolve(NAME, [Given("wrappers.normalize_rewards", "0", "--wrappers.normalize-rewards", True)], file)
    assert found.wrappers == WrappersConfig(frame_stack=3)
    assert resolve(NAME, base=found.tables()).wrappers == found.wrappers
    file.write_text("[wrappers]\nframe_stack = 0\n")
    with pytest.raises(ConfigError, match=r"settings\.toml \[wrappers\] frame_stack: "):
        resolve(NAME, file=file)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of normalised stacks and rewards."""
    path = str(tmp_path_factory.mktemp("runs") / "run")
    flags = ["--wrappers.normalize-observations", "true", "--wrappers.frame-stack", "2", "--wrappers.normalize-rewards", "true"]
    flags += ["--wrappers.clip-observations", "4"]
    counts = ["--vec.num-envs", "4", "--vec.num-workers", "1", "--train.horizon", "32", "--train.total-timesteps", "512"]
    assert main(["train", NAME, "--run-dir", path, "--train.device", "cpu", "--train.minibatch-size", "64", *counts, *flags]) == 0
    return path


def newest(run):
    return f"{run}/checkpoints/512.pt"


def test_an_evaluation_sees_what_training_saw_with_its_statistics_and_the_envs_own_rewards(run, capsys):
    capsys.readouterr()
    assert main(["eval", run, "--episodes", "2", "--seed", "1"]) == 0
    header, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["episode", "return", "length"] and all(row[1] == row[2] for row in rows[:2]), "1 a step, not normalised"

    env = WrappersConfig(normalize_observations=True, clip_observations=4, frame_stack=2).around_observations(
        pufferlib.make(NAME)
    )
    policy = load_policy(run, env=env)
    saved = unpack(read_checkpoint(newest(run))["env_state"])["0/NormalizeObservation"]
    assert np.array_equal(env.env.moments.mean, saved["mean"]) and saved["count"] > 512
    assert not env.env.update_statistics

    bare = make_env_of(run)
    assert layers(bare) == ["FrameStackObservation"], "the policy normalises itself"
    own = load_policy(run)
    for _ in range(5):
        observations = torch.from_numpy(bare.reset()[0].copy())
        shown = (observations[:, None] if observations.ndim == 2 else observations).numpy()
        normal = np.clip((shown - saved["mean"]) / np.sqrt(saved["var"] + 1e-8), -4, 4).astype(np.float32)
        for ours, theirs in zip(own(observations), policy(torch.from_numpy(normal)), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    bare.close()
    env.close()


def test_a_run_whose_leaves_were_normalised_is_loaded(tmp_path, capsys):
    flags = ["--wrappers.normalize-observations", "true", "--wrappers.normalize-leaves", "vector", "--train.device", "cpu"]
    counts = ["--vec.num-envs", "4", "--train.horizon", "16", "--train.total-timesteps", "64", "--train.minibatch-size", "64"]
    run = str(tmp_path / "run")
    assert main(["train", "ocean-spaces", "--run-dir", run, *flags, *counts]) == 0
    capsys.readouterr()
    assert main(["eval", run, "--episodes", "2"]) == 0 and "return" in capsys.readouterr().out
    load_policy(run)


def test_an_env_by_name_is_wrapped_as_the_policys_run(run, capsys):
    assert main(["eval", NAME, "--policy", run, "--episodes", "2"]) == 0
    assert main(["eval", NAME, "--policy", newest(run), "--episodes", "2", "--env.max-episode-steps", "5"]) == 0
    assert "5" in capsys.readouterr().out.splitlines()[-1].split()


def test_statistics_of_wrappers_that_an_env_has_not_are_left_out_but_no_others_may_differ(run):
    bare = pufferlib.make(NAME, num_workers=1)
    load_env_state(bare, newest(run))  # nothing to give
    env = WrappersConfig(normalize_observations=True).around_observations(bare)
    load_env_state(env, newest(run))
    assert env.moments.count > 512
    env.close()


def test_a_window_shows_the_world_and_the_policy_sees_the_wrapped_observations(run):
    from pufferlib.cli.eval import find_target

    config = resolve(NAME, [Given("wrappers.frame_stack", "3", "--wrappers.frame-stack", True)])
    request = Request(NAME, config.env, config.wrappers, "random", {})
    world, seen = one_world(request, *find_target(NAME))
    first = world.reset([1])[0].copy()
    second = world.step(np.ones(1, int))[0]
    assert first.shape == (1, 3, 4) and np.array_equal(second[:, :2], first[:, 1:]) and seen.num_envs == 1
    assert world.render().dtype == np.uint8
    world.close()


def test_a_resumed_run_keeps_its_wrappers_and_their_statistics(run, capsys):
    assert main(["train", "--resume", run, "--wrappers.frame-stack", "3", "--train.total-timesteps", "640"]) == 2
    assert "[wrappers] frame_stack cannot change within a run: it has 2, not 3" in capsys.readouterr().err
    assert main(["train", "--resume", run, "--train.total-timesteps", "640"]) == 0
    before, after = (
        unpack(read_checkpoint(f"{run}/checkpoints/{step}.pt")["env_state"])["0/NormalizeObservation"]["count"]
        for step in (512, 640)
    )
    assert after > before + 127, "it goes on counting"


def test_wrappers_of_structured_observations_take_leaves_or_name_the_flag_and_the_space():
    class Parts(Pictures):
        observation_space = spaces.Dict(a=spaces.Box(0, 1, (2,)), b=spaces.Discrete(3))

    env = pufferlib.emulate(Parts, num_workers=1)
    wanted = WrappersConfig(normalize_observations=True, frame_stack=2, stack_leaves=["a"])
    space = wanted.around_observations(env).observation_structure.space
    assert space == spaces.Dict(a=spaces.Box(-np.inf, np.inf, (2, 2)), b=spaces.Discrete(3))
    with pytest.raises(SpaceError, match=r"resize \(--wrappers\.resize\): ResizeObservation .* Dict"):
        WrappersConfig(resize="4x4").around_observations(env)
    env.close()
