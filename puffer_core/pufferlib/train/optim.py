"""Optimizers and learning-rate schedules."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from pufferlib.config.train_config import TrainConfig


class Optimizer:
    """One or two torch optimizers that step as one: Adam, or Muon for hidden matrices with AdamW for the rest."""

    def __init__(self, policy: nn.Module, output_sizes: Iterable[int], config: TrainConfig) -> None:
        parameters = [p for p in policy.parameters() if p.requires_grad]
        matrices = hidden_matrices(policy, output_sizes) if config.optimizer == "muon" else []
        chosen = {id(p) for p in matrices}
        rest = [p for p in parameters if id(p) not in chosen]
        self.parameters = parameters
        self.on_gpu = any(p.is_cuda for p in parameters)
        self._bad: Tensor | None = None
        self.parts: list[torch.optim.Optimizer] = []
        if matrices:
            self.parts.append(torch.optim.Muon(
                matrices, lr=config.learning_rate, momentum=config.muon_momentum, weight_decay=config.weight_decay,
                adjust_lr_fn="match_rms_adamw",
            ))  # fmt: skip
        if rest:
            fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in rest)
            self.parts.append(torch.optim.AdamW(
                rest, lr=config.learning_rate, betas=(config.adam_beta1, config.adam_beta2), eps=config.adam_eps,
                weight_decay=config.weight_decay, fused=fused,
            ))  # fmt: skip

    def set_learning_rate(self, value: float) -> None:
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = value

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None  # what torch's own does, without its bookkeeping

    def step(self) -> None:
        for part in self.parts:
            part.step()

    @property
    def skips_on_device(self) -> bool:
        """Whether the kernels can leave an update out by a flag that lies on the GPU, so that nobody has to wait for it."""
        return all(isinstance(part, torch.optim.AdamW) and part.defaults["fused"] for part in self.parts) and self.on_gpu

    def step_unless(self, bad: Tensor, for_good: bool) -> None:
        """step(), unless `bad`, a bool on the device; `for_good`: nor ever after, until `start_anew`."""
        self._bad = bad if self._bad is None or not for_good else self._bad | bad
        for part in self.parts:
            part.found_inf = self._bad.float()  # type: ignore[attr-defined]  # as torch.amp.GradScaler tells it
            part.step()

    def start_anew(self) -> None:
        """Updates are made again."""
        self._bad = None

    def state_dict(self) -> list[dict[str, Any]]:
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


def hidden_matrices(policy: nn.Module, output_sizes: Iterable[int]) -> list[nn.Parameter]:
    """The weight matrices that Muon is made for: two axes, neither an embedding nor a head.

    A head is a matrix with as many outputs as the action parameters, the value, or both together have.
    """
    sizes = list(output_sizes)
    heads = {1, *sizes, sum(sizes), sum(sizes) + 1}
    embeddings = {id(module.weight) for module in policy.modules() if isinstance(module, (nn.Embedding, nn.EmbeddingBag))}
    return [
        p for p in policy.parameters()
        if p.requires_grad and p.ndim == 2 and id(p) not in embeddings and p.shape[0] not in heads
    ]  # fmt: skip


def clip_gradients(parameters: list[nn.Parameter], max_norm: float) -> Tensor:
    """Scale gradients down to a global norm of `max_norm` (0: leave them). Returns the norm before that, on the device."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if max_norm:
        torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, norm)
    return norm


def scheduled_rate(config: TrainConfig, global_step: int) -> float:
    """The learning rate after `global_step` steps: constant, or falling over total_timesteps to min_learning_rate."""
    if not config.anneal_lr:
        return config.learning_rate
    progress = min(1.0, global_step / config.total_timesteps)
    left = 1 - progress if config.anneal_schedule == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
    return config.min_learning_rate + (config.learning_rate - config.min_learning_rate) * left
