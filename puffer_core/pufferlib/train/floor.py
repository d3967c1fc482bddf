"""The floor under a training step: the same network in a bare PyTorch loop, with nothing around it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pufferlib.policies.recurrent import unroll


class BareLoop:
    """No env, no sampling, no advantages and no losses but a sum of squares.

    Per rollout: `horizon` forwards of all rows, then one forward, backward and step of Adam per minibatch and epoch.

    policy: it is trained on nonsense. observations: [horizon, rows, *shape], on the policy's device
    minibatch_size: in steps; a recurrent policy learns from minibatch_size // horizon whole segments at a time
    """

    def __init__(self, policy: nn.Module, observations: Tensor, minibatch_size: int, update_epochs: int = 1) -> None:
        self.policy, self.observations = policy, observations
        self.minibatch_size, self.update_epochs = minibatch_size, update_epochs
        self.recurrent = hasattr(policy, "initial_state")
        fused = observations.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(policy.parameters(), fused=fused)
        self.starts = torch.zeros(observations.shape[:2], dtype=torch.bool, device=observations.device)

    def run(self) -> None:
        """One rollout and its updates."""
        with torch.inference_mode():
            self._act()
        for _ in range(self.update_epochs):
            for parameters, value in self._segments() if self.recurrent else self._steps():
                parts = [parameters] if isinstance(parameters, Tensor) else parameters
                loss = value.square().mean() + sum(part.square().mean() for part in parts)
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.optimizer.step()

    def _act(self) -> None:
        if not self.recurrent:
            for slot in self.observations:
                self.policy(slot)
            return
        state = self.policy.initial_state(self.observations.shape[1])  # type: ignore[operator]
        for slot in self.observations:
            _, _, state = self.policy(slot, state)

    def _steps(self) -> Any:
        for batch in torch.split(self.observations.flatten(0, 1), self.minibatch_size):
            yield self.policy(batch)

    def _segments(self) -> Any:
        horizon, rows = self.observations.shape[:2]
        for chosen in torch.split(torch.arange(rows, device=self.observations.device), max(1, self.minibatch_size // horizon)):
            state = self.policy.initial_state(rows)  # type: ignore[operator]
            own = _rows_of(state, chosen)
            parameters, value, _ = unroll(self.policy, self.observations[:, chosen], own, self.starts[:, chosen])
            yield parameters, value


def _rows_of(state: Any, rows: Tensor) -> Any:
    return state[rows] if isinstance(state, Tensor) else tuple(_rows_of(part, rows) for part in state)
