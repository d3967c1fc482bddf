"""PPO's losses against float64 formulas, and the one-pass kernel's gradient against torch's autograd in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pufferlib.config.train_config import TrainConfig
from pufferlib.policies.distributions import Categorical, MultiCategorical
from pufferlib.train.fused import fused_losses
from pufferlib.train.losses import explained_variance, normalise, ppo_losses
from pufferlib.train.minibatches import Minibatch


def reference(logits: Any, value: Any, sizes: Any, batch: Minibatch, config: TrainConfig) -> dict[str, Any]:
    """Schulman et al. 2017, eq. 7 and 9, in the dtype of its arguments, by plain probabilities."""
    weights = torch.ones_like(value) if batch.weights is None else batch.weights.to(value.dtype)
    masks = torch.ones(logits.shape, dtype=torch.bool) if batch.action_masks is None else batch.action_masks.bool()
    log_prob, entropy = 0, 0
    actions = batch.actions.long().reshape(len(value), len(sizes))
    for part, mask, action in zip(logits.split(sizes, 1), masks.split(sizes, 1), actions.unbind(1), strict=True):
        mask = torch.where(mask.any(1, keepdim=True), mask, True)
        raised = torch.where(mask, part, 0).exp() * mask
        probability = raised / raised.sum(1, keepdim=True)
        log_prob = log_prob + probability.gather(1, action.unsqueeze(1)).squeeze(1).log()
        entropy = entropy - (probability * torch.where(mask, probability, 1).log()).sum(1)
    ratio = (log_prob - batch.old_log_prob).exp()
    advantage = batch.advantage.to(value.dtype)
    if config.normalize_advantages:
        counted = advantage[weights > 0]
        advantage = (advantage - counted.mean()) / (counted.std(correction=0) + 1e-8)

    def average(x: Any) -> Any:
        return (x * weights).sum() / weights.sum()

    low, high = 1 - config.clip_coef, 1 + config.clip_coef
    policy = -average(torch.minimum(ratio * advantage, ratio.clamp(low, high) * advantage))
    error = (value - batch.target) ** 2
    if config.vf_clip_coef:
        held = batch.old_value + (value - batch.old_value).clamp(-config.vf_clip_coef, config.vf_clip_coef)
        error = torch.maximum(error, (held - batch.target) ** 2)
    value_loss = 0.5 * average(error)
    return {
        "total": policy + config.vf_coef * value_loss - config.ent_coef * average(entropy),
        "policy_loss": policy, "value_loss": value_loss, "entropy": average(entropy),
        "approx_kl": average(ratio - 1 - ratio.log()),
        "clipfrac": average(((ratio - 1).abs() > config.clip_coef).to(value.dtype)),
    }  # fmt: skip


def make_case(sizes: tuple[int, ...], masked: bool, weighted: bool, samples: int = 97) -> Any:
    random = torch.Generator().manual_seed(samples + sum(sizes))
    width = sum(sizes)
    logits = 2 * torch.randn(samples, width, generator=random)
    masks = None
    if masked:
        masks = (torch.rand(samples, width, generator=random) < 0.6).to(torch.uint8)
        masks[0] = 0  # a dead row
    actions, old = MultiCategorical(sizes).sample(torch.split(logits, sizes, 1), random, masks)
    drift = 0.5 * torch.randn(samples, generator=random)
    normal = [torch.randn(samples, generator=random) for _ in range(3)]
    weights = torch.rand(samples, generator=random) * (torch.rand(samples, generator=random) < 0.7) if weighted else None
    value = torch.randn(samples, generator=random)
    taken = actions if len(sizes) > 1 else actions[:, 0]
    batch = Minibatch(torch.arange(samples), torch.empty(0), taken, masks, old + drift, *normal, weights)
    return logits, value, batch


@pytest.mark.parametrize("sizes", [(3,), (9, 5), (1,), (2, 1, 7)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{}, {"normalize_advantages": False, "vf_clip_coef": 0.0, "ent_coef": 0.3}, {"vf_clip_coef": 0.4, "clip_coef": 0.05}],
)
def test_both_ways_equal_the_formulas_and_their_gradient(sizes: Any, masked: bool, weighted: bool, settings: Any) -> None:
    config = TrainConfig(**settings)
    logits, value, batch = make_case(sizes, masked, weighted)
    distribution = Categorical(sizes[0]) if len(sizes) == 1 else MultiCategorical(sizes)

    exact_logits, exact_value = logits.double().requires_grad_(), value.double().requires_grad_()
    expected = reference(exact_logits, exact_value, sizes, batch, config)
    expected["total"].backward()

    def check(losses: Any, ours: Any, own_value: Any) -> None:
        losses.total.backward()
        for name, number in expected.items():
            assert getattr(losses, name).item() == pytest.approx(number.item(), rel=2e-5, abs=2e-6), name
        torch.testing.assert_close(ours.grad.double(), exact_logits.grad, atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(own_value.grad.double(), exact_value.grad, atol=1e-6, rtol=1e-4)

    def split(x: Any) -> Any:
        return x if len(sizes) == 1 else torch.split(x, sizes, 1)

    kernel_logits, kernel_value = logits.clone().requires_grad_(), value.clone().requires_grad_()
    found = fused_losses(distribution, split(kernel_logits), kernel_value, batch, config)
    assert found is not None
    check(found[0], kernel_logits, kernel_value)

    torch_logits, torch_value = logits.clone().requires_grad_(), value.clone().requires_grad_()
    log_prob, entropy = distribution.evaluate(split(torch_logits), batch.actions, batch.action_masks)
    losses = ppo_losses(
        log_prob, entropy, torch_value, old_log_prob=batch.old_log_prob, old_value=batch.old_value, advantage=batch.advantage,
        target=batch.target, weights=batch.weights, config=config,
    )  # fmt: skip
    check(losses, torch_logits, torch_value)
    torch.testing.assert_close(found[1], (log_prob.detach() - batch.old_log_prob).exp(), rtol=1e-4, atol=1e-6)


def test_a_wide_row_of_logits_is_left_to_torch() -> None:
    logits, value, batch = make_case((65,), False, False)
    assert fused_losses(Categorical(65), logits, value, batch, TrainConfig()) is None


def test_logits_and_values_may_be_slices_of_one_output() -> None:
    logits, value, batch = make_case((3,), False, False)
    joined = torch.cat([logits, value.unsqueeze(1)], 1).requires_grad_()
    found = fused_losses(Categorical(3), joined[:, :3], joined[:, 3], batch, TrainConfig())
    assert found is not None
    found[0].total.backward()
    apart = logits.clone().requires_grad_(), value.clone().requires_grad_()
    separate = fused_losses(Categorical(3), *apart, batch, TrainConfig())
    assert separate is not None
    separate[0].total.backward()
    torch.testing.assert_close(joined.grad, torch.cat([apart[0].grad, apart[1].grad.unsqueeze(1)], 1))


def test_one_normalised_advantage_is_zero() -> None:
    assert normalise(torch.tensor([3.7])).tolist() == [0.0]


def test_normalising_uses_the_population_deviation_of_counted_samples() -> None:
    given = np.array([1.0, 2.0, 4.0, 100.0])
    weights = torch.tensor([1.0, 0.5, 1.0, 0.0])
    counted = given[:3]
    expected = (given - counted.mean()) / (counted.std() + 1e-8)
    np.testing.assert_allclose(normalise(torch.tensor(given), weights).numpy(), expected, rtol=1e-6)


def test_explained_variance() -> None:
    targets, everything = torch.tensor([[0.0, 2.0, 4.0]]), torch.ones(1, 3, dtype=torch.bool)
    assert explained_variance(targets, targets, everything).item() == 1.0
    assert explained_variance(torch.zeros(1, 3), targets, everything).item() == 0.0
    assert explained_variance(torch.zeros(1, 3), torch.ones(1, 3), everything).item() == 0.0, "targets that do not vary"
    assert explained_variance(torch.tensor([[0.0, 2.0, 9.0]]), targets, torch.tensor([[True, True, False]])).item() == 1.0
