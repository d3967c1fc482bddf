"""Sampling, log-probabilities and entropies, against torch.distributions and numbers that one can check by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pufferlib.errors import SpaceError
from pufferlib.policies.distributions import Categorical, Gaussian, MultiCategorical, make_distribution, sample_inverse_cdf
from pufferlib.pytorch import entropy, log_prob, sample_logits


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def by_torch_only(logits: torch.Tensor, mask: torch.Tensor | None, random: torch.Generator) -> torch.Tensor:
    from pufferlib.policies.distributions import masked_log_softmax

    return sample_inverse_cdf(masked_log_softmax(logits, mask), random)


@pytest.mark.parametrize("way", ["kernel", "torch"])
def test_choices_come_as_often_as_their_probability_says(way: str) -> None:
    logits = torch.tensor([0.3, -1.0, 2.0, 0.0])
    rows = logits.expand(200_000, 4).contiguous()
    draws = Categorical(4).sample(rows, generator())[0] if way == "kernel" else by_torch_only(rows, None, generator())
    counts = torch.bincount(draws.long(), minlength=4).double().numpy()
    expected = logits.double().softmax(0).numpy() * len(rows)
    assert ((counts - expected) ** 2 / expected).sum() < 16.27, "the chi-squared quantile of 0.999 with three degrees of freedom"


def test_both_ways_draw_the_same_from_the_same_uniform_numbers() -> None:
    random = generator(3)
    logits = 3 * torch.randn(5000, 6, generator=random)
    mask = (torch.rand(5000, 6, generator=random) < 0.5).to(torch.uint8)
    ours = Categorical(6).sample(logits, generator(), mask)[0].long()
    assert (ours == by_torch_only(logits, mask, generator())).float().mean() > 0.999, "but for rounding of the sums"


@pytest.mark.parametrize("width", [5, 80])
def test_a_masked_choice_is_never_drawn_whatever_its_logit(width: int) -> None:
    logits = torch.zeros(20_000, width)
    logits[:, 1] = 90.0
    mask = torch.ones(20_000, width, dtype=torch.uint8)
    mask[:, 1] = 0
    mask[:, -1] = 0
    actions, log_probs = Categorical(width).sample(logits, generator(), mask)
    assert not torch.isin(actions, torch.tensor([1, width - 1])).any()
    torch.testing.assert_close(log_probs, torch.full((20_000,), -math.log(width - 2)))


@pytest.mark.parametrize("width", [3, 80])
def test_a_row_whose_choices_are_all_masked_is_drawn_as_if_unmasked(width: int) -> None:
    logits = torch.randn(10, width, generator=generator())
    dead = torch.zeros(10, width, dtype=torch.uint8)
    masked, unmasked = Categorical(width).sample(logits, generator(), dead), Categorical(width).sample(logits, generator())
    assert torch.equal(masked[0], unmasked[0])
    torch.testing.assert_close(masked[1], unmasked[1])


@pytest.mark.parametrize("extreme", [[1e4, -1e4, 0.0], [-1e30, -1e30, -1e30], [80.0, 80.0, 79.0]])
def test_extreme_logits_stay_finite(extreme: Any) -> None:
    logits = torch.tensor([extreme])
    action, drawn = Categorical(3).sample(logits, generator())
    scored, uncertainty = Categorical(3).evaluate(logits, action)
    exact = torch.distributions.Categorical(logits=(logits - logits.max()).double())
    assert drawn.item() == pytest.approx(exact.log_prob(action).item(), abs=1e-4)
    assert scored.item() == pytest.approx(drawn.item(), abs=1e-4)
    assert uncertainty.item() == pytest.approx(exact.entropy().item(), abs=1e-4)


def test_nan_logits_show_in_the_log_probability() -> None:
    logits = torch.tensor([[0.0, math.nan, 0.0], [0.0, 0.0, 0.0], [math.inf, 0.0, 0.0]])
    actions, log_probs = Categorical(3).sample(logits, generator())
    assert torch.isfinite(log_probs).tolist() == [False, True, False] and ((actions >= 0) & (actions < 3)).all()


def test_multi_discrete_sums_over_its_choices() -> None:
    parts = [torch.randn(50, n, generator=generator(n)) for n in (2, 5, 3)]
    actions, log_probs = MultiCategorical([2, 5, 3]).sample(parts, generator())
    scored, uncertainty = MultiCategorical([2, 5, 3]).evaluate(parts, actions)
    exact = [torch.distributions.Categorical(logits=part.double()) for part in parts]
    expected = sum(one.log_prob(action) for one, action in zip(exact, actions.unbind(1), strict=True))
    torch.testing.assert_close(log_probs.double(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(scored.double(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(uncertainty.double(), sum(one.entropy() for one in exact), atol=1e-5, rtol=0)


def test_gaussian_scores_the_raw_action() -> None:
    space = spaces.Box(np.array([-1, 0, -np.inf], np.float32), np.array([3, 0.5, np.inf], np.float32), dtype=np.float32)
    gaussian = Gaussian(space)
    standard = torch.zeros(1, 3), torch.zeros(1, 3)
    raw = torch.tensor([[2.0, -2.0, 0.5]])
    assert gaussian.evaluate(standard, raw)[0].item() == pytest.approx(-6.881816, abs=1e-6)
    assert gaussian.evaluate(standard, gaussian.to_env(raw))[0].item() == pytest.approx(-4.881816, abs=1e-6)
    assert gaussian.to_env(torch.tensor([[9.0, -2.0, 1e3]])).tolist() == [[3.0, 0.0, 1e3]]
    assert gaussian.evaluate(standard, raw)[1].item() == pytest.approx(3 * 0.5 * math.log(2 * math.pi * math.e), abs=1e-5)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_gaussian_of_any_shape_equals_torchs(shape: tuple[int, ...]) -> None:
    gaussian = Gaussian(spaces.Box(-1, 1, shape))
    mean, log_std = torch.randn(7, *shape, generator=generator()), 0.3 * torch.randn(7, *shape, generator=generator(1))
    actions, drawn = gaussian.sample((mean, log_std), generator(2))
    scored, uncertainty = gaussian.evaluate((mean, log_std), actions)
    exact = torch.distributions.Normal(mean.double(), log_std.double().exp())
    expected = exact.log_prob(actions.double()).reshape(7, -1).sum(1)
    assert actions.shape == (7, *shape)
    torch.testing.assert_close(drawn.double(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(scored.double(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(uncertainty.double(), exact.entropy().reshape(7, -1).sum(1), atol=1e-5, rtol=0)


def test_public_helpers_agree_with_each_other() -> None:
    logits = (torch.randn(9, 3, generator=generator()), torch.randn(9, 2, generator=generator(1)))
    actions, log_probs, entropies = sample_logits(logits, generator(2))
    assert actions.shape == (9, 2)
    torch.testing.assert_close(log_prob(logits, actions), log_probs)
    torch.testing.assert_close(entropy(logits), entropies)
    assert entropy(torch.zeros(4, 8)).tolist() == pytest.approx([math.log(8)] * 4)


def test_other_action_spaces_are_refused() -> None:
    with pytest.raises(SpaceError, match="Dict"):
        make_distribution(spaces.Dict({"a": spaces.Discrete(2)}))
