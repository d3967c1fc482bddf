"""Does what was exported compute what the policy computes?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from pufferlib.errors import ExportError
from pufferlib.export.step import Step

ROWS, STEPS = (1, 2, 5), 3
"""Numbers of rows (times what the policy needs at least) and steps, whose states follow from one another."""
TOLERANCE = 1e-4
"""Of |a - b| / (1 + |b|): single precision in another order of operations stays far below."""
Runner = Callable[[list[np.ndarray]], Sequence[np.ndarray]]
"""A format read back: the inputs of a step to its outputs, as arrays."""


@torch.no_grad()
def largest_difference(step: Step, run: Runner) -> float:
    """The largest absolute difference of any output on random observations. Raises ExportError beyond the tolerance."""
    largest = 0.0
    for rows in (step.rows * factor for factor in ROWS):
        state = step.initial_state(rows)
        for number in range(STEPS):
            inputs = [step.observations(rows, seed=number), *state]
            expected = step(*inputs)
            found = run([np.ascontiguousarray(tensor.numpy()) for tensor in inputs])
            for name, ours, theirs in zip(step.output_names, expected, found, strict=True):
                largest = max(largest, _difference(name, ours.numpy(), np.asarray(theirs), rows))
            state = list(expected[len(expected) - len(state) :])
    return largest


def _difference(name: str, ours: np.ndarray, theirs: np.ndarray, rows: int) -> float:
    if ours.shape != theirs.shape:
        raise ExportError(f"the exported {name} has shape {theirs.shape} for {rows} rows, the policy's has {ours.shape}")
    if not ours.size:
        return 0.0
    apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    if not (apart <= TOLERANCE * (1 + np.abs(ours.astype(np.float64)))).all():  # also where one is NaN
        raise ExportError(
            f"the exported {name} differs from the policy's by {apart.max():.3g} for {rows} rows; nothing was written"
        )
    return float(apart.max())
