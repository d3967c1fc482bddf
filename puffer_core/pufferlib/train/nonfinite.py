"""Finding NaN and infinity before they reach the weights, and saying where they came from."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pufferlib.errors import NonFiniteError
from pufferlib.train.rollout import Rollout

ROWS_SHOWN = 8


def find_bad_rows(rollout: Rollout) -> Tensor | None:
    """bool[rows] of the rows with NaN or infinity in what the learner would read; None if there are none.

    The common case costs three sums: what is wrong in an observation shows in the policy's outputs, or else, if the policy
    hides it, in the gradient, which is checked at every update.
    """
    quick = _real_rewards(rollout).sum() + rollout.values.sum() + rollout.log_probs.sum() + rollout.bootstrap.sum()
    if torch.isfinite(quick):
        return None
    bad = torch.zeros(rollout.rewards.shape[1], dtype=torch.bool, device=rollout.rewards.device)
    for tensor in _inputs(rollout).values():
        bad |= _rows(tensor)
    for tensor in (rollout.values, rollout.log_probs, rollout.bootstrap):
        bad |= _rows(tensor)
    return bad if bad.any() else None


def rollout_error(rollout: Rollout) -> NonFiniteError:
    """What to raise for bad rows: names the arrays and the rows."""
    causes = _causes(rollout)
    if causes:
        return NonFiniteError(f"NaN or infinity from the environment in {'; '.join(causes)}; no weights were changed")
    rows = _rows(rollout.values) | _rows(rollout.log_probs) | _rows(rollout.bootstrap)
    return NonFiniteError(
        f"the policy's outputs are NaN or infinite in {_some(rows)} although observations and rewards are finite; no weights "
        "were changed by this rollout. Look at the network, or lower learning_rate or max_grad_norm"
    )


def update_error(rollout: Rollout, policy: nn.Module, losses: dict[str, Tensor]) -> NonFiniteError:
    """What to raise for a loss or gradient that is not finite: names losses, parameters and, if the envs are to blame, arrays."""
    bad_losses = [f"{name}={float(value)}" for name, value in losses.items() if not torch.isfinite(value)]
    bad_parameters = [name for name, p in policy.named_parameters() if p.grad is not None and not torch.isfinite(p.grad).all()]
    causes = _causes(rollout)
    found = []
    if bad_losses:
        found.append("losses " + ", ".join(bad_losses))
    if bad_parameters:
        found.append("gradients of " + ", ".join(bad_parameters[:ROWS_SHOWN]))
    where = f" (NaN or infinity from the environment in {'; '.join(causes)})" if causes else ""
    return NonFiniteError(f"NaN or infinity in {' and '.join(found) or 'the gradient norm'}{where}; this update was not made")


def _inputs(rollout: Rollout) -> dict[str, Tensor]:
    inputs = {"rewards": _real_rewards(rollout)}
    if rollout.observations.is_floating_point():
        inputs["observations"] = rollout.observations
        finals = rollout.host["final_observations"][1:]
        ended = rollout.host["truncations"][1:]
        inputs["final_observations"] = torch.where(
            ended.reshape(*ended.shape, *[1] * (finals.ndim - 2)), finals, torch.zeros((), dtype=finals.dtype)
        ).to(rollout.device)
    return inputs


def _real_rewards(rollout: Rollout) -> Tensor:
    return torch.where(rollout.masks, rollout.rewards, torch.zeros_like(rollout.rewards))


def _causes(rollout: Rollout) -> list[str]:
    return [f"{name} ({_some(rows)})" for name, tensor in _inputs(rollout).items() if (rows := _rows(tensor)).any()]


def _rows(tensor: Tensor) -> Tensor:
    """bool[rows] for a tensor [slots, rows, ...]."""
    finite = torch.isfinite(tensor)
    return ~finite.transpose(0, 1).flatten(1).all(1)


def _some(rows: Tensor) -> str:
    indices = rows.nonzero().flatten().tolist()
    shown = ", ".join(map(str, indices[:ROWS_SHOWN]))
    more = f" and {len(indices) - ROWS_SHOWN} more" if len(indices) > ROWS_SHOWN else ""
    return f"row{'s' if len(indices) > 1 else ''} {shown}{more}"
