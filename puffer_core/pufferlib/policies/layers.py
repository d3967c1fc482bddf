"""Parts that the shipped policies are made of."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError
from pufferlib.policies.distributions import make_distribution


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
    for name, value in (("hidden_size", hidden_size), ("num_layers", num_layers)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError(f"{name} must be an integer of at least 1, got {value!r}")
    layers: list[nn.Module] = []
    for index in range(num_layers):
        first = InputLinear if standardise and not index else nn.Linear
        layers += [layer_init(first(hidden_size if index else width, hidden_size)), nn.GELU()]
    return nn.Sequential(*layers)


class Heads(nn.Module):
    """One linear layer for action parameters and value: one matrix product is faster than several small ones.

    A Box has one free `log_std` for each number, which does not depend on the observation.
    """

    def __init__(self, features: int, action_space: spaces.Space[Any]) -> None:
        super().__init__()
        self.sizes = make_distribution(action_space).parameter_sizes
        self.linear = nn.Linear(features, sum(self.sizes) + 1)
        nn.init.orthogonal_(self.linear.weight[:-1], 0.01)  # nearly uniform actions at first
        nn.init.orthogonal_(self.linear.weight[-1:], 1.0)
        nn.init.zeros_(self.linear.bias)
        self.box_shape = action_space.shape if isinstance(action_space, spaces.Box) else None
        self.discrete = isinstance(action_space, spaces.Discrete)
        self.log_std = nn.Parameter(torch.zeros(self.sizes[0])) if self.box_shape is not None else None

    def forward(self, features: Tensor) -> tuple[Any, Tensor]:
        """features: [rows, n]. Returns (action parameters, value [rows])."""
        out = self.linear(features)
        value = out[..., -1]
        if self.discrete:
            return out[..., :-1], value
        if self.log_std is not None and self.box_shape is not None:
            mean = out[..., :-1].unflatten(-1, self.box_shape) if self.box_shape else out[..., 0]
            log_std = self.log_std.reshape(self.box_shape)
            return (mean, log_std.expand_as(mean)), value
        return torch.split(out[..., :-1], list(self.sizes), -1), value
