"""Smaller and grey pictures, for all rows at once."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from pufferlib.buffers import Array
from pufferlib.errors import ConfigError, SpaceError
from pufferlib.vector import VecEnv
from pufferlib.vector.shape import whole
from pufferlib.wrappers.base import ObservationWrapper, plain_box

RED, GREEN, BLUE = 0.2125, 0.7154, 0.0721
"""Luminance of red, green and blue (ITU-R BT.709 as skimage rounds it), the weights that Gymnasium uses."""


class GrayscaleObservation(ObservationWrapper):
    """uint8[height, width, 3] to uint8[height, width], or [height, width, 1] with keep_dim; over a VecEnv."""

    def __init__(self, env: VecEnv, keep_dim: bool = False) -> None:
        box = plain_box(env, "GrayscaleObservation")
        if box.dtype != np.uint8 or len(box.shape) != 3 or box.shape[-1] != 3:
            what = f"{box.dtype}{list(box.shape)}"
            raise SpaceError(f"GrayscaleObservation needs uint8[height, width, 3], this env observes {what}")
        self.keep_dim = keep_dim
        shape = (*box.shape[:2], 1) if keep_dim else box.shape[:2]
        super().__init__(env, observation_space=spaces.Box(0, 255, shape, np.uint8))

    def convert(self, observations: Array) -> Array:
        red, green, blue = (observations[..., channel] for channel in range(3))
        grey: Array = (red * RED + green * GREEN + blue * BLUE).astype(np.uint8)  # float64, summed as Gymnasium does
        return grey[..., None] if self.keep_dim else grey


class ResizeObservation(ObservationWrapper):
    """[height, width] or [height, width, channels] to a smaller picture by area averaging; over a VecEnv.

    shape: (height, width), at most the env's. Every new pixel is the mean of the area that it covers, parts of pixels by their
    share; whole numbers are rounded to the nearest. Two matrix products, one for each axis, do all rows.
    """

    def __init__(self, env: VecEnv, shape: tuple[int, int]) -> None:
        box = plain_box(env, "ResizeObservation")
        if len(box.shape) not in (2, 3):
            raise SpaceError(f"ResizeObservation needs [height, width] or [height, width, channels], got {list(box.shape)}")
        if len(shape) != 2:
            raise ConfigError(f"shape must be (height, width), got {shape!r}")
        for name, size, most in zip(("height", "width"), shape, box.shape, strict=False):
            if whole(f"the {name} of shape", size) > most:
                raise ConfigError(f"shape={tuple(shape)}: averaging only makes pictures smaller, and the {name} is {most}")
        self._down, self._across = area_weights(box.shape[0], shape[0]), area_weights(box.shape[1], shape[1]).T
        self._round = box.dtype.kind in "iu"
        new = (*shape, *box.shape[2:])
        space = spaces.Box(box.low.min(), box.high.max(), new, box.dtype.type)
        super().__init__(env, observation_space=space)

    def convert(self, observations: Array) -> Array:
        picture = observations.astype(np.float32)
        if picture.ndim == 4:
            picture = picture.transpose(0, 3, 1, 2)
        small: Array = self._down @ picture @ self._across
        if picture.ndim == 4:
            small = small.transpose(0, 2, 3, 1)
        return np.rint(small) if self._round else small


def area_weights(size: int, new: int) -> Array:
    """float32[new, size]: row i holds the share of each old pixel in the new pixel i; every row sums to 1."""
    edges = np.linspace(0, size, new + 1)
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    weights: Array = (np.clip(overlap, 0, None) * new / size).astype(np.float32)
    return weights
