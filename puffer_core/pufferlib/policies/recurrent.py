"""Policies that remember: an encoder, a recurrent core and heads.

A state is a tensor or a tuple of tensors whose first axis is the row. `starts` marks the steps that begin an episode: there
the state is set back to the initial one before the step is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.policies.attention import AttentionCore
from pufferlib.policies.cores import GRUCore, LSTMCore, MinGRUCore, State
from pufferlib.policies.distributions import Distribution, LogStd
from pufferlib.policies.encoders import EncoderName, EncoderSettings, build_encoder, update_statistics
from pufferlib.policies.layers import Heads, check_count
from pufferlib.policies.observations import Encode


def map_state(function: Callable[..., Tensor], *states: State) -> State:
    """Apply `function` to the tensors of states of one structure (a tensor, or nested tuples or lists of them)."""
    if isinstance(states[0], Tensor):
        return function(*states)
    return tuple(map_state(function, *parts) for parts in zip(*states, strict=True))


def reset_state(state: State, starts: Tensor, initial: State) -> State:
    """`initial` in the rows where `starts` (bool[rows]) is set, `state` elsewhere."""
    return map_state(lambda old, new: torch.where(starts.reshape(-1, *[1] * (old.ndim - 1)), new, old), state, initial)


def unroll(policy: nn.Module, observations: Tensor, state: State, starts: Tensor) -> tuple[Any, Tensor, State]:
    """Run a recurrent policy over segments: its own `forward_sequence`, or a loop over `forward`.

    observations: [horizon, rows, *shape]; starts: bool[horizon, rows]
    Returns (action parameters [horizon, rows, ...], values [horizon, rows], the state after the last step).
    """
    own: Any = getattr(policy, "forward_sequence", None)
    if own is not None:
        return own(observations, state, starts)  # type: ignore[no-any-return]
    initial = policy.initial_state(observations.shape[1])  # type: ignore[operator]
    parameters, values = [], []
    for step, start in zip(observations, starts, strict=True):
        step_parameters, value, state = policy(step, reset_state(state, start, initial))
        parameters.append(step_parameters)
        values.append(value.reshape(-1))
    stacked = map_state(lambda *steps: torch.stack(steps), *parameters)
    return stacked, torch.stack(values), state


class Recurrent(nn.Module):
    """Any encoder of encoders.py, a core of cores.py or attention.py, and heads."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], core: nn.Module, encoder: EncoderName,
        settings: EncoderSettings, log_std: LogStd, squash: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder, self.body = build_encoder(encoder, observation_space, settings)
        self.core = core
        self.heads = Heads(settings.hidden_size, action_space, log_std, squash)

    @property
    def distribution(self) -> Distribution:
        """What the action parameters mean."""
        return self.heads.distribution

    def initial_state(self, rows: int) -> State:
        """The state before an episode: zeros."""
        return self.core.initial_state(rows)  # type: ignore[operator]

    def forward(self, observations: Tensor, state: State) -> tuple[Any, Tensor, State]:
        """observations: [rows, *shape]. Returns (action parameters, value [rows], state)."""
        features, state = self.core.step(self.body(self.encoder(observations)), state)  # type: ignore[operator]
        parameters, value = self.heads(features)
        return parameters, value, state

    def forward_sequence(self, observations: Tensor, state: State, starts: Tensor) -> tuple[Any, Tensor, State]:
        """observations: [horizon, rows, *shape]; starts: bool[horizon, rows]. All steps' encoders and heads run at once."""
        horizon, rows = observations.shape[:2]
        encoded = self.body(self.encoder(observations.flatten(0, 1))).unflatten(0, (horizon, rows))
        features, state = self.core.sequence(encoded, state, starts)  # type: ignore[operator]
        parameters, value = self.heads(features)
        return parameters, value, state

    def update_statistics(self, observations: Tensor) -> None:
        """Take observations [n, *shape] into what inputs are standardised by. The trainer calls it between rollouts."""
        update_statistics(self.encoder, self.body, observations)


class LSTM(Recurrent):
    """A long short-term memory (Hochreiter and Schmidhuber 1997) on an encoder of `num_layers` hidden layers."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 1,
        encoder: EncoderName = "auto", encode: Encode = "scale", standardise: bool = True, cnn_width: int = 1,
        embedding_size: int = 16, entities: Sequence[Sequence[int]] | None = None, log_std: LogStd = "parameter",
        squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(
            hidden_size=hidden_size, num_layers=num_layers, encode=encode, standardise=standardise, cnn_width=cnn_width,
            embedding_size=embedding_size, entities=entities,
        )  # fmt: skip
        check_count("hidden_size", hidden_size)
        core = LSTMCore(hidden_size, hidden_size)
        super().__init__(observation_space, action_space, core, encoder, settings, log_std, squash)


class GRU(Recurrent):
    """A gated recurrent unit (Cho et al. 2014) on an encoder of `num_layers` hidden layers."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 1,
        encoder: EncoderName = "auto", encode: Encode = "scale", standardise: bool = True, cnn_width: int = 1,
        embedding_size: int = 16, entities: Sequence[Sequence[int]] | None = None, log_std: LogStd = "parameter",
        squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(
            hidden_size=hidden_size, num_layers=num_layers, encode=encode, standardise=standardise, cnn_width=cnn_width,
            embedding_size=embedding_size, entities=entities,
        )  # fmt: skip
        check_count("hidden_size", hidden_size)
        core = GRUCore(hidden_size, hidden_size)
        super().__init__(observation_space, action_space, core, encoder, settings, log_std, squash)


class MinGRU(Recurrent):
    """`core_layers` MinGRU layers (Feng et al. 2024) on an encoder of `num_layers` hidden layers."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 1,
        core_layers: int = 1, encoder: EncoderName = "auto", encode: Encode = "scale", standardise: bool = True,
        cnn_width: int = 1, embedding_size: int = 16, entities: Sequence[Sequence[int]] | None = None,
        log_std: LogStd = "parameter", squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(
            hidden_size=hidden_size, num_layers=num_layers, encode=encode, standardise=standardise, cnn_width=cnn_width,
            embedding_size=embedding_size, entities=entities,
        )  # fmt: skip
        check_count("hidden_size", hidden_size)
        core = MinGRUCore(hidden_size, core_layers)
        super().__init__(observation_space, action_space, core, encoder, settings, log_std, squash)


class Attention(Recurrent):
    """`core_layers` transformer blocks over the last `window` steps, see `AttentionCore`, on an encoder."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 1,
        core_layers: int = 1, num_heads: int = 4, window: int = 16, encoder: EncoderName = "auto", encode: Encode = "scale",
        standardise: bool = True, cnn_width: int = 1, embedding_size: int = 16, entities: Sequence[Sequence[int]] | None = None,
        log_std: LogStd = "parameter", squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(
            hidden_size=hidden_size, num_layers=num_layers, encode=encode, standardise=standardise, cnn_width=cnn_width,
            embedding_size=embedding_size, entities=entities,
        )  # fmt: skip
        check_count("hidden_size", hidden_size)
        core = AttentionCore(hidden_size, core_layers, num_heads, window)
        super().__init__(observation_space, action_space, core, encoder, settings, log_std, squash)
