"""One minibatch, one gradient, one set of statistics out of those of all ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pufferlib.train.distributed import Ranks
from pufferlib.train.losses import EPSILON, Losses
from pufferlib.train.minibatches import Minibatch

MOMENTS = {"mean", "var", "count"}
"""What a wrapper's running moments consist of."""


def pool_minibatch(ranks: Ranks, batch: Minibatch | None, device: torch.device, normalize: bool) -> tuple[Any, Tensor]:
    """This rank's part of the global minibatch, and its share of the global weight.

    batch: None on a rank that has no minibatch left. normalize: advantages get mean 0 and deviation 1 over all ranks' samples of
    positive weight, as `losses.normalise` does it for one process.
    The losses are means over the weights. So the global loss is the sum of the ranks' losses times their shares.
    """
    own = torch.zeros(4, dtype=torch.float64, device=device)
    if batch is not None:
        counted = batch.advantage if batch.weights is None else batch.advantage[batch.weights > 0]
        own[0] = len(batch.advantage) if batch.weights is None else batch.weights.double().sum()
        own[1:] = moments(counted)
    everyone = ranks.gather(own)
    share = (own[0] / everyone[:, 0].sum().clamp(min=1e-8)).float()
    if batch is not None and normalize:
        number, mean, square = merge_moments(everyone[:, 1:])
        deviation = (square / number.clamp(min=1)).sqrt()
        batch = batch._replace(advantage=(batch.advantage - mean.float()) / (deviation.float() + EPSILON))
    return batch, share


def pool_update(ranks: Ranks, parameters: list[nn.Parameter], losses: Losses | None, share: Tensor) -> Losses:
    """Replace the gradients by their sum over the ranks; returns the global losses.

    losses: this rank's means, None if it had no minibatch; the gradients are theirs. All of it travels in one vector.
    A parameter that had a gradient on no rank keeps none, so that its weights do not decay.
    """
    dtype = torch.float32
    for parameter in parameters:
        dtype = torch.promote_types(dtype, parameter.dtype)
    pieces = [torch.zeros_like(p, dtype=dtype) if p.grad is None else p.grad.to(dtype) for p in parameters]
    present = torch.tensor([float(p.grad is not None) for p in parameters], dtype=dtype, device=share.device)
    values = torch.stack(list(losses)).detach() if losses else torch.zeros(len(Losses._fields), device=share.device)
    vector = torch.cat([*(piece.flatten() for piece in pieces), values.to(dtype)]) * share.to(dtype)
    vector = torch.cat([vector, present])
    ranks.add_up(vector)
    *summed, values, present = torch.split(vector, [*(p.numel() for p in parameters), len(values), len(parameters)])
    nowhere: set[int] = set()
    if any(p.grad is None for p in parameters):  # only then is it worth the wait for the device
        nowhere = {index for index, count in enumerate(present.tolist()) if not count}
    for index, (parameter, total) in enumerate(zip(parameters, summed, strict=True)):
        if index not in nowhere:
            parameter.grad = _shaped_like(parameter, total)
    return Losses(*values.float().unbind())


def pooled_explained_variance(ranks: Ranks, values: Tensor, targets: Tensor, masks: Tensor) -> Tensor:
    """`losses.explained_variance` over the samples of all ranks."""
    targets, values = targets[masks], values[masks]
    everyone = ranks.gather(torch.stack([moments(targets), moments(targets - values)]))
    _, _, spread = merge_moments(everyone[:, 0])
    _, _, rest = merge_moments(everyone[:, 1])
    return torch.where(spread > 0, 1 - rest / spread, torch.zeros_like(spread)).float()


def moments(values: Tensor) -> Tensor:
    """float64[3]: the number of `values`, their mean, their sum of squared deviations from it."""
    if not values.numel():
        return torch.zeros(3, dtype=torch.float64, device=values.device)
    wide = values.double()
    mean = wide.mean()
    return torch.stack([torch.full_like(mean, values.numel()), mean, (wide - mean).square().sum()])


def merge_moments(parts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The `moments` of a whole from those of its parts, float64[parts, 3] (Chan et al. 1979)."""
    number, mean, square = parts.unbind(-1)
    total = number.sum()
    centre = (number * mean).sum() / total.clamp(min=1)
    return total, centre, (square + number * (mean - centre).square()).sum()


def pool_statistics(before: Mapping[str, Any], everyone: list[Any]) -> dict[str, Any]:
    """An env's state in which running moments have seen what all ranks have seen since `before`, which was common to them.

    before, everyone[rank]: what the wrappers of an env remember, nested dicts. A dict of exactly mean, var and count is one of
    running moments; everything else is taken from rank 0.
    """
    if everyone[0].keys() == MOMENTS:
        return _pool_moments(before, everyone)
    return {
        name: pool_statistics(before[name], [state[name] for state in everyone]) if isinstance(value, dict) else value
        for name, value in everyone[0].items()
    }


def _pool_moments(before: Mapping[str, Any], everyone: list[Any]) -> dict[str, Any]:
    """`before` and what each rank has seen since, taken out of its own state, merged."""
    count, mean = float(before["count"]), np.asarray(before["mean"], np.float64)
    square = np.asarray(before["var"], np.float64) * count
    first_count, first_mean, first_square = count, mean, square
    for own in everyone:
        own_count, own_mean = float(own["count"]), np.asarray(own["mean"], np.float64)
        seen = own_count - first_count
        if seen <= 0:
            continue
        seen_mean = (own_mean * own_count - first_mean * first_count) / seen
        apart = (seen_mean - first_mean) ** 2 * (first_count * seen / own_count)
        seen_square = np.maximum(np.asarray(own["var"], np.float64) * own_count - first_square - apart, 0)
        delta, total = seen_mean - mean, count + seen
        square = square + seen_square + delta**2 * (count * seen / total)
        mean, count = mean + delta * (seen / total), total
    return {"mean": mean, "var": square / count, "count": count}


def _shaped_like(parameter: nn.Parameter, flat: Tensor) -> Tensor:
    """A gradient with the parameter's shape, dtype and memory order; a view where that is enough."""
    gradient = flat.view(parameter.shape).to(parameter.dtype)
    return gradient if parameter.is_contiguous() else torch.empty_like(parameter).copy_(gradient)
