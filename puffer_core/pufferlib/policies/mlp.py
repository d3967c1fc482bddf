"""The default policy: a feed-forward network."""

from __future__ import annotations

from typing import Any, Literal

from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.policies.layers import Heads, InputLinear, dense_stack
from pufferlib.policies.observations import ObservationEncoder


class MLP(nn.Module):
    """`num_layers` GELU layers of `hidden_size`, shared by the action and the value head."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 2,
        encode: Literal["scale", "onehot"] = "scale", standardise: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder = ObservationEncoder(observation_space, encode)
        self.body = dense_stack(self.encoder.width, hidden_size, num_layers, standardise=standardise and encode == "scale")
        self.heads = Heads(hidden_size, action_space)

    def forward(self, observations: Tensor) -> tuple[Any, Tensor]:
        """observations: [rows, *shape]. Returns (action parameters, value [rows])."""
        return self.heads(self.body(self.encoder(observations)))  # type: ignore[no-any-return]

    def update_statistics(self, observations: Tensor) -> None:
        """Take observations [n, *shape] into what inputs are standardised by. The trainer calls it between rollouts."""
        if isinstance(self.body[0], InputLinear):
            self.body[0].update(self.encoder(observations))
