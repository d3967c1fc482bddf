"""Generalised advantage estimation with V-trace's correction for a policy that has moved since it acted.

The formulas stand in `native/kernels.h`. While all ratios are 1 (the first epoch) the result is GAE. From the second epoch
on, the ratios of the current to the acting policy enter with V-trace's clips rho (in the temporal difference) and c (in the
trace), so that later epochs do not chase returns that the policy of today would not get. Ratios and values are those that
each sample's last minibatch saw, one epoch old at most: they cost nothing, while fresh ones would cost a forward pass over
the rollout for every epoch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pufferlib.errors import ShapeError
from pufferlib.native import _kernels


def advantages(
    rewards: Tensor, values: Tensor, bootstrap: Tensor, terminals: Tensor, truncations: Tensor, masks: Tensor,
    ratios: Tensor | None = None, *, gamma: float, lam: float, rho_clip: float = 1.0, c_clip: float = 1.0,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Advantages and value targets (Schulman et al. 2016, eq. 16; Espeholt et al. 2018, eq. 1).

    rewards, bootstrap, ratios: float32[horizon, rows]; values: float32[horizon + 1, rows]
    terminals, truncations, masks: bool[horizon, rows], of what the action at that step caused
    bootstrap: the value of the true last observation where the episode was truncated, elsewhere not read
    Returns two float32[horizon, rows]. Raises ShapeError if the arrays disagree, naming them.
    """
    given = {
        "rewards": rewards, "values": values, "bootstrap": bootstrap, "terminals": terminals, "truncations": truncations,
        "masks": masks, "ratios": ratios,
    }  # fmt: skip
    _check(given, tuple(rewards.shape))
    if rewards.device.type != "cpu":
        return _on_device(rewards, values, bootstrap, terminals, truncations, masks, ratios, gamma, lam, rho_clip, c_clip)
    advantage, target = torch.empty(rewards.shape), torch.empty(rewards.shape)
    arrays = {**given, "advantages": advantage, "targets": target}
    contiguous = {name: None if tensor is None else tensor.contiguous() for name, tensor in arrays.items()}
    addresses = {name: 0 if tensor is None else tensor.data_ptr() for name, tensor in contiguous.items()}
    horizon, rows = rewards.shape
    _kernels.advantage(**addresses, horizon=horizon, rows=rows, gamma=gamma, lam=lam, rho_clip=rho_clip, c_clip=c_clip)
    return advantage, target


def _check(given: dict[str, Tensor | None], shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ShapeError(f"rewards must be [horizon, rows], got shape {shape}")
    for name, tensor in given.items():
        if tensor is None:
            continue
        wanted = (shape[0] + 1, shape[1]) if name == "values" else shape
        kind = torch.bool if name in ("terminals", "truncations", "masks") else torch.float32
        if tuple(tensor.shape) != wanted or tensor.dtype != kind:
            raise ShapeError(
                f"{name} must be {kind} of shape {wanted}, as rewards have {shape}; got {tensor.dtype} of {tuple(tensor.shape)}"
            )


def _on_device(
    rewards: Tensor, values: Tensor, bootstrap: Tensor, terminals: Tensor, truncations: Tensor, masks: Tensor,
    ratios: Tensor | None, gamma: float, lam: float, rho_clip: float, c_clip: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same on a GPU: all that needs no recursion in a few wide operations, then one short loop over time."""
    ended = terminals | truncations
    nothing = torch.zeros_like(rewards)
    following = torch.where(terminals, nothing, torch.where(truncations, bootstrap, values[1:]))
    delta = rewards + gamma * following - values[:-1]
    going_on = torch.where(ended, nothing, torch.full_like(rewards, gamma * lam))
    ratio = torch.ones_like(rewards) if ratios is None else ratios
    own = torch.where(masks, ratio.clamp(max=rho_clip) * delta, nothing)
    carried = torch.where(masks, going_on * ratio.clamp(max=c_clip), nothing)
    traces = torch.zeros_like(values)
    for step in reversed(range(len(rewards))):
        torch.addcmul(own[step], carried[step], traces[step + 1], out=traces[step])
    return torch.where(masks, delta + going_on * traces[1:], nothing), values[:-1] + traces[:-1]
