"""The default policy: a feed-forward network."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces

from pufferlib.policies.distributions import LogStd
from pufferlib.policies.encoders import EncoderSettings
from pufferlib.policies.feed_forward import FeedForward
from pufferlib.policies.observations import Encode


class MLP(FeedForward):
    """`num_layers` GELU layers of `hidden_size`, shared by the action and the value head."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 2,
        encode: Encode = "scale", standardise: bool = True, log_std: LogStd = "parameter", squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(hidden_size=hidden_size, num_layers=num_layers, encode=encode, standardise=standardise)
        super().__init__(observation_space, action_space, "mlp", settings, log_std, squash)
