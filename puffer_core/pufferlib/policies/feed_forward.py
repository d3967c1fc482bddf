"""Policies without a memory: an encoder, hidden layers and heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.policies.distributions import Distribution, LogStd
from pufferlib.policies.encoders import EncoderName, EncoderSettings, build_encoder, update_statistics
from pufferlib.policies.layers import Heads
from pufferlib.policies.observations import Encode


class FeedForward(nn.Module):
    """Any encoder of encoders.py under the heads."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], encoder: EncoderName, settings: EncoderSettings,
        log_std: LogStd, squash: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder, self.body = build_encoder(encoder, observation_space, settings)
        self.heads = Heads(settings.hidden_size, action_space, log_std, squash)

    @property
    def distribution(self) -> Distribution:
        """What the action parameters mean."""
        return self.heads.distribution

    def forward(self, observations: Tensor) -> tuple[Any, Tensor]:
        """observations: [rows, *shape]. Returns (action parameters, value [rows])."""
        return self.heads(self.body(self.encoder(observations)))  # type: ignore[no-any-return]

    def update_statistics(self, observations: Tensor) -> None:
        """Take observations [n, *shape] into what inputs are standardised by. The trainer calls it between rollouts."""
        update_statistics(self.encoder, self.body, observations)


class Residual(FeedForward):
    """`num_layers` residual blocks with layer norms (He et al. 2016): deep networks learn as easily as shallow ones."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 2,
        encode: Encode = "scale", standardise: bool = True, log_std: LogStd = "parameter", squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(hidden_size=hidden_size, num_layers=num_layers, encode=encode, standardise=standardise)
        super().__init__(observation_space, action_space, "residual", settings, log_std, squash)


class Nature(FeedForward):
    """The convolutional network of Mnih et al. 2015, for images of at least 36 x 36."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 512, num_layers: int = 1,
        log_std: LogStd = "parameter", squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(hidden_size=hidden_size, num_layers=num_layers)
        super().__init__(observation_space, action_space, "nature", settings, log_std, squash)


class Impala(FeedForward):
    """The deep residual convolutional network of Espeholt et al. 2018, its channels times `cnn_width`, for any image."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 256, num_layers: int = 1,
        cnn_width: int = 1, log_std: LogStd = "parameter", squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(hidden_size=hidden_size, num_layers=num_layers, cnn_width=cnn_width)
        super().__init__(observation_space, action_space, "impala", settings, log_std, squash)


class MultiInput(FeedForward):
    """An encoder for each part of a Dict or Tuple observation, see `MultiInputEncoder`, then `num_layers` GELU layers."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 1,
        standardise: bool = True, cnn_width: int = 1, embedding_size: int = 16, log_std: LogStd = "parameter",
        squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(
            hidden_size=hidden_size, num_layers=num_layers, standardise=standardise, cnn_width=cnn_width,
            embedding_size=embedding_size,
        )  # fmt: skip
        super().__init__(observation_space, action_space, "multi", settings, log_std, squash)


class Entities(FeedForward):
    """Numbers and sets of entities, see `EntityEncoder`, then `num_layers` GELU layers."""

    def __init__(
        self, observation_space: spaces.Box, action_space: spaces.Space[Any], *, hidden_size: int = 128, num_layers: int = 2,
        entities: Sequence[Sequence[int]] | None = None, standardise: bool = True, log_std: LogStd = "parameter",
        squash: bool = False,
    ) -> None:  # fmt: skip
        settings = EncoderSettings(hidden_size=hidden_size, num_layers=num_layers, entities=entities, standardise=standardise)
        super().__init__(observation_space, action_space, "entities", settings, log_std, squash)
