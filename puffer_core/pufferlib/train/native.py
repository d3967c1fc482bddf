"""The default policy on a CPU, run by the kernels of native/dense.h instead of torch.

The policy stays the torch module that it is: its parameters are read where they lie, and gradients are left in `.grad`, so the
optimizer, clipping, checkpoints and whatever else looks at a module see no difference. What changes is that a forward pass, and
a learning pass with PPO's losses in the middle, walk over the rows in tiles whose activations never leave the cache.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pufferlib.config.train_config import TrainConfig
from pufferlib.errors import ShapeError
from pufferlib.native._kernels import MAX_LOGITS
from pufferlib.policies.distributions import Categorical, MultiCategorical
from pufferlib.policies.layers import InputLinear
from pufferlib.policies.mlp import MLP
from pufferlib.policies.observations import ScaleLeaf
from pufferlib.train.fused import STATS, kernel_arguments
from pufferlib.train.losses import Losses
from pufferlib.train.minibatches import Minibatch

try:
    from pufferlib.native import _dense
except ImportError:  # built only where the compiler has vector types
    _dense = None  # type: ignore[assignment]


def native_mlp(policy: nn.Module, distribution: Any, device: torch.device) -> NativeMLP | None:
    """The fast way to run `policy`, or None where torch has to.

    It takes an MLP as it came (no subclass, no hooks) with float32 weights on the CPU, over plain Box observations of float32
    or uint8, and Discrete or MultiDiscrete actions of at most MAX_LOGITS options.
    """
    if _dense is None or device.type != "cpu" or type(policy) is not MLP:
        return None
    parts: Any = policy.encoder.parts
    structure: Any = policy.encoder.structure
    if not isinstance(distribution, (Categorical, MultiCategorical)) or sum(distribution.parameter_sizes) > MAX_LOGITS:
        return None
    layers = [*(layer for layer in policy.body if isinstance(layer, nn.Linear)), policy.heads.linear]
    widths = [layers[0].in_features, *(layer.out_features for layer in layers)]
    activations = [layer for layer in policy.body if not isinstance(layer, nn.Linear)]
    plain = (
        len(parts) == 1
        and not structure.is_bytes
        and isinstance(parts[0], ScaleLeaf)
        and all(isinstance(layer, nn.GELU) and layer.approximate == "none" for layer in activations)
        and len(activations) == len(layers) - 1
        and len(layers) <= _dense.MAX_LAYERS
        and max(widths) <= _dense.MAX_WIDTH
        and not any(_hooked(module) for module in policy.modules())
    )
    return NativeMLP(policy, distribution.parameter_sizes, layers, widths, parts[0].scale) if plain else None


class NativeMLP:
    """See `native_mlp`.

    sizes: options of each choice; layers: all linear layers in order, the head last; widths: of the input and of each layer's
    output; scale: float32[widths[0]] that observations are multiplied by, or None
    """

    def __init__(
        self, policy: MLP, sizes: tuple[int, ...], layers: list[nn.Linear], widths: list[int], scale: Tensor | None
    ) -> None:
        self.policy, self.sizes, self.layers, self.widths, self.scale = policy, sizes, layers, widths, scale
        self.threads = torch.get_num_threads()
        self.net = _dense.Net(widths, False, self.threads)
        self.gradients = [(torch.empty_like(layer.weight), torch.empty_like(layer.bias)) for layer in layers]

    def forward(self, observations: Tensor) -> tuple[Any, Tensor]:
        """observations: [rows, *shape]. Returns (action parameters, value [rows]), without gradient."""
        observations = observations.contiguous()
        rows = len(observations)
        out = torch.empty(rows, self.widths[-1])
        kept = self._load()
        self.net.forward(self._inputs(observations, None), rows, out.data_ptr())
        del kept
        return self.policy.heads.split(out)

    def learn(self, batch: Minibatch, config: TrainConfig) -> tuple[Losses, Tensor, Tensor]:
        """Leave the gradients of PPO's loss in the parameters. Returns the losses, the ratios and the values [samples].

        batch.observations: all of the rollout, [steps * rows, *shape], of which `batch.samples` are the minibatch
        """
        given, kept = kernel_arguments(self.sizes, batch, config)
        samples = batch.samples.contiguous()
        rows = len(samples)
        out, ratios, stats = torch.empty(rows, self.widths[-1]), torch.empty(rows), torch.empty(STATS)
        kept.append(self._load())
        self.net.ppo(self._inputs(batch.observations, samples), given, out.data_ptr(), ratios.data_ptr(), stats.data_ptr())
        for index, (layer, (d_weight, d_bias)) in enumerate(zip(self.layers, self.gradients, strict=True)):
            self.net.gradient(index, d_weight.data_ptr(), d_bias.data_ptr())
            layer.weight.grad = d_weight if layer.weight.requires_grad else None
            layer.bias.grad = d_bias if layer.bias.requires_grad else None
        return Losses(*stats.unbind()), ratios, out[:, -1]

    def _load(self) -> list[Tensor]:
        """Tell the kernels where the weights are now. Returns what must outlive the pass."""
        for layer, width, outputs in zip(self.layers, self.widths, self.widths[1:], strict=False):
            weight, bias = layer.weight, layer.bias
            if weight.shape != (outputs, width) or weight.dtype != torch.float32 or not weight.is_contiguous():
                raise ShapeError(
                    f"a layer's weight must stay contiguous float32[{outputs}, {width}] while it is trained, got "
                    f"{weight.dtype} of {tuple(weight.shape)}; make a new PuffeRL for a changed policy"
                )
            if bias.shape != (outputs,) or bias.dtype != torch.float32 or not bias.is_contiguous():
                raise ShapeError(
                    f"a layer's bias must stay contiguous float32[{outputs}], got {bias.dtype} of {tuple(bias.shape)}"
                )
        first = self.layers[0]
        kept = [] if self.scale is None else [self.scale]
        mean = factor = 0
        if isinstance(first, InputLinear):
            factors = (first.variance + first.floor).rsqrt()
            kept += [first.mean, factors]
            mean, factor = first.mean.data_ptr(), factors.data_ptr()
        weights, biases = [layer.weight.data_ptr() for layer in self.layers], [layer.bias.data_ptr() for layer in self.layers]
        self.net.load(weights, biases, 0 if self.scale is None else self.scale.data_ptr(), mean, factor)
        return kept

    def _inputs(self, observations: Tensor, samples: Tensor | None) -> tuple[int, bool, int, int]:
        is_bytes = observations.dtype == torch.uint8
        return observations.data_ptr(), is_bytes, self.widths[0], 0 if samples is None else samples.data_ptr()


def _hooked(module: nn.Module) -> bool:
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    return any(hooks) or any(p._backward_hooks for p in module.parameters(recurse=False))
