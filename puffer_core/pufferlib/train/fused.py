"""PPO's losses and their gradient in one pass over a minibatch, for Discrete and MultiDiscrete actions on a CPU.

The same numbers as losses.py, which serves all other cases: torch would walk over these small arrays some sixty times, which
on a small network costs a fifth of the learning time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pufferlib.config.train_config import TrainConfig
from pufferlib.native import _kernels
from pufferlib.policies.distributions import Categorical, MultiCategorical, fits_kernel
from pufferlib.train.losses import Losses
from pufferlib.train.minibatches import Minibatch

STATS = 6


def fused_losses(
    distribution: Any, parameters: Any, value: Tensor, batch: Minibatch, config: TrainConfig
) -> tuple[Losses, Tensor] | None:
    """The losses and the ratios [samples], or None where losses.py has to do it.

    parameters: logits [samples, n], or a tuple of them; value: [samples]
    """
    if isinstance(distribution, Categorical):
        logits = parameters
    elif isinstance(distribution, MultiCategorical):
        logits = torch.cat(list(parameters), -1)
    else:
        return None
    if not fits_kernel(logits, distribution.parameter_sizes) or value.dtype != torch.float32:
        return None
    total, stats, ratios = _FusedPPO.apply(logits, value, distribution.parameter_sizes, batch, config)  # type: ignore[no-untyped-call]
    return Losses(total, *stats[1:].unbind()), ratios


def kernel_arguments(sizes: tuple[int, ...], batch: Minibatch, config: TrainConfig) -> tuple[tuple[int | float, ...], list[Any]]:
    """What the kernels are told of a minibatch (native/_ppo.pxd), and the arrays that must outlive the call."""
    rows = len(batch.old_log_prob)
    actions = batch.actions.to(torch.int32).reshape(rows, len(sizes)).contiguous()
    numbers = [part.contiguous() for part in (batch.old_log_prob, batch.old_value, batch.advantage, batch.target)]
    masks = None if batch.action_masks is None else batch.action_masks.contiguous()
    weights = None if batch.weights is None else batch.weights.contiguous()
    widths = np.asarray(sizes, np.int32)
    given = (
        actions.data_ptr(), widths.ctypes.data, len(sizes), 0 if masks is None else masks.data_ptr(),
        *(part.data_ptr() for part in numbers), 0 if weights is None else weights.data_ptr(), rows, config.normalize_advantages,
        config.clip_coef, config.vf_clip_coef, config.vf_coef, config.ent_coef,
    )  # fmt: skip
    return given, [actions, numbers, masks, weights, widths]


class _FusedPPO(torch.autograd.Function):
    """The kernel makes the gradient along with the losses; backward only hands it on."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, value: Tensor, sizes: tuple[int, ...], batch: Minibatch, config: TrainConfig
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows = logits.shape[0]
        d_logits, d_value = torch.empty(rows, sum(sizes)), torch.empty(rows)
        ratios, stats = torch.empty(rows), torch.empty(STATS)
        given, kept = kernel_arguments(sizes, batch, config)
        _kernels.ppo(
            logits.data_ptr(), logits.stride(0), value.data_ptr(), value.stride(0), given, d_logits.data_ptr(),
            d_value.data_ptr(), ratios.data_ptr(), stats.data_ptr(),
        )  # fmt: skip
        del kept
        ctx.save_for_backward(d_logits, d_value)
        ctx.mark_non_differentiable(stats, ratios)
        return stats[0].clone(), stats, ratios

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_logits, d_value = ctx.saved_tensors
        return d_logits * gradients[0], d_value * gradients[0], None, None, None
