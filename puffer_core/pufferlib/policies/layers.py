"""Parts that the shipped policies are made of."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError
from pufferlib.policies.distributions import LogStd, make_distribution

LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
"""Of a `log_std` that the network puts out: beyond these, one bad observation would end all exploration, or all learning."""


def layer_init(layer: Any, std: float = 2**0.5, bias: float = 0.0) -> Any:
    """Orthogonal weights of gain `std`, constant biases (Engstrom et al. 2020 found it to matter for PPO). Returns the layer."""
    nn.init.orthogonal_(layer.weight, std)
    if layer.bias is not None:
        nn.init.constant_(layer.bias, bias)
    return layer


class InputLinear(nn.Linear):
    """A linear layer over standardised inputs: (x - mean) / sqrt(variance + floor), by the statistics of what it was shown.

    Observations in natural units (a ball's x in [0, 1] beside a hundred bricks) leave the features that matter far too small
    to be learnt from in reasonable time. The statistics change only in `update`, between rollouts, so that a policy
    scores its actions with the very numbers that it drew them by; they are buffers, so they travel with the weights. They
    are folded into the weights, which costs nothing per row. `floor` keeps inputs that hardly ever change from being blown up.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, inputs: int, outputs: int, floor: float = 0.1) -> None:
        super().__init__(inputs, outputs)
        self.floor = floor
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("variance", torch.ones(inputs))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, inputs: Tensor) -> Tensor:
        """inputs: float32[rows, inputs]."""
        if torch.is_autocast_enabled(inputs.device.type):  # 16 bits hold differences, not what is far from 0
            standard = (inputs - self.mean) * (self.variance + self.floor).rsqrt()
            return nn.functional.linear(standard, self.weight, self.bias)
        weight = self.weight * (self.variance + self.floor).rsqrt()
        return nn.functional.linear(inputs, weight, self.bias - weight @ self.mean)

    @torch.no_grad()
    def update(self, inputs: Tensor) -> None:
        """Take float32[n, inputs] into the statistics (Chan et al. 1979, parallel variance)."""
        if not len(inputs):
            return
        variance, mean = torch.var_mean(inputs, 0, correction=0)
        total = self.count + len(inputs)
        share = len(inputs) / total
        delta = mean - self.mean
        self.variance.lerp_(variance, share).add_(delta.square() * share * (1 - share))
        self.mean.add_(delta * share)
        self.count.copy_(total)


def dense_stack(width: int, hidden_size: int, num_layers: int, *, standardise: bool = False) -> nn.Sequential:
    """`num_layers` times Linear and GELU; the first layer standardises its inputs if asked to."""
    check_count("hidden_size", hidden_size)
    check_count("num_layers", num_layers)
    layers: list[nn.Module] = []
    for index in range(num_layers):
        first = InputLinear if standardise and not index else nn.Linear
        layers += [layer_init(first(hidden_size if index else width, hidden_size)), nn.GELU()]
    return nn.Sequential(*layers)


class ResidualBlock(nn.Module):
    """x + W2 GELU(W1 LayerNorm(x)): a block that begins near the identity (He et al. 2016, with the norm in front)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.up, self.down = layer_init(nn.Linear(size, size)), layer_init(nn.Linear(size, size), std=0.1)

    def forward(self, features: Tensor) -> Tensor:
        """features: [..., size]."""
        return features + self.down(nn.functional.gelu(self.up(self.norm(features))))  # type: ignore[no-any-return]


def residual_stack(width: int, hidden_size: int, num_layers: int, *, standardise: bool = False) -> nn.Sequential:
    """A linear layer, `num_layers` residual blocks, and a norm at the end."""
    check_count("hidden_size", hidden_size)
    check_count("num_layers", num_layers)
    first = layer_init((InputLinear if standardise else nn.Linear)(width, hidden_size))
    return nn.Sequential(first, *(ResidualBlock(hidden_size) for _ in range(num_layers)), nn.LayerNorm(hidden_size))


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Raise ConfigError unless `value` is an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be an integer of at least {least}, got {value!r}")


def is_exporting() -> bool:
    """Whether torch records this call, so that what depends on the values or the number of rows must not be branched on."""
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())  # type: ignore[attr-defined,no-untyped-call]


class Heads(nn.Module):
    """One linear layer for action parameters and value: one matrix product is faster than several small ones.

    log_std: "parameter": a Box has one free `log_std` for each number, which does not depend on the observation; "output": the
        linear layer gives it, held in [LOG_STD_MIN, LOG_STD_MAX]
    squash: tanh brings a Box's actions into its bounds; else they are clipped
    """

    def __init__(
        self, features: int, action_space: spaces.Space[Any], log_std: LogStd = "parameter", squash: bool = False
    ) -> None:
        super().__init__()
        self.distribution = make_distribution(action_space, log_std=log_std, squash=squash)
        self.sizes = self.distribution.parameter_sizes
        self.linear = nn.Linear(features, sum(self.sizes) + 1)
        nn.init.orthogonal_(self.linear.weight[:-1], 0.01)  # nearly uniform actions at first
        nn.init.orthogonal_(self.linear.weight[-1:], 1.0)
        nn.init.zeros_(self.linear.bias)
        self.box_shape = action_space.shape if isinstance(action_space, spaces.Box) else None
        self.discrete = isinstance(action_space, spaces.Discrete)
        has_parameter = self.box_shape is not None and log_std == "parameter"
        self.log_std = nn.Parameter(torch.zeros(self.sizes[0])) if has_parameter else None

    def forward(self, features: Tensor) -> tuple[Any, Tensor]:
        """features: [rows, n]. Returns (action parameters, value [rows])."""
        return self.split(self.linear(features))

    def split(self, out: Tensor) -> tuple[Any, Tensor]:
        """What `linear` gave, [rows, sum of sizes + 1], as (action parameters, value [rows])."""
        value = out[..., -1]
        if self.discrete:
            return out[..., :-1], value
        parts = torch.split(out[..., :-1], list(self.sizes), -1)
        if self.box_shape is None:
            return parts, value
        mean = self._shaped(parts[0])
        if self.log_std is None:
            return (mean, self._shaped(parts[1]).clamp(LOG_STD_MIN, LOG_STD_MAX)), value
        return (mean, self.log_std.reshape(self.box_shape).expand_as(mean)), value

    def _shaped(self, flat: Tensor) -> Tensor:
        return flat.reshape(*flat.shape[:-1], *self.box_shape) if self.box_shape is not None else flat
