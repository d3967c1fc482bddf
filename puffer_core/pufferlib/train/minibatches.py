"""Cutting a rollout into minibatches.

Feed-forward policies learn from single steps: a shuffled pass takes every step that counts exactly once per epoch, the last
minibatch being smaller. Recurrent policies, and prioritised sampling, take whole segments (all steps of a row).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pufferlib.config.train_config import TrainConfig, spell
from pufferlib.errors import ConfigError
from pufferlib.policies.recurrent import map_state
from pufferlib.train.rollout import Rollout


class Minibatch(NamedTuple):
    """Samples [n, ...] in one axis; for recurrent policies observations and starts are [horizon, segments, ...]."""

    index: Tensor
    """Where the samples lie in the flattened [horizon, rows]."""
    observations: Tensor
    actions: Tensor
    action_masks: Tensor | None
    old_log_prob: Tensor
    old_value: Tensor
    advantage: Tensor
    target: Tensor
    weights: Tensor | None
    """float32[n]: 0 for steps that were not real, times the importance weight of prioritised sampling. None: all 1."""
    state: Any = None
    starts: Tensor | None = None


def check_minibatch_size(config: TrainConfig, num_agents: int, segments: bool) -> None:
    """Raise ConfigError where a minibatch would cut segments that must stay whole."""
    size, horizon = config.minibatch_size, config.horizon
    if not segments or size >= horizon * num_agents or size % horizon == 0:
        return
    below = size // horizon * horizon
    near = [str(value) for value in (below, below + horizon) if value]
    raise ConfigError(
        f"{spell('minibatch_size')}={size} would cut segments: with a recurrent policy or prioritised sampling it must be a multiple "
        f"of horizon={horizon} or at least the whole batch of {horizon * num_agents}; nearest: {', '.join(near)}"
    )


class Minibatches:
    """One rollout's minibatches. `valid`: bool[horizon, rows], the samples that count."""

    def __init__(self, rollout: Rollout, valid: Tensor, config: TrainConfig, generator: torch.Generator) -> None:
        self.rollout, self.valid, self.config, self.generator = rollout, valid, config, generator
        self.all_valid = bool(valid.all())
        horizon = rollout.horizon
        self.observations = rollout.observations[:horizon]
        self.action_masks = None if rollout.action_masks is None else rollout.action_masks[:horizon]

    def epoch(self, advantage: Tensor, target: Tensor, beta: float) -> Iterator[Minibatch]:
        """advantage, target: float32[horizon, rows]; beta: exponent of the importance weights of prioritised sampling."""
        rollout = self.rollout
        numbers = torch.stack([rollout.log_probs, rollout.values[:-1], advantage, target], -1).flatten(0, 1)
        if self.config.prio_alpha:
            yield from self._prioritised(numbers, advantage, beta)
        elif rollout.recurrent:
            real = self.valid.any(0).nonzero().flatten()
            order = real[torch.randperm(len(real), generator=self.generator, device=real.device)]
            for rows in order.split(max(1, self.config.minibatch_size // rollout.horizon)):
                yield self._segments(rows, numbers, None)
        else:
            yield from self._steps(numbers)

    def _steps(self, numbers: Tensor) -> Iterator[Minibatch]:
        order = torch.randperm(len(numbers), generator=self.generator, device=numbers.device)
        if not self.all_valid:
            order = order[self.valid.flatten()[order]]
        observations, actions = self.observations.flatten(0, 1), self.rollout.actions.flatten(0, 1)
        masks = None if self.action_masks is None else self.action_masks.flatten(0, 1)
        for index in order.split(self.config.minibatch_size):
            yield Minibatch(
                index, observations.index_select(0, index), actions.index_select(0, index),
                None if masks is None else masks.index_select(0, index), *numbers.index_select(0, index).unbind(-1), None,
            )  # fmt: skip

    def _prioritised(self, numbers: Tensor, advantage: Tensor, beta: float) -> Iterator[Minibatch]:
        """Segments drawn with P ~ (mean |advantage|) ** alpha; weights (N P) ** -beta (Schaul et al. 2016, eq. 1 and 3.4)."""
        counted = self.valid.float()
        priority = (advantage.abs() * counted).sum(0) / counted.sum(0).clamp(min=1)
        chance = torch.where(self.valid.any(0), (priority + 1e-6) ** self.config.prio_alpha, torch.zeros_like(priority))
        number = int(torch.count_nonzero(chance))
        if not number:
            return
        chance = chance / chance.sum()
        per_batch = max(1, self.config.minibatch_size // self.rollout.horizon)
        drawn = torch.multinomial(chance, number, replacement=True, generator=self.generator)
        for rows in drawn.split(per_batch):
            yield self._segments(rows, numbers, (number * chance[rows]) ** -beta)

    def _segments(self, rows: Tensor, numbers: Tensor, importance: Tensor | None) -> Minibatch:
        rollout = self.rollout
        horizon, all_rows = self.valid.shape
        index = (torch.arange(horizon, device=rows.device).unsqueeze(1) * all_rows + rows).flatten()
        observations = self.observations.index_select(1, rows)
        masks = None if self.action_masks is None else self.action_masks.index_select(1, rows).flatten(0, 1)
        weights = None if self.all_valid else self.valid.flatten()[index].float()
        if importance is not None:
            weights = importance.repeat(horizon) if weights is None else weights * importance.repeat(horizon)
        state = map_state(lambda part: part[rows], rollout.segment_state) if rollout.recurrent else None
        return Minibatch(
            index, observations if rollout.recurrent else observations.flatten(0, 1), rollout.actions.index_select(1, rows).flatten(0, 1),
            masks, *numbers.index_select(0, index).unbind(-1), weights, state, rollout.starts[:horizon].index_select(1, rows),
        )  # fmt: skip
