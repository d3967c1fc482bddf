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


def dense_stack(width: int, hidden_size: int, num_layers: int) -> nn.Sequential:
    """`num_layers` times Linear and GELU."""
    for name, value in (("hidden_size", hidden_size), ("num_layers", num_layers)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError(f"{name} must be an integer of at least 1, got {value!r}")
    layers: list[nn.Module] = []
    for index in range(num_layers):
        layers += [layer_init(nn.Linear(hidden_size if index else width, hidden_size)), nn.GELU()]
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
