"""Memories between an encoder and the heads: LSTM, GRU and MinGRU (attention.py has another).

A core has `initial_state(rows)`, `step(features [rows, n], state) -> (features, state)` and `sequence(features [horizon, rows,
n], state, starts bool[horizon, rows]) -> (features, state)`, which gives what `step` gives in a loop that sets the state back
to the initial one wherever `starts` is set. A state is a tensor or a tuple of tensors whose first axis is the row.
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from pufferlib.policies.layers import check_count, is_exporting

State = Any

CELL_ROWS = 16
"""On a CPU torch's LSTM cell is faster than its LSTM for a single step of up to so many rows (benchmarks/policies.py)."""


class Core(Protocol):
    """What is told above."""

    def initial_state(self, rows: int) -> State: ...

    def step(self, features: Tensor, state: State) -> tuple[Tensor, State]: ...

    def sequence(self, features: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]: ...


class LSTMCore(nn.Module):
    """Long short-term memory (Hochreiter and Schmidhuber 1997). The state is (hidden, cell), each [rows, hidden_size]."""

    def __init__(self, inputs: int, hidden_size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden_size)
        init_orthogonal(self.lstm)

    def initial_state(self, rows: int) -> State:
        """Zeros."""
        zeros = torch.zeros(rows, self.lstm.hidden_size, device=next(self.parameters()).device)
        return zeros, zeros.clone()

    def step(self, features: Tensor, state: State) -> tuple[Tensor, State]:
        weights: Any = self.lstm
        parts = weights.weight_ih_l0, weights.weight_hh_l0, weights.bias_ih_l0, weights.bias_hh_l0
        hidden, cell = state
        if is_exporting() or features.device.type != "cpu" or len(features) <= CELL_ROWS:
            hidden, cell = torch.lstm_cell(features, (hidden, cell), *parts)
        else:  # what nn.LSTM calls after its checks, which take longer than the arithmetic of a few rows
            before = hidden.unsqueeze(0), cell.unsqueeze(0)
            _, hidden, cell = torch.lstm(features.unsqueeze(0), before, parts, True, 1, 0.0, False, False, False)
            hidden, cell = hidden[0], cell[0]
        return hidden, (hidden, cell)

    def sequence(self, features: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]:
        """Cut where any row's episode begins; between two cuts torch's fused sequence kernel runs."""
        outputs = []
        for begin, end in pieces(starts):
            keep = (~starts[begin]).unsqueeze(1)
            hidden, cell = (part * keep for part in state)
            out, (hidden, cell) = self.lstm(features[begin:end], (hidden.unsqueeze(0), cell.unsqueeze(0)))
            outputs.append(out)
            state = hidden[0], cell[0]
        return torch.cat(outputs) if len(outputs) > 1 else outputs[0], state


class GRUCore(nn.Module):
    """Gated recurrent unit (Cho et al. 2014). The state is [rows, hidden_size]."""

    def __init__(self, inputs: int, hidden_size: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden_size)
        init_orthogonal(self.gru)

    def initial_state(self, rows: int) -> State:
        """Zeros."""
        return torch.zeros(rows, self.gru.hidden_size, device=next(self.parameters()).device)

    def step(self, features: Tensor, state: State) -> tuple[Tensor, State]:
        weights: Any = self.gru
        hidden = torch.gru_cell(
            features, state, weights.weight_ih_l0, weights.weight_hh_l0, weights.bias_ih_l0, weights.bias_hh_l0
        )
        return hidden, hidden

    def sequence(self, features: Tensor, state: State, starts: Tensor) -> tuple[Tensor, State]:
        """Cut where any row's episode begins, as the LSTM's."""
        outputs = []
        for begin, end in pieces(starts):
            out, state = self.gru(features[begin:end], (state * (~starts[begin]).unsqueeze(1)).unsqueeze(0))
            outputs.append(out)
            state = state[0]
        return torch.cat(outputs) if len(outputs) > 1 else outputs[0], state


class MinGRUCore(nn.Module):
    """h' = (1 - z) h + z g(x W), z = sigmoid(x Z): gates that read the input only, so all steps' products run at once.

    As in Feng et al. 2024 ("Were RNNs all we needed?", algorithm 3), g(x) = x + 0.5 for x >= 0, else sigmoid(x), which keeps
    states positive. Layers after the first are residual. The state is [rows, num_layers, hidden_size].
    """

    def __init__(self, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__()
        check_count("core_layers", num_layers)
        self.hidden_size = hidden_size
        self.layers = nn.ModuleList(nn.Linear(hidden_size, 2 * hidden_size) for _ in range(num_layers))
        for layer in self.layers:
            nn.init.orthogonal_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def initial_state(self, rows: int) -> State:
        """Zeros."""
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
        """A reset is a gate that keeps nothing, so no sequence has to be cut."""
        going_on = (~starts).unsqueeze(-1)
        new_states = []
        for index, layer in enumerate(self.layers):
            keep, add = _gates(layer, features)
            hidden = linear_recurrence(keep * going_on, add, state[:, index])
            new_states.append(hidden[-1])
            features = features + hidden if index else hidden
        return features, torch.stack(new_states, 1)


def linear_recurrence(keep: Tensor, add: Tensor, initial: Tensor) -> Tensor:
    """h[t] = keep[t] h[t - 1] + add[t] with h[-1] = `initial`, and its gradients.

    keep, add: float[horizon, rows, n]; initial: float[rows, n], whose dtype the sums have. Returns that[horizon, rows, n].
    On a CPU it is a loop over time, which reads each number once; elsewhere a scan of log2(horizon) passes, because there the
    number of kernels counts. Numbers are never taken to logarithms, so gates of 0 are exact.
    """
    return _LinearRecurrence.apply(keep.to(initial.dtype), add.to(initial.dtype), initial)  # type: ignore[no-untyped-call, no-any-return]


class _LinearRecurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, keep: Tensor, add: Tensor, initial: Tensor) -> Tensor:
        hidden = _solve(keep, add, initial)
        ctx.save_for_backward(keep, hidden, initial)
        return hidden

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The same recurrence, backwards in time: d[t] = gradient[t] + keep[t + 1] d[t + 1]."""
        keep, hidden, initial = ctx.saved_tensors
        nothing = torch.zeros_like(initial)
        later = torch.cat([keep[1:], nothing.unsqueeze(0)])
        d_add = _solve(later, gradient, nothing, backwards=True)
        before = torch.cat([initial.unsqueeze(0), hidden[:-1]])
        return d_add * before, d_add, keep[0] * d_add[0]


def _solve(keep: Tensor, add: Tensor, initial: Tensor, backwards: bool = False) -> Tensor:
    return (loop_over_time if keep.device.type == "cpu" else scan_over_time)(keep, add, initial, backwards)


def loop_over_time(keep: Tensor, add: Tensor, initial: Tensor, backwards: bool = False) -> Tensor:
    """One step after another. backwards: from the last step to the first, `initial` being what comes after the last."""
    out = torch.empty_like(add)
    steps = list(zip(out.unbind(0), keep.unbind(0), add.unbind(0), strict=True))
    hidden = initial
    for target, step_keep, step_add in reversed(steps) if backwards else steps:
        hidden = torch.addcmul(step_add, step_keep, hidden, out=target)
    return out


def scan_over_time(keep: Tensor, add: Tensor, initial: Tensor, backwards: bool = False) -> Tensor:
    """The same by doubling (Hillis and Steele 1986): after pass k each step holds what its last 2^k steps do together."""
    if backwards:
        return scan_over_time(keep.flip(0), add.flip(0), initial).flip(0)
    add = torch.cat([torch.addcmul(add[:1], keep[:1], initial.unsqueeze(0)), add[1:]])
    distance = 1
    while distance < len(add):
        add = torch.cat([add[:distance], torch.addcmul(add[distance:], keep[distance:], add[:-distance])])
        keep = torch.cat([keep[:distance], keep[distance:] * keep[:-distance]])
        distance *= 2
    return add


def pieces(starts: Tensor) -> list[tuple[int, int]]:
    """(begin, end) of the longest stretches in which no row's episode begins but at their first step. starts: [horizon, rows]"""
    cuts = [0, *(starts[1:].any(1).nonzero().flatten() + 1).tolist(), len(starts)]
    return list(itertools.pairwise(cuts))


def init_orthogonal(module: nn.Module) -> None:
    """Orthogonal matrices, zero biases."""
    for name, parameter in module.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            nn.init.orthogonal_(parameter)


def _gates(layer: nn.Module, features: Tensor) -> tuple[Tensor, Tensor]:
    """(1 - z, z g) of the update h' = (1 - z) h + z g."""
    gate, candidate = layer(features).chunk(2, -1)
    update = gate.sigmoid()
    positive = torch.where(candidate >= 0, candidate + 0.5, candidate.sigmoid())
    return 1 - update, update * positive
