"""Building blocks for your own torch policies.

A policy is any nn.Module with `forward(observations) -> (action_parameters, value)`; a recurrent one has
`forward(observations, state) -> (action_parameters, value, state)` and `initial_state(rows)`.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.policies.cores import LSTMCore, State
from pufferlib.policies.distributions import Categorical, Distribution, MultiCategorical, make_distribution
from pufferlib.policies.layers import layer_init

__all__ = ["LSTMWrapper", "entropy", "layer_init", "log_prob", "make_distribution", "sample_logits"]


class LSTMWrapper(nn.Module):
    """Put an LSTM between a policy's `encode` and `decode`.

    policy: an nn.Module with `encode(observations [rows, *shape]) -> features [rows, input_size]` and
        `decode(features [rows, hidden_size]) -> (action_parameters, value)`
    """

    def __init__(self, policy: nn.Module, input_size: int = 128, hidden_size: int = 128) -> None:
        super().__init__()
        self.policy = policy
        self.core = LSTMCore(input_size, hidden_size)

    def initial_state(self, rows: int) -> State:
        """Zeros, `(hidden, cell)`, each [rows, hidden_size]."""
        return self.core.initial_state(rows)

    def forward(self, observations: Tensor, state: State) -> tuple[Any, Tensor, State]:
        """One step: (action parameters, value, state)."""
        features, state = self.core.step(self.policy.encode(observations), state)  # type: ignore[operator]
        parameters, value = self.policy.decode(features)  # type: ignore[operator]
        return parameters, value, state

    def forward_sequence(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Any, Tensor, State]:
        """observations: [horizon, rows, *shape]; starts: bool[horizon, rows]. The results have the same leading axes."""
        leading = observations.shape[:2]
        encoded: Tensor = self.policy.encode(observations.flatten(0, 1))  # type: ignore[operator]
        features = encoded.reshape(*leading, -1)
        features, state = self.core.sequence(features, state, starts)
        parameters, value = self.policy.decode(features.flatten(0, 1))  # type: ignore[operator]
        if isinstance(parameters, Tensor):
            parameters = parameters.reshape(*leading, *parameters.shape[1:])
        else:
            parameters = tuple(part.reshape(*leading, *part.shape[1:]) for part in parameters)
        return parameters, value.reshape(leading), state


def sample_logits(
    logits: Any, generator: torch.Generator | None = None, mask: Tensor | None = None, *, action_space: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw actions from action parameters: logits [rows, n] (Discrete) or a tuple of them (MultiDiscrete).

    mask: uint8 [rows, sum of the sizes], 0 where a choice is not allowed
    action_space: needed for a Box only, whose parameters are (mean, log_std), each [rows, *shape]. A distribution of
        `make_distribution`, such as that of a squashed Box, is taken as well
    Returns (actions, integers or float32, [rows, ...], as they are to be scored; log-probabilities [rows]; entropies [rows]).
    """
    distribution = _distribution(logits, action_space)
    actions, _ = distribution.sample(logits, generator, mask)
    return actions, *distribution.evaluate(logits, actions, mask)


def log_prob(logits: Any, actions: Tensor, mask: Tensor | None = None, *, action_space: Any = None) -> Tensor:
    """Log-probabilities [rows] of `actions`; arguments as in `sample_logits`."""
    return _distribution(logits, action_space).evaluate(logits, actions, mask)[0]


def entropy(logits: Any, mask: Tensor | None = None, *, action_space: Any = None) -> Tensor:
    """Entropies [rows] in nats, summed over the choices of a MultiDiscrete or the numbers of a Box."""
    distribution = _distribution(logits, action_space)
    return distribution.evaluate(logits, distribution.mode(logits), mask)[1]


def _distribution(logits: Any, action_space: Any) -> Distribution:
    if isinstance(action_space, spaces.Space):
        return make_distribution(action_space)
    if action_space is not None:
        return action_space  # type: ignore[no-any-return]
    if isinstance(logits, Tensor):
        return Categorical(logits.shape[-1])
    return MultiCategorical([part.shape[-1] for part in logits])
