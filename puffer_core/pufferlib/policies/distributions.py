"""What a policy's outputs mean: sampling, log-probabilities and entropies of actions.

A distribution object is made once per action space and turns the network's action parameters into actions:
Discrete: logits [..., n]; MultiDiscrete: a tuple of logits, one for each choice; Box: `(mean, log_std)`, each [..., *shape],
of a normal that is clipped to the bounds, or squashed into them by tanh.
Action masks are uint8 [..., sum of the sizes]; a choice with mask 0 is never taken and has no share in the entropy. Where
all options of a choice are masked (a dead row), the mask says nothing and is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol, get_args

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError, ShapeError, SpaceError
from pufferlib.native import _kernels

LOG_SQRT_2_PI = 0.5 * math.log(2 * math.pi)
QUADRATURE_NODES, QUADRATURE_REACH = 33, 4.5
"""Of the expectation in a squashed entropy: points from -4.5 to 4.5 standard deviations."""

LogStd = Literal["parameter", "output"]
"""Where a Box's `log_std` comes from: a free parameter per number, whatever is observed, or an output of the network."""


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
        """What the env gets: the action itself, for a Box brought into its bounds."""


def make_distribution(space: spaces.Space[Any], *, log_std: LogStd = "parameter", squash: bool = False) -> Distribution:
    """The distribution over a Discrete, MultiDiscrete or Box space. Raises SpaceError for others.

    log_std, squash: of a Box only, see `Gaussian` and `SquashedGaussian`. Raises ConfigError where they do not apply.
    """
    if log_std not in get_args(LogStd):
        raise ConfigError(f"log_std must be parameter or output, got {log_std!r}")
    if isinstance(space, spaces.Box):
        return SquashedGaussian(space, log_std) if squash else Gaussian(space, log_std)
    if squash or log_std != "parameter":
        given = "squash=True" if squash else f"log_std={log_std!r}"
        raise ConfigError(f"{given} is for Box actions, this action space is {space}")
    if isinstance(space, spaces.Discrete):
        return Categorical(int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategorical(tuple(int(n) for n in space.nvec.reshape(-1)))
    raise SpaceError(f"the action space must be Discrete, MultiDiscrete or Box, got {space}")


def distribution_of(policy: Any, space: spaces.Space[Any]) -> Distribution:
    """What `policy`'s action parameters mean: its own `distribution`, if it has one, else what `make_distribution` gives."""
    own: Distribution | None = getattr(policy, "distribution", None)
    return make_distribution(space) if own is None else own


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

    def __init__(self, space: spaces.Box, log_std: LogStd = "parameter") -> None:
        self.shape = space.shape
        n = int(np.prod(space.shape))
        self.parameter_sizes: tuple[int, ...] = (n,) if log_std == "parameter" else (n, n)
        self._numbers: tuple[Tensor, ...] = tuple(torch.as_tensor(x, dtype=torch.float32) for x in (space.low, space.high))

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
        low, high = self._constants(actions)[:2]
        return torch.minimum(torch.maximum(actions, low), high)

    def _constants(self, like: Tensor) -> tuple[Tensor, ...]:
        """Bounds, and what a subclass adds, where `like` is: moved once, as a copy at every step would have a GPU wait."""
        if self._numbers[0].device != like.device:
            self._numbers = tuple(part.to(like.device) for part in self._numbers)
        return self._numbers

    def _sum(self, values: Tensor) -> Tensor:
        return values.flatten(values.ndim - len(self.shape)).sum(-1) if self.shape else values


class SquashedGaussian(Gaussian):
    """a = low + (high - low) (tanh(u) + 1) / 2 with u from independent normals (Haarnoja et al. 2018, appendix C).

    The u is what is stored and scored, so that no inverse of tanh loses digits; log-probabilities and entropies are those of a,
    with the exact log |da/du|. Its expectation, which the entropy needs, comes from the trapezoidal rule, whose error is below
    1e-4 for standard deviations up to 2 and below 0.02 up to e^2. `mode` is the median. Raises SpaceError for a Box
    without finite bounds, naming them.
    """

    def __init__(self, space: spaces.Box, log_std: LogStd = "parameter") -> None:
        super().__init__(space, log_std)
        endless = ~(np.isfinite(space.low) & np.isfinite(space.high) & (space.low < space.high))
        if endless.any():
            bounds = list(zip(space.low[endless], space.high[endless], strict=True))[:3]
            where = ", ".join(f"[{low}, {high}]" for low, high in bounds)
            raise SpaceError(f"squash=True needs finite bounds low < high for every action, got {where} in {space}")
        low, high = self._numbers
        nodes = torch.linspace(-QUADRATURE_REACH, QUADRATURE_REACH, QUADRATURE_NODES)
        self._numbers = low, high, (high - low) / 2, nodes, (-0.5 * nodes.square()).softmax(0)

    def sample(
        self, parameters: Any, generator: torch.Generator | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        actions, log_prob = super().sample(parameters, generator, mask)
        return actions, log_prob - self._sum(self._log_slope(actions))

    def evaluate(self, parameters: Any, actions: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        log_prob, entropy = super().evaluate(parameters, actions, mask)
        mean, log_std = (part.unsqueeze(0) for part in parameters)
        leading = (-1, *[1] * (mean.ndim - 1))
        nodes, weights = (part.reshape(leading) for part in self._constants(mean)[3:])
        expected = (weights * self._log_slope(mean + log_std.exp() * nodes)).sum(0)
        return log_prob - self._sum(self._log_slope(actions)), entropy + self._sum(expected)

    def to_env(self, actions: Tensor) -> Tensor:
        low, _, half, *_ = self._constants(actions)
        return super().to_env(low + half * (actions.tanh() + 1))

    def _log_slope(self, raw: Tensor) -> Tensor:
        """log da/du = log((high - low) / 2) + log(1 - tanh(u)^2), without cancellation where tanh(u) is nearly 1."""
        return self._constants(raw)[2].log() + 2 * (math.log(2) - raw - nn.functional.softplus(-2 * raw))


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
