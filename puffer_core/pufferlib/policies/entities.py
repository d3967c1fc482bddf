"""An encoder for observations that hold sets: the nearest cars, the cards of a hand, the points of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies.layers import InputLinear, check_count, dense_stack, is_exporting, layer_init
from pufferlib.policies.observations import ObservationEncoder

LEAST_SIZE = 8
"""Features of an entity, however small the hidden layers are."""
ROWS_AT_ONCE = 1024
"""Of a CPU: what a minibatch makes of every entity does not fit its caches, and learning took twice as long."""


@dataclass(frozen=True, order=True)
class EntitySet:
    """Where a set stands in a flat row: `count` entities of `size` numbers each, the first of them at number `first`."""

    first: int
    count: int
    size: int

    @property
    def end(self) -> int:
        """The number after its last one."""
        return self.first + self.count * self.size


class EntityEncoder(nn.Module):
    """Observations [rows, *shape] to float32 [rows, width]: a network that all entities of a set share, and their maximum.

    Deep Sets (Zaheer et al. 2017) with PointNet's maximum (Qi et al. 2017), so it does not matter in which order entities stand,
    and what is learnt of one holds for all. Their network, two layers of hidden_size / 8, also reads what the hidden layer over
    all other numbers makes of these: a car is judged by where oneself is heading. An entity whose numbers are all 0 is none.

    entities: [first, count, size] of each set, in numbers of the flat row as `mlp` reads it. None: every Box of two axes,
        [count, size], whether the space is that or has it as a part.
    """

    def __init__(
        self, space: spaces.Box, hidden_size: int, *, entities: Sequence[Sequence[int]] | None = None, standardise: bool = True
    ) -> None:
        super().__init__()
        check_count("hidden_size", hidden_size)
        self.flat = ObservationEncoder(space)
        self.sets = box_sets(self.flat) if entities is None else given_sets(entities, self.flat.width)
        if not self.sets:
            raise SpaceError(
                f"policy 'entities' finds no Box of two axes in {self.flat.structure.space}; "
                "say where sets stand: entities=[[first, count, size], ...]"
            )
        is_other = torch.ones(self.flat.width, dtype=torch.bool)
        for each in self.sets:
            is_other[each.first : each.end] = False
        self.others: Tensor
        self.register_buffer("others", is_other.nonzero().flatten(), persistent=False)
        self.base: Any = dense_stack(len(self.others), hidden_size, 1, standardise=standardise) if len(self.others) else None
        base_size, entity_size = (hidden_size if self.base else 0), max(hidden_size // 8, LEAST_SIZE)
        self.networks: Any = nn.ModuleList(SetNetwork(s, base_size, entity_size, standardise) for s in self.sets)
        self.width = base_size + entity_size * len(self.sets)
        self.standardises = standardise

    def forward(self, observations: Tensor) -> Tensor:
        if observations.device.type != "cpu" or is_exporting():
            return self._features(observations)
        return torch.cat([self._features(part) for part in torch.split(observations, ROWS_AT_ONCE)])

    def _features(self, observations: Tensor) -> Tensor:
        flat = self.flat(observations)
        base = self.base(flat[:, self.others]) if self.base is not None else None
        features = [network(flat, base) for network in self.networks]
        return torch.cat(features if base is None else [base, *features], 1)

    def update(self, observations: Tensor) -> None:
        """Take observations [n, *shape] into the statistics of the entities' numbers, and of the others."""
        if not self.standardises:
            return
        flat = self.flat(observations)
        if self.base is not None:
            self.base[0].update(flat[:, self.others])
        for network in self.networks:
            entities, is_there = network.entities(flat)
            network.first.update(entities[is_there])


class SetNetwork(nn.Module):
    """float32 [rows, entity_size] of one set: 0 where it is empty."""

    def __init__(self, where: EntitySet, base_size: int, entity_size: int, standardise: bool) -> None:
        super().__init__()
        self.where = where
        self.first = layer_init((InputLinear if standardise else nn.Linear)(where.size, entity_size))
        self.context = layer_init(nn.Linear(base_size, entity_size, bias=False)) if base_size else None
        self.second = layer_init(nn.Linear(entity_size, entity_size))

    def forward(self, flat: Tensor, base: Tensor | None) -> Tensor:
        entities, is_there = self.entities(flat)
        hidden = self.first(entities)
        if base is not None and self.context is not None:
            hidden = hidden + self.context(base).unsqueeze(1)
        features = torch.relu(self.second(torch.relu(hidden)))
        return (features * is_there.unsqueeze(2)).amax(1)

    def entities(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """(float32[rows, count, size], bool[rows, count]: which of them there are)"""
        entities = flat[:, self.where.first : self.where.end].reshape(-1, self.where.count, self.where.size)
        return entities, (entities != 0).any(2)


def box_sets(encoder: ObservationEncoder) -> tuple[EntitySet, ...]:
    """The Boxes of two axes of what `encoder` flattens."""
    found, first = [], 0
    for leaf, width in encoder.leaf_widths:
        if isinstance(leaf.space, spaces.Box) and len(leaf.shape) == 2:
            found.append(EntitySet(first, *leaf.shape))
        first += width
    return tuple(found)


def given_sets(entities: Sequence[Sequence[int]], width: int) -> tuple[EntitySet, ...]:
    """The setting `entities` of rows of `width` numbers. Raises ConfigError unless its sets lie in them side by side."""
    if not isinstance(entities, Sequence) or not all(isinstance(e, Sequence) and len(e) == 3 for e in entities) or not entities:
        raise ConfigError(f"entities must be a list of [first, count, size], got {entities!r}")
    sets = tuple(EntitySet(*each) for each in entities)
    for index, each in enumerate(sets):
        check_count(f"entities[{index}], first", each.first, 0)
        check_count(f"entities[{index}], count", each.count)
        check_count(f"entities[{index}], size", each.size)
        if each.end > width:
            raise ConfigError(f"entities[{index}]={list(astuple(each))} ends at {each.end}; rows have {width} numbers")
    for one, other in pairwise(sorted(sets)):
        if one.end > other.first:
            raise ConfigError(f"entities={entities}: {list(astuple(one))} and {list(astuple(other))} overlap")
    return sets
