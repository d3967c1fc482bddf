"""load_policy: which checkpoint, for which env, with which statistics."""

from __future__ import annotations

import logging
import shutil

import numpy as np
import pytest
import torch

import pufferlib
from pufferlib.cli.main import main
from pufferlib.errors import CheckpointError, ConfigError
from pufferlib.eval import Actor, evaluate
from pufferlib.loading import NormalisedPolicy, find_checkpoint
from pufferlib.policies import build_policy
from pufferlib.train.run_dir import RunDirectory
from pufferlib.wrappers import FrameStackObservation, NormalizeObservation, NormalizeReward

pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """A short run of an LSTM on ocean-memory, with all four checkpoints."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {
        "policy.name": "lstm", "policy.hidden-size": 16, "vec.num-envs": 8, "vec.backend": "serial", "train.horizon": 8,
        "train.total-timesteps": 256, "train.checkpoint-interval": 1, "train.keep-checkpoints": 0, "train.device": "cpu",
        "env.delay": 3,
    }  # fmt: skip
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    assert main(["train", "ocean-memory", "--run-dir", str(folder), *flags]) == 0
    assert [path.name for path in RunDirectory(folder).checkpoints()] == ["256.pt", "192.pt", "128.pt", "64.pt"]
    return folder


@pytest.fixture
def run_dir(finished_run, tmp_path):
    """A copy that a test may damage."""
    shutil.copytree(finished_run, tmp_path / "run")
    return tmp_path / "run"


def set_scores(run_dir, scores):
    """Let the checkpoints' episodes have had these scores."""
    rows = [{"global_step": step, "environment/n": 100, "environment/score": score} for step, score in scores.items()]
    RunDirectory(run_dir).metrics_file.write_text("".join(f"{row}\n".replace("'", '"') for row in rows))


def weights_of(path):
    return torch.load(path, weights_only=True)["policy"]


def assert_weights(policy, path):
    assert not policy.training
    state = policy.state_dict()
    assert set(state) == set(weights_of(path))
    assert all(torch.equal(value, state[name]) for name, value in weights_of(path).items())


def test_the_latest_the_best_and_a_named_checkpoint_are_loaded(run_dir):
    folder = run_dir / "checkpoints"
    set_scores(run_dir, {64: 1.0, 128: 4.0, 192: 2.0, 256: 3.0})
    assert_weights(pufferlib.load_policy(run_dir), folder / "256.pt")
    assert_weights(pufferlib.load_policy(run_dir, "best"), folder / "128.pt")
    assert_weights(pufferlib.load_policy(run_dir, "64.pt"), folder / "64.pt")
    assert_weights(pufferlib.load_policy(run_dir, folder / "192.pt"), folder / "192.pt")
    assert_weights(pufferlib.load_policy(folder / "192.pt"), folder / "192.pt")


def test_a_recurrent_policy_acts_step_by_step(run_dir):
    policy = pufferlib.load_policy(run_dir)
    state = policy.initial_state(3)
    for _ in range(2):
        with torch.no_grad():
            logits, value, state = policy(torch.zeros(3, 2), state)
    assert logits.shape == (3, 2) and value.shape == (3,)
    space = pufferlib.make("ocean-memory").single_action_space
    acted = [Actor(pufferlib.load_policy(run_dir), space, 2, seed=0).act(np.ones((2, 2), np.float32)).tolist() for _ in range(2)]
    assert acted[0] == acted[1]


def test_a_damaged_checkpoint_is_passed_over_with_a_warning(run_dir, caplog):
    set_scores(run_dir, {64: 1.0, 128: 4.0, 192: 2.0, 256: 3.0})
    for name, which, following in (("256.pt", "latest", "192.pt"), ("128.pt", "best", "192.pt")):
        path = run_dir / "checkpoints" / name
        path.write_bytes(path.read_bytes()[:1000])
        with caplog.at_level(logging.WARNING):
            assert find_checkpoint(run_dir, which).name == following
        assert name in caplog.text
    for path in (run_dir / "checkpoints").iterdir():
        path.write_bytes(b"")
    for which in ("latest", "best"):
        with pytest.raises(CheckpointError, match="none of its"):
            pufferlib.load_policy(run_dir, which)
    assert main(["eval", str(run_dir)]) == 2


def test_what_is_missing_is_said(run_dir, tmp_path):
    with pytest.raises(ConfigError, match="no such run directory"):
        pufferlib.load_policy(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        pufferlib.load_policy(tmp_path)
    with pytest.raises(CheckpointError, match=r"no checkpoint '65\.pt'; there are latest, best, 256\.pt"):
        pufferlib.load_policy(run_dir, "65.pt")
    with pytest.raises(ConfigError, match="is a checkpoint itself"):
        pufferlib.load_policy(run_dir / "checkpoints" / "64.pt", "best")
    lonely = tmp_path / "lonely.pt"
    shutil.copy(find_checkpoint(run_dir), lonely)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        pufferlib.load_policy(lonely)
    assert pufferlib.load_policy(lonely, env=pufferlib.make("ocean-memory")) is not None
    RunDirectory(run_dir).metrics_file.write_text("")
    with pytest.raises(CheckpointError, match="none is best"):
        pufferlib.load_policy(run_dir, "best")
    shutil.rmtree(run_dir / "checkpoints")
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        pufferlib.load_policy(run_dir)


def test_an_env_of_another_kind_is_refused(run_dir):
    with pytest.raises(CheckpointError, match="observation_space"):
        pufferlib.load_policy(run_dir, env=pufferlib.make("ocean-cartpole"))


# ---------------------------------------------------------------- statistics of wrappers


def cartpole():
    return pufferlib.make("gym-CartPole-v1", num_envs=4, backend="serial", seed=3)


def checkpoint_of(wrap, path, name="mlp"):
    """Train a little on wrapped envs and save; the trainer."""
    env = wrap(cartpole())
    policy = build_policy(name, env.single_observation_space, env.single_action_space, seed=1, hidden_size=8)
    trainer = pufferlib.PuffeRL(env=env, policy=policy, device="cpu", horizon=16, minibatch_size=64)
    trainer.evaluate()
    trainer.train()
    trainer.save_checkpoint(path)
    trainer.close()
    return trainer


@pytest.mark.parametrize("name", ["mlp", "lstm"])
@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_policy_normalises_observations_where_the_env_does_not(tmp_path, name, clip):
    trainer = checkpoint_of(lambda env: NormalizeReward(NormalizeObservation(env, clip=clip)), tmp_path / "a.pt", name)
    policy = pufferlib.load_policy(tmp_path / "a.pt", env=cartpole())
    assert isinstance(policy, NormalisedPolicy)
    observations = np.random.default_rng(0).normal(0, 2, (50, 4)).astype(np.float32)
    moments = trainer.env.env.moments
    normal = (observations - moments.mean) / np.sqrt(moments.var + 1e-8)
    normal = torch.from_numpy(normal if clip is None else np.clip(normal, -clip, clip)).float()
    state = (policy.initial_state(50),) if name == "lstm" else ()
    expected, found = trainer.policy.eval()(normal, *state), policy(torch.from_numpy(observations), *state)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert len(evaluate(cartpole(), policy, episodes=2, seed=1)) == 2


def test_an_env_that_is_wrapped_as_in_training_gets_the_statistics_which_then_stand_still(tmp_path):
    def wrap(env):
        return FrameStackObservation(NormalizeObservation(env), 2)

    trainer = checkpoint_of(wrap, tmp_path / "a.pt")
    env = wrap(cartpole())
    policy = pufferlib.load_policy(tmp_path / "a.pt", env=env)
    assert type(policy) is type(trainer.policy)
    for _ in range(2):
        assert env.env.moments.count == trainer.env.env.moments.count
        np.testing.assert_array_equal(env.env.moments.mean, trainer.env.env.moments.mean)
        evaluate(env, policy, episodes=2, seed=1)
    with pytest.raises(CheckpointError, match="FrameStackObservation, NormalizeObservation in training, through no wrapper here"):
        pufferlib.load_policy(tmp_path / "a.pt", env=cartpole())
    with pytest.raises(CheckpointError, match="through NormalizeObservation here"):
        pufferlib.load_policy(tmp_path / "a.pt", env=NormalizeObservation(cartpole()))


def test_a_policy_normalises_the_frames_of_a_stack(tmp_path):
    """Both rollouts have the same states, seen by one through the env's wrapper and by the other through the policy."""
    checkpoint_of(lambda env: FrameStackObservation(NormalizeObservation(env), 2), tmp_path / "a.pt")
    whole, plain = FrameStackObservation(NormalizeObservation(cartpole()), 2), FrameStackObservation(cartpole(), 2)
    policies = [pufferlib.load_policy(tmp_path / "a.pt", env=env) for env in (whole, plain)]
    assert isinstance(policies[1], NormalisedPolicy)
    seen = [env.reset(seed=5)[0] for env in (whole, plain)]
    for _ in range(40):
        outputs = [policy(torch.from_numpy(np.array(o)))[0] for policy, o in zip(policies, seen, strict=True)]
        torch.testing.assert_close(*outputs, atol=1e-5, rtol=1e-5)
        actions = outputs[0].argmax(1).numpy().astype(np.int32)
        seen = [env.step(actions)[0] for env in (whole, plain)]


def test_the_policy_of_a_wrapped_run_reads_what_the_env_itself_shows(tmp_path):
    flags = ["--vec.num-envs", "4", "--vec.backend", "serial", "--train.horizon", "16", "--train.total-timesteps", "128"]
    run = ["--run-dir", str(tmp_path / "r"), "--train.device", "cpu", "--policy.hidden-size", "8"]
    assert main(["train", "gym-CartPole-v1", *flags, *run, "--wrappers.normalize-observations", "true"]) == 0
    policy = pufferlib.load_policy(tmp_path / "r")
    assert isinstance(policy, NormalisedPolicy)
    assert abs(policy.mean).max() > 0
    assert main(["eval", str(tmp_path / "r"), "--episodes", "1"]) == 0
    assert main(["export", str(tmp_path / "r"), "--format", "flat"]) == 0


def test_statistics_of_rewards_alone_concern_no_policy(tmp_path):
    trainer = checkpoint_of(NormalizeReward, tmp_path / "a.pt")
    policy = pufferlib.load_policy(tmp_path / "a.pt", env=cartpole())
    assert type(policy) is type(trainer.policy)
