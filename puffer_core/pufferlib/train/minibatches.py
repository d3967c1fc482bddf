"""Cutting a rollout into minibatches.

Feed-forward policies learn from single steps: a shuffled pass takes every step that counts exactly once per epoch, the last
minibatch being smaller. Recurrent policies, and prioritised sampling, take whole segments (all steps of a row).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pufferlib.config.train_config import TrainConfig, spell
from pufferlib.errors import ConfigError
from pufferlib.policies.recurrent import map_state
from pufferlib.train.rollout import Rollout

MAX_BLOCK = 8
MIN_BLOCKS = 512


class Minibatch(NamedTuple):
    """Samples [n, ...] in one axis; for recurrent policies observations and starts are [horizon, segments, ...]."""

    samples: Tensor
    """Where they lie in the flattened [horizon, rows]."""
    observations: Tensor
    """Of the samples; or all of the rollout, [horizon * rows, *shape], for a learner that looks them up itself."""
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
        f"{spell('minibatch_size')}={size} would cut segments: with a recurrent policy or prioritised sampling it must be a "
        f"multiple of horizon={horizon} or at least the whole batch of {horizon * num_agents}; nearest: {', '.join(near)}"
    )


class Minibatches:
    """One rollout's minibatches. `valid`: bool[horizon, rows], the samples that count.

    gather_observations: False for a learner that looks them up itself
    """

    def __init__(
        self, rollout: Rollout, valid: Tensor, config: TrainConfig, generator: torch.Generator, gather_observations: bool = True
    ) -> None:
        self.gather_observations = gather_observations
        self.rollout, self.valid, self.config, self.generator = rollout, valid, config, generator
        self.all_valid = bool(valid.all())
        horizon = rollout.horizon
        self.observations = rollout.observations[:horizon]
        self.all_observations = self.observations.flatten(0, 1)
        self.action_masks = None if rollout.action_masks is None else rollout.action_masks[:horizon]
        self.per_batch = max(1, config.minibatch_size // horizon)
        """Segments of one minibatch."""

    @property
    def steps(self) -> int:
        """How many samples count."""
        return self.valid.numel() if self.all_valid else int(self.valid.sum())

    @property
    def count(self) -> int:
        """How many minibatches an epoch has."""
        size, (horizon, rows) = self.config.minibatch_size, self.valid.shape
        if self.rollout.recurrent or self.config.prio_alpha:
            return math.ceil(int(self.valid.any(0).sum()) / self.per_batch)
        block = block_size(horizon * rows, rows, size) if self.all_valid else 1
        return math.ceil(self.steps / block / max(1, size // block))

    def epoch(self, advantage: Tensor, target: Tensor, beta: float) -> Iterator[Minibatch]:
        """advantage, target: float32[horizon, rows]; beta: exponent of the importance weights of prioritised sampling."""
        rollout = self.rollout
        numbers = torch.stack([rollout.log_probs, rollout.values[:-1], advantage, target], -1).flatten(0, 1)
        if self.config.prio_alpha:
            yield from self._prioritised(numbers, advantage, beta)
        elif rollout.recurrent:
            real = self.valid.any(0).nonzero().flatten()
            order = real[torch.randperm(len(real), generator=self.generator, device=real.device)]
            for rows in torch.split(order, self.per_batch) if len(order) else ():
                yield self._segments(rows, numbers, None)
        else:
            yield from self._steps(numbers)

    def _steps(self, numbers: Tensor) -> Iterator[Minibatch]:
        block = block_size(numbers.shape[0], self.valid.shape[1], self.config.minibatch_size) if self.all_valid else 1
        arrays = [self.rollout.actions, *(a for a in (self.action_masks,) if a is not None)]
        if self.gather_observations:
            arrays.append(self.observations)
        blocks = [array.reshape(-1, block, *array.shape[2:]) for array in arrays]  # views: one axis cut in two
        number_blocks = numbers.reshape(-1, block, 4)
        order = torch.randperm(len(number_blocks), generator=self.generator, device=numbers.device)
        if not self.all_valid:
            order = order[self.valid.flatten()[order]]
            if not len(order):
                return
        within = torch.arange(block, device=order.device)
        for chosen in torch.split(order, max(1, self.config.minibatch_size // block)):
            gathered = [array.index_select(0, chosen).flatten(0, 1) for array in blocks]
            observations = gathered.pop() if self.gather_observations else self.all_observations
            log_prob, value, advantage, target = number_blocks.index_select(0, chosen).flatten(0, 1).unbind(-1)
            samples = (chosen.unsqueeze(1) * block + within).flatten()
            actions, mask = gathered[0], gathered[1] if len(gathered) > 1 else None
            yield Minibatch(samples, observations, actions, mask, log_prob, value, advantage, target, None)

    def _prioritised(self, numbers: Tensor, advantage: Tensor, beta: float) -> Iterator[Minibatch]:
        """Segments drawn with P ~ (mean |advantage|) ** alpha; weights (N P) ** -beta (Schaul et al. 2016, eq. 1 and 3.4).

        The losses divide by the sum of the weights, so only their proportions matter.
        """
        counted = self.valid.float()
        priority = (advantage.abs() * counted).sum(0) / counted.sum(0).clamp(min=1)
        chance = torch.where(self.valid.any(0), (priority + 1e-6) ** self.config.prio_alpha, torch.zeros_like(priority))
        number = int(torch.count_nonzero(chance))
        if not number:
            return
        chance = chance / chance.sum()
        drawn = torch.multinomial(chance, number, replacement=True, generator=self.generator)
        for rows in torch.split(drawn, self.per_batch):
            yield self._segments(rows, numbers, (number * chance[rows]) ** -beta)

    def _segments(self, rows: Tensor, numbers: Tensor, importance: Tensor | None) -> Minibatch:
        rollout = self.rollout
        horizon, all_rows = self.valid.shape
        samples = (torch.arange(horizon, device=rows.device).unsqueeze(1) * all_rows + rows).flatten()
        actions = rollout.actions.index_select(1, rows).flatten(0, 1)
        masks = None if self.action_masks is None else self.action_masks.index_select(1, rows).flatten(0, 1)
        weights = None if self.all_valid else self.valid.flatten()[samples].float()
        if importance is not None:
            weights = importance.repeat(horizon) if weights is None else weights * importance.repeat(horizon)
        log_prob, value, advantage, target = numbers.index_select(0, samples).unbind(-1)
        observations = self.observations.index_select(1, rows) if self.gather_observations else self.all_observations
        if not rollout.recurrent:
            if self.gather_observations:
                observations = observations.flatten(0, 1)
            return Minibatch(samples, observations, actions, masks, log_prob, value, advantage, target, weights)
        state = map_state(lambda part: part[rows], rollout.segment_state)
        starts = rollout.starts[:horizon].index_select(1, rows)
        return Minibatch(samples, observations, actions, masks, log_prob, value, advantage, target, weights, state, starts)


def block_size(samples: int, rows: int, minibatch_size: int) -> int:
    """How many neighbouring rows of one step stay together in a shuffled pass: 1, or up to MAX_BLOCK where minibatches are big.

    Copying a few rows at once doubles the speed of gathering observations. A minibatch still holds at least MIN_BLOCKS
    blocks drawn from all steps, and every sample is in exactly one block.
    """
    size = min(samples, minibatch_size)
    block = MAX_BLOCK
    while block > 1 and (rows % block or size % block or size // block < MIN_BLOCKS):
        block //= 2
    return block
