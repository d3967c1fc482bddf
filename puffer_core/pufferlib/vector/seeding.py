"""Seeds: one number in, a distinct and reproducible seed for every env out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pufferlib.errors import ConfigError


def env_seeds(seed: int | None, n: int) -> list[int]:
    """`n` distinct 31-bit seeds from one `numpy.random.SeedSequence`; None takes fresh entropy.

    Env k's seed does not depend on n, so neither on how many envs, workers or batches there are. Neighbouring seeds
    give unrelated lists.
    """
    source = np.random.SeedSequence(seed)
    drawn = n + 8
    while True:
        words = source.generate_state(drawn) >> 1
        first = np.sort(np.unique(words, return_index=True)[1])  # where each value appears first, in order of drawing
        if len(first) >= n:
            return [int(word) for word in words[first[:n]]]
        drawn *= 2


def spread_seed(seed: Any, n: int) -> list[int]:
    """One seed per env: from one int (or None, fresh entropy) by `env_seeds`, from a sequence of n ints as it is."""
    if seed is None or isinstance(seed, (int, np.integer)):
        return env_seeds(None if seed is None else whole_seed(seed), n)
    if not isinstance(seed, (Sequence, np.ndarray)) or isinstance(seed, str):
        raise ConfigError(f"seed must be None, a whole number or one per env, got {seed!r}")
    if len(seed) != n:
        raise ConfigError(f"seed holds {len(seed)} values for {n} envs; give one per env, or one whole number")
    return [whole_seed(value) for value in seed]


def whole_seed(seed: Any) -> int:
    """The seed as an int of at least 0. Raises ConfigError for anything else."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ConfigError(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)
