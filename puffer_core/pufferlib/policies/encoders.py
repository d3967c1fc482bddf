"""What stands between an observation and the memory or the heads, by name or chosen from the observation space.

| name | reads | network |
|---|---|---|
| `mlp` | everything, flattened | GELU layers |
| `residual` | everything, flattened | a linear layer, residual blocks, a norm |
| `nature` | one image of at least 36 x 36 | three convolutions (Mnih et al. 2015) |
| `impala` | one image | three stages of residual convolutions (Espeholt et al. 2018) |
| `multi` | a structured space, part by part | an encoder for each part, joined by GELU layers |
| `entities` | sets, and numbers beside them | one network for all of a set, their maximum, GELU layers |
| `auto` | | an image: nature, or impala if it is smaller; several parts, one of them an image: multi; else mlp |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import ConfigError, SpaceError
from pufferlib.policies.entities import EntityEncoder
from pufferlib.policies.images import NATURE_SIDE, ImageEncoder, image_layout, impala_stack, is_image, nature_stack
from pufferlib.policies.layers import InputLinear, dense_stack, residual_stack
from pufferlib.policies.multi_input import MultiInputEncoder
from pufferlib.policies.observations import Encode, ObservationEncoder
from pufferlib.structure import structure_of

EncoderName = Literal["auto", "mlp", "residual", "nature", "impala", "multi", "entities"]


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """The settings of all encoders; each reads those that concern it."""

    hidden_size: int
    num_layers: int = 1
    encode: Encode = "scale"
    standardise: bool = True
    cnn_width: int = 1
    embedding_size: int = 16
    entities: Sequence[Sequence[int]] | None = None


def build_encoder(name: EncoderName, space: spaces.Box, settings: EncoderSettings) -> tuple[nn.Module, nn.Sequential]:
    """(encoder, body): from observations [rows, *shape] to what the hidden layers read, and on to float32 [rows, hidden_size].

    Raises ConfigError or SpaceError where the space or a setting does not suit the network.
    """
    if name not in get_args(EncoderName):
        raise ConfigError(f"encoder must be one of {', '.join(get_args(EncoderName))}, got {name!r}")
    if not isinstance(space, spaces.Box):
        raise SpaceError(f"this policy reads the Box rows of an emulated env, got {space}; see pufferlib.emulate")
    if name == "auto":
        name = choose_encoder(space)
    size, layers = settings.hidden_size, settings.num_layers
    if name in ("mlp", "residual"):
        encoder: Any = ObservationEncoder(space, settings.encode)
        stack = dense_stack if name == "mlp" else residual_stack
        return encoder, stack(encoder.width, size, layers, standardise=settings.standardise and settings.encode == "scale")
    if settings.encode != "scale":
        raise ConfigError(f"encode={settings.encode!r} is for the encoders mlp and residual, not for {name}")
    if name == "entities":
        encoder = EntityEncoder(space, size, entities=settings.entities, standardise=settings.standardise)
        return encoder, dense_stack(encoder.width, size, layers)
    if name == "multi":
        encoder = MultiInputEncoder(
            space, size, embedding_size=settings.embedding_size, cnn_width=settings.cnn_width, standardise=settings.standardise
        )
        return encoder, dense_stack(encoder.width, size, layers)
    encoder = ImageEncoder(only_image(space))
    if name == "nature":
        return encoder, nature_stack(encoder.layout, size, layers)
    return encoder, impala_stack(encoder.layout, size, layers, settings.cnn_width)


def choose_encoder(space: spaces.Box) -> EncoderName:
    """The encoder that `auto` stands for."""
    leaves = [leaf for leaf in structure_of(space).leaves if leaf.size]
    images = [leaf for leaf in leaves if is_image(leaf.space)]
    if not images:
        return "mlp"
    if len(leaves) > 1:
        return "multi"
    layout = image_layout(images[0].space)
    return "nature" if min(layout.height, layout.width) >= NATURE_SIDE else "impala"


def only_image(space: spaces.Box) -> Any:
    """The env's own space, if that is a Box. Raises SpaceError for others."""
    leaves = structure_of(space).leaves
    if len(leaves) > 1 or not isinstance(leaves[0].space, spaces.Box):
        raise SpaceError(f"this network reads one image, got {structure_of(space).space}; policy 'multi' reads several parts")
    return leaves[0].space


def update_statistics(encoder: Any, body: nn.Sequential, observations: Tensor) -> None:
    """Take observations [n, *shape] into what inputs are standardised by, where the network does so."""
    if isinstance(encoder, (MultiInputEncoder, EntityEncoder)):
        encoder.update(observations)
    elif isinstance(body[0], InputLinear):
        body[0].update(encoder(observations))
