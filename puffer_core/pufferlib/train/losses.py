"""PPO's losses (Schulman et al. 2017) on one minibatch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from pufferlib.config.train_config import TrainConfig

EPSILON = 1e-8
"""Added to the deviation that advantages are divided by."""


class Losses(NamedTuple):
    """Scalars, still on the device; `total` carries the gradient."""

    total: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clipfrac: Tensor


def ppo_losses(
    log_prob: Tensor, entropy: Tensor, value: Tensor, *, old_log_prob: Tensor, old_value: Tensor, advantage: Tensor,
    target: Tensor, weights: Tensor | None, config: TrainConfig,
) -> Losses:  # fmt: skip
    """All arguments: float32[samples]. `weights` (None: all 1) are 0 for samples that do not count.

    policy: -min(r A, clip(r, 1 - eps, 1 + eps) A), eq. 7; value: half the greater of the plain and the clipped squared error
    approx_kl: mean of (r - 1) - log r, an unbiased, always positive estimate (Schulman, "Approximating KL divergence", 2020)
    """
    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    if config.normalize_advantages:
        advantage = normalise(advantage, weights)
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -mean(torch.minimum(ratio * advantage, clipped * advantage), weights)
    error = (value - target).square()
    if config.vf_clip_coef:
        near = old_value + (value - old_value).clamp(-config.vf_clip_coef, config.vf_clip_coef)
        error = torch.maximum(error, (near - target).square())
    value_loss = 0.5 * mean(error, weights)
    mean_entropy = mean(entropy, weights)
    total = policy_loss + config.vf_coef * value_loss - config.ent_coef * mean_entropy
    with torch.no_grad():
        approx_kl = mean(ratio - 1 - log_ratio, weights)
        clipfrac = mean(((ratio - 1).abs() > config.clip_coef).float(), weights)
    return Losses(total, policy_loss.detach(), value_loss.detach(), mean_entropy.detach(), approx_kl, clipfrac)


def mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """The mean, weighted by `weights`; 0 where all weights are 0."""
    if weights is None:
        return values.mean()
    return (values * weights).sum() / weights.sum().clamp(min=1e-8)


def normalise(values: Tensor, weights: Tensor | None = None, epsilon: float = EPSILON) -> Tensor:
    """Subtract the mean, divide by the population standard deviation: a single value becomes 0.0, never NaN.

    Statistics are over samples of positive weight, each counted once: importance weights are no part of them.
    """
    counted = None if weights is None else (weights > 0).float()
    centred = values - mean(values, counted)
    return centred / (mean(centred.square(), counted).sqrt() + epsilon)


def explained_variance(values: Tensor, targets: Tensor, masks: Tensor) -> Tensor:
    """1 - Var(target - value) / Var(target) over the samples that count; 0 where the targets do not vary."""
    if not masks.all():  # picking copies both arrays
        targets, values = targets[masks], values[masks]
    if not targets.numel():
        return torch.zeros((), device=targets.device)
    spread = targets.var(correction=0)
    return torch.where(spread > 0, 1 - (targets - values).var(correction=0) / spread, torch.zeros_like(spread))
