"""What a policy's outputs mean: sampling, log-probabilities and entropies of actions.

A distribution object is made once per action space and turns the network's action parameters into actions:
Discrete: logits [..., n]; MultiDiscrete: a tuple of logits, one for each choice; Box: `(mean, log_std)`, each [..., *shape].
Action masks are uint8 [..., sum of the sizes]; a choice with mask 0 is never taken and has no share in the entropy. Where
all options of a choice are masked (a dead row), the mask says nothing and is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from pufferlib.errors import ShapeError, SpaceError
from pufferlib.native import _kernels

LOG_SQRT_2_PI = 0.5 * math.log(2 * math.pi)


class Distribution(Protocol):
    """Actions of one space."""

    parameter_sizes: tuple[int, ...]
    """How many numbers of a network's output layer each part of the action parameters takes."""

    def sample(
        self, parameters: Any, generator: torch.Generator | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Draw actions. Returns (actions, integers or float32, [rows, ...], their log-probabilities float32[rows])."""

    def evaluate(self, parameters: Any, actions: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Returns (log-probability of `actions`, entropy), both [rows]."""

    def mode(self, parameters: Any, mask: Tensor | None = None) -> Tensor:
        """The likeliest actions."""

    def to_env(self, actions: Tensor) -> Tensor:
        """What the env gets: the action itself, for a Box clipped to its bounds."""


def make_distribution(space: spaces.Space[Any]) -> Distribution:
    """The distribution over a Discrete, MultiDiscrete or Box space. Raises SpaceError for others."""
    if isinstance(space, spaces.Discrete):
        return Categorical(int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategorical(tuple(int(n) for n in space.nvec.reshape(-1)))
    if isinstance(space, spaces.Box):
        return Gaussian(space)
    raise SpaceError(f"the action space must be Discrete, MultiDiscrete or Box, got {space}")


class Categorical:
    """One choice among n."""

    def __init__(self, n: int) -> None:
        self.parameter_sizes: tuple[int, ...] = (n,)

    def sample(
        self, parameters: Tensor, generator: torch.Generator | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if fits_kernel(parameters, self.parameter_sizes):
            actions, log_probs = sample_by_kernel(parameters, self.parameter_sizes, generator, mask)
            return actions.squeeze(-1), log_probs
        log_probs = masked_log_softmax(parameters, mask)
        actions = sample_inverse_cdf(log_probs, generator)
        return actions, log_probs.gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    def evaluate(self, parameters: Tensor, actions: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        log_probs = masked_log_softmax(parameters, mask)
        chosen = log_probs.gather(-1, actions.long().unsqueeze(-1)).squeeze(-1)
        return chosen, -(log_probs.exp() * log_probs).sum(-1)

    def mode(self, parameters: Tensor, mask: Tensor | None = None) -> Tensor:
        return masked_log_softmax(parameters, mask).argmax(-1)

    def to_env(self, actions: Tensor) -> Tensor:
        return actions


class MultiCategorical:
    """Several independent choices; the log-probability and the entropy are sums over them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.parameter_sizes = tuple(sizes)
        self._parts = [Categorical(n) for n in sizes]

    def _masks(self, mask: Tensor | None) -> Sequence[Tensor | None]:
        return [None] * len(self._parts) if mask is None else torch.split(mask, list(self.parameter_sizes), -1)

    def sample(
        self, parameters: Any, generator: torch.Generator | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        joined = torch.cat(list(parameters), -1)
        if fits_kernel(joined, self.parameter_sizes):
            return sample_by_kernel(joined, self.parameter_sizes, generator, mask)
        each = [p.sample(x, generator, m) for p, x, m in zip(self._parts, parameters, self._masks(mask), strict=True)]
        return torch.stack([actions for actions, _ in each], -1), _total([log_prob for _, log_prob in each])

    def evaluate(self, parameters: Any, actions: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        choices = actions.unbind(-1)
        each = [p.evaluate(x, a, m) for p, x, a, m in zip(self._parts, parameters, choices, self._masks(mask), strict=True)]
        return _total([log_prob for log_prob, _ in each]), _total([entropy for _, entropy in each])

    def mode(self, parameters: Any, mask: Tensor | None = None) -> Tensor:
        return torch.stack([p.mode(x, m) for p, x, m in zip(self._parts, parameters, self._masks(mask), strict=True)], -1)

    def to_env(self, actions: Tensor) -> Tensor:
        return actions


class Gaussian:
    """Independent normals. The raw sample is what is stored and scored; the env gets it clipped to the Box's bounds.

    Scoring the clipped action instead would be the log-probability of an action that was never drawn.
    """

    def __init__(self, space: spaces.Box) -> None:
        self.shape = space.shape
        self.parameter_sizes: tuple[int, ...] = (int(np.prod(space.shape)),)
        self._low = torch.as_tensor(space.low, dtype=torch.float32)
        self._high = torch.as_tensor(space.high, dtype=torch.float32)

    def sample(
        self, parameters: Any, generator: torch.Generator | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        mean, log_std = parameters
        noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
        return mean + noise * log_std.exp(), self._sum(-0.5 * noise.square() - log_std - LOG_SQRT_2_PI)

    def evaluate(self, parameters: Any, actions: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        mean, log_std = parameters
        noise = (actions - mean) * (-log_std).exp()
        log_prob = self._sum(-0.5 * noise.square() - log_std - LOG_SQRT_2_PI)
        return log_prob, self._sum((log_std + 0.5 + LOG_SQRT_2_PI).expand_as(mean))

    def mode(self, parameters: Any, mask: Tensor | None = None) -> Tensor:
        return parameters[0]  # type: ignore[no-any-return]

    def to_env(self, actions: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(actions, self._low.to(actions.device)), self._high.to(actions.device))

    def _sum(self, values: Tensor) -> Tensor:
        return values.flatten(values.ndim - len(self.shape)).sum(-1) if self.shape else values


def masked_log_softmax(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Normalised log-probabilities, float32; masked choices get the lowest float, whose exponential is 0."""
    logits = logits.float()
    if mask is not None:
        allowed = mask != 0
        allowed = allowed | ~allowed.any(-1, keepdim=True)
        logits = logits.masked_fill(~allowed, torch.finfo(torch.float32).min)
    return logits.log_softmax(-1)


def sample_inverse_cdf(log_probs: Tensor, generator: torch.Generator | None) -> Tensor:
    """One draw per row from one uniform number: the first choice whose cumulated probability exceeds it.

    The number is scaled by the sum as it was rounded, so that it stays below the sum and no choice of probability 0 is taken.
    """
    cumulated = log_probs.exp().cumsum(-1)
    uniform = torch.rand((*log_probs.shape[:-1], 1), generator=generator, device=log_probs.device)
    return (cumulated <= uniform * cumulated[..., -1:]).sum(-1)


def fits_kernel(logits: Tensor, sizes: Sequence[int]) -> bool:
    """Whether the CPU kernels take these logits: plain float32 rows, not too wide."""
    return (
        logits.device.type == "cpu" and logits.dtype == torch.float32 and logits.ndim == 2 and sum(sizes) <= _kernels.MAX_LOGITS
        and logits.shape[1] == sum(sizes) and logits.stride(1) == 1
    )  # fmt: skip


def sample_by_kernel(
    logits: Tensor, sizes: Sequence[int], generator: torch.Generator | None, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The inverse of the cumulated probabilities as in `sample_inverse_cdf`, in one pass over the rows.

    logits: float32[rows, sum of sizes], side by side. Returns (actions int32[rows, choices], log-probabilities float32[rows]).
    """
    rows = logits.shape[0]
    uniform = torch.rand(rows, len(sizes), generator=generator)
    actions, log_probs = torch.empty(rows, len(sizes), dtype=torch.int32), torch.empty(rows)
    widths = np.asarray(sizes, np.int32)
    if mask is not None:
        mask = mask.contiguous()
        if mask.shape != logits.shape or mask.element_size() != 1:
            raise ShapeError(f"mask must be uint8 of shape {tuple(logits.shape)}, got {mask.dtype} of shape {tuple(mask.shape)}")
    _kernels.sample(
        logits.data_ptr(), logits.stride(0), 0 if mask is None else mask.data_ptr(), widths.ctypes.data, len(sizes),
        uniform.data_ptr(), actions.data_ptr(), log_probs.data_ptr(), rows,
    )  # fmt: skip
    return actions, log_probs


def _total(parts: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(parts)).sum(0) if len(parts) > 1 else parts[0]
