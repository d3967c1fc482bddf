"""The default policies on a CPU, run by the kernels of native/dense_pass.h instead of torch.

A policy stays the torch module that it is: its parameters are read where they lie, and gradients are left in `.grad`, so the
optimizer, clipping, checkpoints and whatever else looks at a module see no difference. What changes is that a forward pass, and
a learning pass with PPO's losses in the middle, walk over the rows in tiles whose activations never leave the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ShapeError
from pufferlib.native._kernels import MAX_LOGITS
from pufferlib.policies.cores import LSTMCore, MinGRUCore
from pufferlib.policies.distributions import Categorical, MultiCategorical
from pufferlib.policies.layers import InputLinear
from pufferlib.policies.mlp import MLP
from pufferlib.policies.observations import ObservationEncoder, OneHotLeaf, ScaleLeaf
from pufferlib.policies.recurrent import LSTM, MinGRU
from pufferlib.train.fused import STATS, kernel_arguments
from pufferlib.train.losses import Losses, ppo_losses
from pufferlib.train.minibatches import Minibatch

try:
    from pufferlib.native import _dense
except ImportError:  # built only where the compiler has vector types
    _dense = None  # type: ignore[assignment]


State = Any


def native_network(policy: nn.Module, distribution: Any, device: torch.device) -> NativeNetwork | None:
    """The fast way to run `policy`, or None where torch has to.

    It takes an MLP, or an LSTM or MinGRU on the same encoder, as it came (no subclass, no hooks), on the CPU, over plain Box
    observations of float32 or uint8, one-hot or not. The losses are made along the way for Discrete and MultiDiscrete actions
    of at most MAX_LOGITS options, for others by torch, between a pass forward and one forward and back.
    """
    if _dense is None or device.type != "cpu" or type(policy) not in (MLP, LSTM, MinGRU):
        return None
    made: Any = policy
    if not isinstance(made.encoder, ObservationEncoder) or not _plain_stack(made.encoder, made.body):
        return None
    layers = [layer for layer in made.body if isinstance(layer, nn.Linear)]
    widths = [layers[0].in_features, *(layer.out_features for layer in layers)]
    cell, cells = _memory(policy)
    whole = (
        not any(_hooked(module) for module in policy.modules())
        and len(layers) <= _dense.MAX_LAYERS
        and cells <= _dense.MAX_CELLS
        and max(widths) <= _dense.MAX_WIDTH
        and widths[-1] * _dense.CELLS.get(cell, 1) <= _dense.MAX_WIDTH
        and (not cell or widths[-1] % _dense.CELL_WIDTH_UNIT == 0)
    )
    return NativeNetwork(made, distribution, layers, widths, cell, cells) if whole else None


class NativeNetwork:
    """See `native_network`.

    layers: the encoder's linear layers; widths: of the input and of each layer's output; cell, cells: "lstm" or "mingru" and how
    many of them, "" and 0 without memory
    """

    def __init__(self, policy: Any, distribution: Any, layers: list[nn.Linear], widths: list[int], cell: str, cells: int) -> None:
        self.policy, self.distribution, self.widths, self.cell = policy, distribution, widths, cell
        self.sizes: tuple[int, ...] = distribution.parameter_sizes
        self.fused = isinstance(distribution, (Categorical, MultiCategorical)) and sum(self.sizes) <= MAX_LOGITS
        self.first = layers[0]
        if cell:
            self.initial_state = policy.initial_state
        part = policy.encoder.parts[0]
        self.scale: Tensor | None = getattr(part, "scale", None)
        self.numbers: int = part.leaf.size if isinstance(part, OneHotLeaf) else widths[0]
        """Of an observation."""
        self.outputs = policy.heads.linear.out_features
        self.parts = [
            *((layer, "weight", "bias") for layer in layers),
            *_cell_parts(policy),
            (policy.heads.linear, "weight", "bias"),
        ]
        """Where each part of the network has its weights: (module, name of the matrix, name of the bias)."""
        self.gradients = [[torch.empty_like(getattr(module, name)) for name in names] for module, *names in self.parts]
        self.shapes = [gradient.shape for pair in self.gradients for gradient in pair]
        codes = (0, 0, 0)
        if isinstance(part, OneHotLeaf):
            self.offsets, self.factors = part.offset, part.factors  # kept, as the kernels read them
            codes = self.numbers, self.offsets.data_ptr(), 0 if self.factors is None else self.factors.data_ptr()
        self.net = _dense.Net(widths, self.outputs, cell, cells, torch.get_num_threads(), "", codes)
        self._loaded: tuple[Any, ...] = ()
        """Addresses and versions of the weights that the kernels have."""

    def __call__(self, observations: Tensor, state: State = None) -> Any:
        """What `policy(observations)` or `policy(observations, state)` gives, without gradient. observations: [rows, *shape]."""
        observations = observations.contiguous()
        rows = len(observations)
        out = torch.empty(rows, self.outputs)
        self._load()
        before = [part.contiguous() for part in _parts_of(state)]
        after = [torch.empty_like(part) for part in before]
        self.net.forward(self._inputs(observations, None), _addresses(before, after, None), 1, rows, out.data_ptr())
        parameters, value = self.policy.heads.split(out)
        if not self.cell:
            return parameters, value
        return parameters, value, (after[0] if isinstance(state, Tensor) else tuple(after))

    def learn(self, batch: Minibatch, config: TrainConfig) -> tuple[Losses, Tensor, Tensor]:
        """Leave the gradients of PPO's loss in the parameters. Returns the losses, the ratios and the values [samples].

        batch.observations: all of the rollout, [steps * rows, *shape], of which `batch.samples` are the minibatch
        """
        samples, before = batch.samples.contiguous(), [part.contiguous() for part in _parts_of(batch.state)]
        starts = None if batch.starts is None else batch.starts.contiguous()
        horizon = 1 if starts is None else len(starts)
        over = self._inputs(batch.observations, samples), _addresses(before, [], starts), horizon
        out, ratios = torch.empty(len(samples), self.outputs), torch.empty(len(samples))
        kept: list[Any] = []
        self.expect_changes()
        self._load()
        if self.fused:
            given, arrays = kernel_arguments(self.sizes, batch, config)
            stats = torch.empty(STATS)
            self.net.ppo(*over, given, out.data_ptr(), ratios.data_ptr(), stats.data_ptr())
            losses = Losses(*stats.unbind())
            kept.append(arrays)
        else:
            self.net.forward(*over, len(samples) // horizon, out.data_ptr())
            losses, ratios, slope = self._losses(out, batch, config)
            self.net.backward(*over, len(samples) // horizon, slope.data_ptr())
            kept.append(slope)
        self._hand_out_gradients()
        return losses, ratios, out[:, -1]

    def _losses(self, out: Tensor, batch: Minibatch, config: TrainConfig) -> tuple[Losses, Tensor, Tensor]:
        """By torch: the losses, the ratios, and the slope of the loss by `out`, that of a free log_std left in the policy."""
        for parameter in self.policy.heads.parameters():
            parameter.grad = None
        leaf = out.detach().requires_grad_()
        parameters, value = self.policy.heads.split(leaf)
        log_prob, entropy = self.distribution.evaluate(parameters, batch.actions, batch.action_masks)
        losses = ppo_losses(
            log_prob, entropy, value, old_log_prob=batch.old_log_prob, old_value=batch.old_value, advantage=batch.advantage,
            target=batch.target, weights=batch.weights, config=config,
        )  # fmt: skip
        losses.total.backward()  # type: ignore[no-untyped-call]
        assert leaf.grad is not None
        detached = Losses(*(part.detach() for part in losses))
        return detached, (log_prob.detach() - batch.old_log_prob).exp(), leaf.grad.contiguous()

    def _hand_out_gradients(self) -> None:
        for index, ((module, *names), gradients) in enumerate(zip(self.parts, self.gradients, strict=True)):
            self.net.gradient(index, *(gradient.data_ptr() for gradient in gradients))
            for name, gradient in zip(names, gradients, strict=True):
                parameter = getattr(module, name)
                parameter.grad = gradient if parameter.requires_grad else None

    def expect_changes(self) -> None:
        """Weights may have been changed in a way that torch does not count, such as through `.data`: look at them again."""
        self._loaded = ()

    def _load(self) -> None:
        """Have the kernels take over the weights, unless they are as they were."""
        parameters = [getattr(module, name) for module, *names in self.parts for name in names]
        statistics = [self.first.mean, self.first.variance] if isinstance(self.first, InputLinear) else []
        now = tuple((tensor.data_ptr(), tensor._version) for tensor in (*parameters, *statistics))
        if now == self._loaded:
            return
        for parameter, wanted in zip(parameters, self.shapes, strict=True):
            if parameter.shape != wanted or parameter.dtype != torch.float32 or not parameter.is_contiguous():
                raise ShapeError(
                    f"weights must stay contiguous float32{list(wanted)} while they are trained, got {parameter.dtype} of "
                    f"{tuple(parameter.shape)}; make a new PuffeRL for a changed policy"
                )
        mean = factor = 0
        if isinstance(self.first, InputLinear):
            self._factors = (self.first.variance + self.first.floor).rsqrt()
            mean, factor = self.first.mean.data_ptr(), self._factors.data_ptr()
        addresses = [parameter.data_ptr() for parameter in parameters]
        self.net.load(addresses[::2], addresses[1::2], 0 if self.scale is None else self.scale.data_ptr(), mean, factor)
        self._loaded = now

    def _inputs(self, observations: Tensor, samples: Tensor | None) -> tuple[int, bool, int, int]:
        is_bytes = observations.dtype == torch.uint8
        return observations.data_ptr(), is_bytes, self.numbers, 0 if samples is None else samples.data_ptr()


def _plain_stack(encoder: Any, body: Any) -> bool:
    """Whether numbers, or codes as one-hot, of one kind go through linear layers, each with an exact GELU behind it."""
    part = encoder.parts[0]
    layers, activations = list(body)[::2], list(body)[1::2]
    numbers = isinstance(part, ScaleLeaf) and part.leaf.dtype in (np.float32, np.uint8)
    codes = isinstance(part, OneHotLeaf) and part.leaf.dtype == np.uint8
    return (
        len(encoder.parts) == 1
        and (numbers or codes)
        and not encoder.structure.is_bytes
        and len(layers) == len(activations)
        and all(type(layer) in (nn.Linear, InputLinear) for layer in layers)
        and all(type(layer) is nn.GELU and layer.approximate == "none" for layer in activations)
        and all(type(layer) is nn.Linear for layer in layers[1:])
    )


def _memory(policy: Any) -> tuple[str, int]:
    """The kind of cells, and how many."""
    core = getattr(policy, "core", None)
    if isinstance(core, LSTMCore):
        return "lstm", 1
    return ("mingru", len(core.layers)) if isinstance(core, MinGRUCore) else ("", 0)


def _cell_parts(policy: Any) -> list[tuple[nn.Module, str, str]]:
    core = getattr(policy, "core", None)
    if isinstance(core, LSTMCore):
        return [(core.lstm, "weight_ih_l0", "bias_ih_l0"), (core.lstm, "weight_hh_l0", "bias_hh_l0")]
    return [(layer, "weight", "bias") for layer in core.layers] if isinstance(core, MinGRUCore) else []


def _parts_of(state: State) -> list[Tensor]:
    """The tensors of an LSTM's, a MinGRU's or no state."""
    if state is None:
        return []
    return [state] if isinstance(state, Tensor) else list(state)


def _addresses(before: list[Tensor], after: list[Tensor], starts: Tensor | None) -> tuple[int, ...]:
    """States as `Net` takes them."""
    if not before:
        return ()
    pairs = [[part.data_ptr() for part in parts] + [0] * (2 - len(parts)) for parts in (before, after)]
    return *pairs[0], *pairs[1], 0 if starts is None else starts.data_ptr()


def _hooked(module: nn.Module) -> bool:
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    return any(hooks) or any(p._backward_hooks for p in module.parameters(recurse=False))
