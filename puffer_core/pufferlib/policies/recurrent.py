"""Policies that remember: an encoder, a recurrent core and heads.

A state is a tensor or a tuple of tensors whose first axis is the row. `starts` marks the steps that begin an episode: there
the state is set back to the initial one before the step is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.policies.layers import Heads, InputLinear, dense_stack
from pufferlib.policies.observations import ObservationEncoder

State = Any


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


class _Recurrent(nn.Module):
    """What the LSTM and the MinGRU policy share: the core is another."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], core: nn.Module, hidden_size: int, num_layers: int,
        encode: Literal["scale", "onehot"], standardise: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder = ObservationEncoder(observation_space, encode)
        self.body = dense_stack(self.encoder.width, hidden_size, num_layers, standardise=standardise and encode == "scale")
        self.core = core
        self.heads = Heads(hidden_size, action_space)

    def initial_state(self, rows: int) -> State:
        """Zeros."""
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
        if isinstance(self.body[0], InputLinear):
            self.body[0].update(self.encoder(observations))


class LSTM(_Recurrent):
    """Encoder of `num_layers` GELU layers, LSTM (Hochreiter and Schmidhuber 1997), heads."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 1,
        encode: Literal["scale", "onehot"] = "scale", standardise: bool = True,
    ) -> None:  # fmt: skip
        core = LSTMCore(hidden_size, hidden_size)
        super().__init__(observation_space, action_space, core, hidden_size, num_layers, encode, standardise)


class MinGRU(_Recurrent):
    """Encoder of `num_layers` GELU layers, `core_layers` MinGRU layers (Feng et al. 2024), heads."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 1,
        core_layers: int = 1, encode: Literal["scale", "onehot"] = "scale", standardise: bool = True,
    ) -> None:  # fmt: skip
        core = MinGRUCore(hidden_size, core_layers)
        super().__init__(observation_space, action_space, core, hidden_size, num_layers, encode, standardise)


class LSTMCore(nn.Module):
    """torch's LSTM, with rows as the state's first axis and resets inside a sequence."""

    def __init__(self, inputs: int, hidden_size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden_size)
        for name, parameter in self.lstm.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
            else:
                nn.init.orthogonal_(parameter)

    def initial_state(self, rows: int) -> State:
        zeros = torch.zeros(rows, self.lstm.hidden_size, device=next(self.parameters()).device)
        return zeros, zeros.clone()

    def step(self, features: Tensor, state: State) -> tuple[Tensor, State]:
        weights: Any = self.lstm
        hidden, cell = torch.lstm_cell(
            features, state, weights.weight_ih_l0, weights.weight_hh_l0, weights.bias_ih_l0, weights.bias_hh_l0
        )
        return hidden, (hidden, cell)

    def sequence(self, features: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]:
        """Cut where any row's episode begins; between two cuts torch's fused sequence kernel runs."""
        cuts = [0, *(starts[1:].any(1).nonzero().flatten() + 1).tolist(), len(features)]
        outputs = []
        for begin, end in itertools.pairwise(cuts):
            keep = (~starts[begin]).unsqueeze(1)
            hidden, cell = (part * keep for part in state)
            out, (hidden, cell) = self.lstm(features[begin:end], (hidden.unsqueeze(0), cell.unsqueeze(0)))
            outputs.append(out)
            state = hidden[0], cell[0]
        return torch.cat(outputs) if len(outputs) > 1 else outputs[0], state


class MinGRUCore(nn.Module):
    """h' = (1 - z) h + z g(x W), z = sigmoid(x Z): gates that read the input only, so all steps' products run at once.

    As in Feng et al. 2024 ("Were RNNs all we needed?", algorithm 3), g(x) = x + 0.5 for x >= 0, else sigmoid(x), which keeps
    states positive. On a CPU the loop over time is faster than the log-space scan. Layers after the first are residual.
    """

    def __init__(self, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.layers = nn.ModuleList(nn.Linear(hidden_size, 2 * hidden_size) for _ in range(num_layers))
        for layer in self.layers:
            nn.init.orthogonal_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def initial_state(self, rows: int) -> State:
        return torch.zeros(rows, len(self.layers), self.hidden_size, device=next(self.parameters()).device)

    def step(self, features: Tensor, state: State) -> tuple[Tensor, State]:
        new_states = []
        for index, layer in enumerate(self.layers):
            keep, add = _gates(layer, features)
            hidden = torch.addcmul(add, keep, state[:, index])
            new_states.append(hidden)
            features = features + hidden if index else hidden
        return features, torch.stack(new_states, 1)

    def sequence(self, features: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]:
        going_on = (~starts).unsqueeze(-1)
        new_states = []
        for index, layer in enumerate(self.layers):
            keep, add = _gates(layer, features)
            hidden, outputs = state[:, index], []
            for step_keep, step_add in zip((keep * going_on).unbind(0), add.unbind(0), strict=True):
                hidden = torch.addcmul(step_add, step_keep, hidden)
                outputs.append(hidden)
            new_states.append(hidden)
            stacked = torch.stack(outputs)
            features = features + stacked if index else stacked
        return features, torch.stack(new_states, 1)


def _gates(layer: nn.Module, features: Tensor) -> tuple[Tensor, Tensor]:
    """(1 - z, z g) of the update h' = (1 - z) h + z g."""
    gate, candidate = layer(features).chunk(2, -1)
    update = gate.sigmoid()
    positive = torch.where(candidate >= 0, candidate + 0.5, candidate.sigmoid())
    return 1 - update, update * positive
