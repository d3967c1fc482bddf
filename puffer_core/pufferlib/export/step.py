"""One step of a policy as a function of plain tensors, which is what every format stores."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError, ExportError
from pufferlib.policies.distributions import distribution_of

MOST_AGENTS = 64
"""The most rows that a policy may want to have a multiple of."""


class Step(nn.Module):
    """`forward(observations, *state)` gives a tuple: the action parameters, the value, and the next state.

    | input or output | shape |
    |---|---|
    | `observations` | [rows, *shape], in the env's dtype |
    | `state_0`, ... and `next_state_0`, ... | the tensors of a recurrent policy's state, [rows, ...] |
    | `logits`, Discrete | float32[rows, n] |
    | `logits_0`, ..., MultiDiscrete | float32[rows, n] each |
    | `mean`, `log_std`, Box | float32[rows, *shape] |
    | `value` | float32[rows] |
    """

    def __init__(
        self, policy: nn.Module, observation_space: spaces.Space[Any], action_space: spaces.Space[Any], env_name: str = ""
    ) -> None:
        super().__init__()
        self.policy, self.env_name = policy, env_name
        self.observation_space, self.action_space = copy.deepcopy(observation_space), action_space
        self.recurrent = hasattr(policy, "initial_state")
        self.rows = self._smallest_rows()
        """The number of rows must be a multiple of this; 1 but for policies that count the agents of an env."""
        with torch.no_grad():
            self._structure = policy.initial_state(self.rows) if self.recurrent else ()  # type: ignore[operator]
        states = range(len(leaves_of(self._structure)))
        self.input_names = ["observations", *(f"state_{i}" for i in states)]
        self.output_names = [*parameter_names(action_space), "value", *(f"next_state_{i}" for i in states)]

    def forward(self, observations: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        """One step of all rows."""
        if not self.recurrent:
            parameters, value = self.policy(observations)
            return (*leaves_of(parameters), value.reshape(-1))
        parameters, value, following = self.policy(observations, rebuilt(self._structure, list(state)))
        return (*leaves_of(parameters), value.reshape(-1), *leaves_of(following))

    def initial_state(self, rows: int) -> list[Tensor]:
        """The tensors of the state before an episode."""
        return leaves_of(self.policy.initial_state(rows)) if self.recurrent else []  # type: ignore[operator]

    def observations(self, rows: int, seed: int) -> Tensor:
        """Random members of the observation space [rows, *shape]."""
        self.observation_space.seed(seed)
        return torch.from_numpy(np.stack([self.observation_space.sample() for _ in range(rows)]))

    def example(self, rows: int) -> tuple[Tensor, ...]:
        """Inputs for `forward`."""
        return (self.observations(rows, 0), *self.initial_state(rows))

    def describe(self) -> dict[str, Any]:
        """Inputs, outputs, env and spaces, for the files' own records, as JSON."""
        inputs = dict(zip(self.input_names, self.example(self.rows), strict=True))
        outputs = dict(zip(self.output_names, self.forward(*inputs.values()), strict=True))
        return {
            "env": self.env_name,
            "policy": (getattr(self.policy, "spec", None) or [type(self.policy).__name__])[0],
            "inputs": [tensor_record(name, tensor) for name, tensor in inputs.items()],
            "outputs": [tensor_record(name, tensor) for name, tensor in outputs.items()],
            "action": describe_action(self.action_space, self.policy),
        }

    def _smallest_rows(self) -> int:
        for rows in range(1, MOST_AGENTS + 1) if self.recurrent else ():
            try:
                self.policy.initial_state(rows)  # type: ignore[operator]
            except ConfigError:
                continue
            return rows
        if self.recurrent:
            raise ExportError(f"{type(self.policy).__name__}.initial_state takes no number of rows up to {MOST_AGENTS}")
        return 1


def leaves_of(tree: Any) -> list[Tensor]:
    """The tensors of nested tuples or lists, in order."""
    return [tree] if isinstance(tree, Tensor) else [leaf for part in tree for leaf in leaves_of(part)]


def rebuilt(structure: Any, leaves: list[Tensor]) -> Any:
    """Undo `leaves_of`; takes the leaves away."""
    if isinstance(structure, Tensor):
        return leaves.pop(0)
    return tuple(rebuilt(part, leaves) for part in structure)


def parameter_names(space: spaces.Space[Any]) -> list[str]:
    """What the action parameters are called."""
    if isinstance(space, spaces.MultiDiscrete):
        return [f"logits_{i}" for i in range(space.nvec.size)]
    return ["mean", "log_std"] if isinstance(space, spaces.Box) else ["logits"]


def describe_action(space: spaces.Space[Any], policy: Any) -> dict[str, Any]:
    """The action space, as JSON. `squash`: a Box's raw action goes through tanh and is then scaled to low..high."""
    if isinstance(space, spaces.Discrete):
        return {"type": "discrete", "sizes": [int(space.n)]}
    if isinstance(space, spaces.MultiDiscrete):
        return {"type": "multi_discrete", "sizes": [int(n) for n in space.nvec.reshape(-1)]}
    assert isinstance(space, spaces.Box)
    squash = "Squashed" in type(distribution_of(policy, space)).__name__
    bounds = {name: [_number(x) for x in bound.reshape(-1)] for name, bound in (("low", space.low), ("high", space.high))}
    return {"type": "box", "shape": list(space.shape), **bounds, "squash": squash}


def tensor_record(name: str, tensor: Tensor) -> dict[str, Any]:
    """Name, dtype and the shape without the axis of rows."""
    return {"name": name, "dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape[1:])}


def _number(value: Any) -> float | None:
    """JSON has no infinity: no bound is null."""
    return float(value) if np.isfinite(value) else None
