"""An encoder for each part of a structured observation, chosen from the part's space."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError
from pufferlib.policies.images import ImageEncoder, impala_stack, is_image
from pufferlib.policies.layers import check_count, dense_stack
from pufferlib.policies.observations import ScaleLeaf, leaf_scale
from pufferlib.structure import Leaf, structure_of

MAX_CODES = 1_000_000
"""An embedding table with more rows than this is surely a mistake."""


class MultiInputEncoder(nn.Module):
    """Observations [rows, *shape] of a structured space to float32 [rows, width], the parts' features side by side.

    | part | encoder | features |
    |---|---|---|
    | image: a Box of three axes, both sides at least 7 | IMPALA's convolutions | hidden_size |
    | Discrete | an embedding | embedding_size |
    | MultiDiscrete | an embedding for each choice | embedding_size times the choices |
    | all numbers of the other parts (Box, MultiBinary) together | a standardising linear layer, GELU | hidden_size |

    Parts without numbers are left out.
    """

    def __init__(
        self, space: spaces.Box, hidden_size: int, *, embedding_size: int = 16, cnn_width: int = 1, standardise: bool = True
    ) -> None:
        super().__init__()
        check_count("embedding_size", embedding_size)
        self.structure = structure_of(space)
        leaves = [leaf for leaf in self.structure.leaves if leaf.size]
        self.images: Any = nn.ModuleList(_Image(leaf, hidden_size, cnn_width) for leaf in leaves if is_image(leaf.space))
        self.choices: Any = nn.ModuleList(_Embedding(leaf, embedding_size) for leaf in leaves if leaf.is_choice)
        rest = [leaf for leaf in leaves if not leaf.is_choice and not is_image(leaf.space)]
        self.numbers: Any = nn.ModuleList(ScaleLeaf(leaf, leaf.size, leaf_scale(leaf)) for leaf in rest)
        count = sum(leaf.size for leaf in rest)
        self.vector = dense_stack(count, hidden_size, 1, standardise=standardise) if count else None
        self.width = sum(part.width for part in [*self.images, *self.choices]) + (hidden_size if count else 0)
        self.standardises = standardise and count > 0

    def forward(self, observations: Tensor) -> Tensor:
        features = [part(self.structure.stored(observations, part.leaf)) for part in [*self.images, *self.choices]]
        if self.vector is not None:
            features.append(self.vector(self._numbers(observations)))
        return torch.cat(features, 1)

    def update(self, observations: Tensor) -> None:
        """Take observations [n, *shape] into the statistics of the numbers."""
        if self.vector is not None and self.standardises:
            self.vector[0].update(self._numbers(observations))  # type: ignore[operator]

    def _numbers(self, observations: Tensor) -> Tensor:
        return torch.cat([part(self.structure.stored(observations, part.leaf)) for part in self.numbers], 1)


class _Image(nn.Module):
    def __init__(self, leaf: Leaf, hidden_size: int, cnn_width: int) -> None:
        super().__init__()
        self.leaf, self.width = leaf, hidden_size
        self.encoder = ImageEncoder(leaf.space)  # type: ignore[arg-type]
        self.body = impala_stack(self.encoder.layout, hidden_size, 1, cnn_width)

    def forward(self, values: Tensor) -> Tensor:
        return self.body(self.encoder(values))  # type: ignore[no-any-return]


class _Embedding(nn.Module):
    """One table for all choices of a part, each with its own range of rows."""

    def __init__(self, leaf: Leaf, embedding_size: int) -> None:
        super().__init__()
        sizes = leaf.high.reshape(-1).astype(np.int64) + 1
        if sizes.sum() > MAX_CODES:
            raise ConfigError(f"an embedding of {leaf.space} would have {sizes.sum()} rows; at most {MAX_CODES} go")
        self.leaf, self.width = leaf, leaf.size * embedding_size
        self.table = nn.Embedding(int(sizes.sum()), embedding_size)
        self.first: Tensor
        self.register_buffer("first", torch.as_tensor(np.cumsum(sizes) - sizes), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        codes = values.reshape(values.shape[0], -1).long() + self.first
        return self.table(codes).flatten(1)  # type: ignore[no-any-return]
