"""Box actions squashed by tanh, and deviations that the network puts out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from gymnasium import spaces

import pufferlib
from pufferlib import PuffeRL
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies import build_policy
from pufferlib.policies.distributions import Gaussian, SquashedGaussian, make_distribution
from pufferlib.policies.layers import LOG_STD_MAX, LOG_STD_MIN, Heads
from pufferlib.pytorch import entropy, log_prob, sample_logits

BOUNDS = spaces.Box(np.array([-1, 0, -5], np.float32), np.array([3, 0.5, 7], np.float32))


def test_log_probability_is_torchs_of_the_transformed_normal_in_float64() -> None:
    random = torch.Generator().manual_seed(0)
    mean, log_std = torch.randn(500, 3, generator=random), 0.4 * torch.randn(500, 3, generator=random)
    squashed = SquashedGaussian(BOUNDS)
    raw, drawn = squashed.sample((mean, log_std), random)
    scored, _ = squashed.evaluate((mean, log_std), raw)
    low, high = (torch.as_tensor(bound, dtype=torch.float64) for bound in (BOUNDS.low, BOUNDS.high))
    exact = torch.distributions.TransformedDistribution(
        torch.distributions.Normal(mean.double(), log_std.double().exp()),
        [
            torch.distributions.TanhTransform(cache_size=1),
            torch.distributions.AffineTransform((low + high) / 2, (high - low) / 2, cache_size=1),
        ],
    )
    action = (low + high) / 2 + (high - low) / 2 * raw.double().tanh()
    expected = exact.log_prob(action).sum(1)
    torch.testing.assert_close(drawn.double(), expected, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(scored.double(), expected, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(squashed.to_env(raw).double(), action, atol=1e-5, rtol=0)


def test_far_from_the_middle_the_jacobian_stays_finite_and_right() -> None:
    squashed = SquashedGaussian(spaces.Box(-1, 1, (1,)))
    mean = raw = torch.tensor([[30.0]])
    value, _ = squashed.evaluate((mean, torch.zeros(1, 1)), raw)
    exact = -0.5 * math.log(2 * math.pi) - (2 * math.log(2) - 60)  # log(1 - tanh(u)^2) = 2 log 2 - 2 u + O(e^-2u)
    assert value.item() == pytest.approx(exact, rel=1e-6)
    assert squashed.to_env(raw).item() == 1.0


@pytest.mark.parametrize(
    ("std", "tolerance"), [(0.05, 1e-4), (0.5, 1e-4), (1.0, 1e-4), (2.0, 1e-4), (math.exp(LOG_STD_MAX), 0.02)]
)
@pytest.mark.parametrize("mean", [0.0, 0.7, -3.0])
def test_entropy_is_the_integral(mean: float, std: float, tolerance: float) -> None:
    u = torch.linspace(mean - 12 * std, mean + 12 * std, 200_001, dtype=torch.float64)
    normal = torch.distributions.Normal(torch.tensor(mean, dtype=torch.float64), torch.tensor(std, dtype=torch.float64))
    log_density = normal.log_prob(u) - math.log(6.0) - (2 * math.log(2) - 2 * u - 2 * torch.nn.functional.softplus(-2 * u))
    expected = float(torch.trapezoid(-normal.log_prob(u).exp() * log_density, u))
    parameters = torch.tensor([[mean]]), torch.tensor([[math.log(std)]])
    value = SquashedGaussian(spaces.Box(-5, 7, (1,))).evaluate(parameters, torch.zeros(1, 1))[1].item()
    assert value == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_any_shape_and_the_env_gets_actions_inside_the_bounds(shape: tuple[int, ...]) -> None:
    space = spaces.Box(-0.3, 1.7, shape)
    squashed = SquashedGaussian(space)
    parameters = 20 * torch.randn(99, *shape), torch.full((99, *shape), 1.0)
    raw, log_probs = squashed.sample(parameters, torch.Generator().manual_seed(0))
    uncertainty = squashed.evaluate(parameters, raw)[1]
    assert log_probs.shape == uncertainty.shape == (99,) and torch.isfinite(log_probs).all()
    assert all(space.contains(action.numpy()) for action in squashed.to_env(raw))
    middle = squashed.to_env(squashed.mode((torch.zeros(1, *shape), parameters[1])))
    torch.testing.assert_close(middle, torch.full((1, *shape), 0.7))


def test_bounds_without_end_are_named() -> None:
    endless = spaces.Box(np.array([-1, 0], np.float32), np.array([1, np.inf], np.float32))
    with pytest.raises(SpaceError, match=r"squash=True needs finite bounds.*\[0.0, inf\]"):
        build_policy("mlp", spaces.Box(-1, 1, (2,)), endless, squash=True)
    with pytest.raises(ConfigError, match=r"squash=True is for Box actions.*Discrete\(2\)"):
        build_policy("lstm", spaces.Box(-1, 1, (2,)), spaces.Discrete(2), squash=True)
    with pytest.raises(ConfigError, match=r"log_std='output' is for Box actions"):
        build_policy("mlp", spaces.Box(-1, 1, (2,)), spaces.Discrete(2), log_std="output")
    with pytest.raises(ConfigError, match=r"log_std must be parameter or output, got 'free'"):
        build_policy("mlp", spaces.Box(-1, 1, (2,)), endless, log_std="free")


def test_deviations_are_a_parameter_or_an_output() -> None:
    features = torch.randn(4, 8)
    (_, same), _ = Heads(8, BOUNDS)(features)
    assert torch.equal(same, torch.zeros(4, 3))
    heads = Heads(8, BOUNDS, "output")
    (mean, log_std), value = heads(100 * features)
    weight, bias = heads.linear.weight, heads.linear.bias
    out = 100 * features @ weight.T + bias
    torch.testing.assert_close(mean, out[:, :3])
    torch.testing.assert_close(log_std, out[:, 3:6].clamp(LOG_STD_MIN, LOG_STD_MAX))
    torch.testing.assert_close(value, out[:, 6])
    assert heads.log_std is None and log_std.std() > 0


@pytest.mark.parametrize("settings", [{"squash": True}, {"squash": True, "log_std": "output"}, {"log_std": "output"}])
def test_the_trainer_takes_the_policys_own_distribution(settings: dict) -> None:
    env = pufferlib.make("ocean-continuous", num_envs=4)
    policy = build_policy("mlp", env.single_observation_space, env.single_action_space, seed=0, **settings)
    trainer = PuffeRL(env, policy, device="cpu", horizon=16, minibatch_size=64)
    trainer.evaluate()
    rollout = trainer.rollout
    sent = torch.as_tensor(rollout.storage.actions[:-1])
    torch.testing.assert_close(sent, policy.distribution.to_env(rollout.actions))
    assert (rollout.actions.abs() > 1).any() and (sent.abs() <= 1).all()
    trainer.train()
    assert trainer.mean_and_log()["losses/approx_kl"] == pytest.approx(0, abs=1e-6), "one minibatch: the ratio is 1 everywhere"
    trainer.close()


def test_public_helpers_take_boxes() -> None:
    parameters = torch.randn(5, 3), torch.zeros(5, 3)
    for given, own in ((BOUNDS, Gaussian(BOUNDS)), (make_distribution(BOUNDS, squash=True), SquashedGaussian(BOUNDS))):
        actions, log_probs, entropies = sample_logits(parameters, torch.Generator().manual_seed(0), action_space=given)
        expected = own.evaluate(parameters, actions)
        torch.testing.assert_close((log_probs, entropies), expected)
        torch.testing.assert_close(log_prob(parameters, actions, action_space=given), expected[0])
        torch.testing.assert_close(entropy(parameters, action_space=given), expected[1])
