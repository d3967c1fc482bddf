"""Convolutional networks for images."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from pufferlib.errors import SpaceError
from pufferlib.policies.layers import check_count, layer_init

SMALLEST_SIDE = 7
"""Of what is taken for an image without being told."""
NATURE_SIDE = 36
"""The smallest image that the Nature network's three convolutions fit on."""


class Layout(NamedTuple):
    """How an image lies in its array."""

    channels_first: bool
    channels: int
    height: int
    width: int


def is_image(space: Any) -> bool:
    """Whether a part of an observation is taken for an image: a Box of three axes, both sides of at least SMALLEST_SIDE."""
    if not isinstance(space, spaces.Box) or len(space.shape) != 3:
        return False
    layout = image_layout(space)
    return min(layout.height, layout.width) >= SMALLEST_SIDE


def image_layout(space: spaces.Space[Any]) -> Layout:
    """[height, width, channels], [channels, height, width] or, with one channel, [height, width].

    Of three axes the channels are the one beside two equal ones, else the smaller one of the first and the last; the last one
    where that does not decide. Raises SpaceError for other shapes.
    """
    shape = space.shape
    if not isinstance(space, spaces.Box) or shape is None or len(shape) not in (2, 3):
        raise SpaceError(
            f"this network reads one image, a Box [height, width, channels], [channels, height, width] or [height, width], "
            f"got {space}; policy 'multi' reads images beside other parts"
        )
    if len(shape) == 2:
        return Layout(True, 1, *shape)
    first, middle, last = shape
    squares = (middle == last, first == middle)  # if channels come first, and if they come last
    channels_first = squares[0] if squares[0] != squares[1] else first < last
    return Layout(True, first, middle, last) if channels_first else Layout(False, last, first, middle)


class ImageEncoder(nn.Module):
    """Images [rows, *shape] of any dtype to float32 [rows, channels, height, width], divided by the greatest magnitude.

    A Box of floats without finite bounds passes unchanged.
    """

    def __init__(self, space: spaces.Box) -> None:
        super().__init__()
        self.layout = image_layout(space)
        largest = float(max(np.abs(space.low.astype(np.float64)).max(), np.abs(space.high.astype(np.float64)).max()))
        self.scale = 1 / largest if np.isfinite(largest) and largest > 0 else 1.0

    def forward(self, observations: Tensor) -> Tensor:
        images = observations.float() * self.scale
        _, channels, height, width = self.layout
        if self.layout.channels_first:
            return images.reshape(-1, channels, height, width)
        return images.permute(0, 3, 1, 2)


def nature_stack(layout: Layout, hidden_size: int, num_layers: int = 1) -> nn.Sequential:
    """Three convolutions (Mnih et al. 2015) and `num_layers` dense layers, ReLU. Raises SpaceError for an image too small."""
    if min(layout.height, layout.width) < NATURE_SIDE:
        raise SpaceError(
            f"the Nature network needs images of at least {NATURE_SIDE} x {NATURE_SIDE}, got {layout.height} x {layout.width}; "
            "impala takes any size"
        )
    convolutions = [
        layer_init(nn.Conv2d(layout.channels, 32, 8, 4)), nn.ReLU(), layer_init(nn.Conv2d(32, 64, 4, 2)), nn.ReLU(),
        layer_init(nn.Conv2d(64, 64, 3, 1)), nn.ReLU(), nn.Flatten(),
    ]  # fmt: skip
    return _with_dense(convolutions, layout, hidden_size, num_layers)


def impala_stack(layout: Layout, hidden_size: int, num_layers: int = 1, cnn_width: int = 1) -> nn.Sequential:
    """Three stages of residual blocks (Espeholt et al. 2018, figure 3, the deep network) and `num_layers` dense layers, ReLU.

    cnn_width: multiplies the channels 16, 32, 32
    """
    check_count("cnn_width", cnn_width)
    sizes = [layout.channels, 16 * cnn_width, 32 * cnn_width, 32 * cnn_width]
    stages = [_Stage(inputs, outputs) for inputs, outputs in itertools.pairwise(sizes)]
    return _with_dense([*stages, nn.ReLU(), nn.Flatten()], layout, hidden_size, num_layers)


class _Stage(nn.Sequential):
    """Convolution, pooling to half the sides, two residual blocks."""

    def __init__(self, inputs: int, outputs: int) -> None:
        convolution = layer_init(nn.Conv2d(inputs, outputs, 3, padding=1), std=1.0)
        super().__init__(convolution, nn.MaxPool2d(3, 2, padding=1), ImageResidual(outputs), ImageResidual(outputs))


class ImageResidual(nn.Module):
    """x + conv(relu(conv(relu(x))))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = layer_init(nn.Conv2d(channels, channels, 3, padding=1))
        self.second = layer_init(nn.Conv2d(channels, channels, 3, padding=1), std=0.1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(x.relu()).relu())  # type: ignore[no-any-return]


def _with_dense(convolutions: list[nn.Module], layout: Layout, hidden_size: int, num_layers: int) -> nn.Sequential:
    check_count("hidden_size", hidden_size)
    check_count("num_layers", num_layers)
    with torch.no_grad():
        width = nn.Sequential(*convolutions)(torch.zeros(1, *layout[1:])).shape[1]
    dense: list[nn.Module] = []
    for index in range(num_layers):
        dense += [layer_init(nn.Linear(hidden_size if index else width, hidden_size)), nn.ReLU()]
    return nn.Sequential(*convolutions, *dense)
