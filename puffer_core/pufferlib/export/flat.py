"""The flat format: `weights.bin`, little-endian float32 numbers and nothing else, and `policy.json`, which says what they are.

It is made for a reader of a page of C without a library: no graph, one list of layers that each turn a row of float32 features
into the next one. docs/export.md is its specification, and `FlatPolicy` is a reader in numpy, by which every file is checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from pufferlib.errors import ExportError
from pufferlib.export.step import Step
from pufferlib.loading import NormalisedPolicy
from pufferlib.policies.cores import GRUCore, LSTMCore, MinGRUCore
from pufferlib.policies.feed_forward import FeedForward
from pufferlib.policies.images import ImageEncoder, ImageResidual
from pufferlib.policies.layers import LOG_STD_MAX, LOG_STD_MIN, Heads, InputLinear, ResidualBlock
from pufferlib.policies.observations import ObservationEncoder, OneHotLeaf
from pufferlib.policies.recurrent import Recurrent
from pufferlib.structure import path_text, structure_of

FORMAT, VERSION = "pufferlib-policy", 1
Layer = dict[str, Any]


def dump_flat(step: Step) -> dict[str, bytes]:
    """The two files. Raises ExportError for a policy with a part that the format does not know."""
    weights = Weights()
    layers: list[Layer] = []
    policy: Any = step.policy
    observation_space: Any = step.observation_space
    if isinstance(policy, NormalisedPolicy):
        mean, scale = (weights.add(part.expand(observation_space.shape)) for part in (policy.mean, policy.scale))
        layers.append({"type": "normalise", "mean": mean, "scale": scale, "clip": finite(policy.clip)})
        policy = policy.policy
    if not isinstance(policy, (FeedForward, Recurrent)):
        raise ExportError(
            f"the flat format knows the policies of the core, not {type(policy).__name__}; onnx, torchscript and pt2 take any"
        )
    inputs = describe_inputs(policy.encoder, observation_space, weights, layers)
    for module in policy.body:
        layers += describe_module(module, weights)
    state_size = 0
    if isinstance(policy, Recurrent):
        core = describe_core(policy.core, weights)
        state_size = max(layer["state_offset"] + layer["state_size"] for layer in core)
        layers += core
    layers.append(linear(policy.heads.linear.weight, policy.heads.linear.bias, weights))
    output = describe_output(policy.heads, weights)
    content, record = weights.content(), step.describe()
    description = {
        "format": FORMAT,
        "version": VERSION,
        "env": record["env"],
        "policy": record["policy"],
        "weights": {"file": "weights.bin", "count": len(content) // 4, "sha256": hashlib.sha256(content).hexdigest()},
        "observation": {
            "shape": list(observation_space.shape), "dtype": np.dtype(observation_space.dtype).name,
            "bytes": int(np.prod(observation_space.shape)) * np.dtype(observation_space.dtype).itemsize, "parts": inputs,
        },
        "state": {"size": state_size, "tensors": record["inputs"][1:]},
        "layers": layers,
        "output": output,
        "action": record["action"],
    }  # fmt: skip
    return {"weights.bin": content, "policy.json": as_text(description).encode()}


def as_text(description: dict[str, Any]) -> str:
    """JSON for people: a key of the description, or a layer, on each line."""
    lines = []
    for key, value in description.items():
        one_by_one = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if key == "layers" else json.dumps(value)
        lines.append(f" {json.dumps(key)}: {one_by_one}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


class Weights:
    """All numbers of the network, one tensor behind the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.count = 0

    def add(self, tensor: Tensor) -> dict[str, Any]:
        """Append a tensor in row-major order; where it stands, counted in numbers, and its shape."""
        array = tensor.detach().cpu().numpy()
        place = {"offset": self.count, "shape": list(array.shape)}
        self.parts.append(np.ascontiguousarray(array, "<f4").tobytes())
        self.count += array.size
        return place

    def content(self) -> bytes:
        """The file."""
        return b"".join(self.parts)


# ---------------------------------------------------------------- from the observation's bytes to the first features


def describe_inputs(encoder: Any, space: Any, weights: Weights, layers: list[Layer]) -> list[Layer]:
    """The parts of an observation in the order of the features; an image's transposition and scale become a layer."""
    if isinstance(encoder, ImageEncoder):
        layout = encoder.layout
        layers.append({
            "type": "image", "channels_first": layout.channels_first, "shape": [layout.channels, layout.height, layout.width],
            "scale": encoder.scale,
        })  # fmt: skip
        return [numbers_part(space, "", 0, int(np.prod(space.shape)), None)]
    if not isinstance(encoder, ObservationEncoder):
        raise ExportError(f"the flat format has no {type(encoder).__name__}; onnx, torchscript and pt2 take any policy")
    if len(encoder.parts) == 1 and not isinstance(encoder.parts[0], OneHotLeaf):  # the whole row
        scale = encoder.parts[0].scale
        return [numbers_part(space, "", 0, encoder.parts[0].width, None if scale is None else weights.add(scale))]
    structure, parts = structure_of(space), []
    unit = 1 if structure.is_bytes else structure.dtype.itemsize
    for part in encoder.parts:
        leaf = part.leaf
        place: Layer = {
            "path": path_text("", leaf.path), "dtype": leaf.dtype.name, "byte_offset": leaf.offset * unit, "count": leaf.size,
        }  # fmt: skip
        if isinstance(part, OneHotLeaf):
            scale = None if part.factors is None else weights.add(part.factors)
            parts.append({"type": "onehot", **place, "low": part.low.tolist(), "sizes": part.sizes.tolist(), "scale": scale})
        else:
            parts.append({"type": "numbers", **place, "scale": None if part.scale is None else weights.add(part.scale)})
    return parts


def numbers_part(space: Any, path: str, byte_offset: int, count: int, scale: Any) -> Layer:
    """Numbers of the row's own dtype."""
    dtype = np.dtype(space.dtype).name
    return {"type": "numbers", "path": path, "dtype": dtype, "byte_offset": byte_offset, "count": count, "scale": scale}


# ---------------------------------------------------------------- layers


def describe_module(module: Any, weights: Weights) -> list[Layer]:
    """A module of a policy's body as layers. Raises ExportError for one that the format does not know."""
    for kind, describe in MODULES.items():
        if isinstance(module, kind):
            return list(describe(module, weights))
    if isinstance(module, nn.Sequential):
        return [layer for part in module for layer in describe_module(part, weights)]
    raise ExportError(f"the flat format has no layer {type(module).__name__}; onnx, torchscript and pt2 take any policy")


def linear(weight: Tensor, bias: Tensor | None, weights: Weights) -> Layer:
    """y = W x + b."""
    places = {"weight": weights.add(weight), "bias": None if bias is None else weights.add(bias)}
    return {"type": "linear", "inputs": weight.shape[1], "outputs": weight.shape[0], **places}


def standardising(layer: InputLinear, weights: Weights) -> list[Layer]:
    """The statistics are folded into weights and bias."""
    scale = (layer.variance.double() + layer.floor).rsqrt()
    weight = layer.weight.double() * scale
    return [linear(weight, layer.bias.double() - weight @ layer.mean.double(), weights)]


def convolution(layer: nn.Conv2d, weights: Weights) -> list[Layer]:
    """A cross-correlation over [channels, height, width] with zeros around it, as torch's."""
    if layer.groups != 1 or layer.dilation != (1, 1) or isinstance(layer.padding, str) or layer.padding_mode != "zeros":
        raise ExportError(f"the flat format has no {layer}")
    return [{
        "type": "conv2d", "inputs": layer.in_channels, "outputs": layer.out_channels, "kernel": list(layer.kernel_size),
        "stride": list(layer.stride), "padding": list(layer.padding), "weight": weights.add(layer.weight),
        "bias": None if layer.bias is None else weights.add(layer.bias),
    }]  # fmt: skip


def pooling(layer: nn.MaxPool2d, weights: Weights) -> list[Layer]:
    """The maximum of each window; what lies outside of the image does not count."""
    settings = {"kernel": layer.kernel_size, "stride": layer.stride, "padding": layer.padding}
    pairs = {name: [value, value] if isinstance(value, int) else list(value) for name, value in settings.items()}
    if layer.ceil_mode or layer.dilation not in (1, (1, 1)):
        raise ExportError(f"the flat format has no {layer}")
    return [{"type": "max_pool2d", **pairs}]


def layer_norm(layer: nn.LayerNorm, weights: Weights) -> list[Layer]:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, over one row's features."""
    return [{
        "type": "layer_norm", "size": layer.normalized_shape[0], "epsilon": layer.eps, "weight": weights.add(layer.weight),
        "bias": weights.add(layer.bias),
    }]  # fmt: skip


def activation(name: str) -> Callable[[Any, Weights], list[Layer]]:
    """One function of each number."""
    return lambda module, weights: [{"type": "activation", "function": name}]


def gelu(module: nn.GELU, weights: Weights) -> list[Layer]:
    """The exact one, by the error function."""
    if module.approximate != "none":
        raise ExportError(f"the flat format has no {module}")
    return [{"type": "activation", "function": "gelu"}]


def residual_block(block: ResidualBlock, weights: Weights) -> list[Layer]:
    """x + down(gelu(up(norm(x))))"""
    return _residual([block.norm, block.up, nn.GELU(), block.down], weights)


def convolution_block(block: ImageResidual, weights: Weights) -> list[Layer]:
    """x + second(relu(first(relu(x))))"""
    return _residual([nn.ReLU(), block.first, nn.ReLU(), block.second], weights)


def _residual(branch: Sequence[nn.Module], weights: Weights) -> list[Layer]:
    return [{"type": "push"}, *(layer for part in branch for layer in describe_module(part, weights)), {"type": "add"}]


MODULES: dict[type, Callable[[Any, Weights], list[Layer]]] = {
    InputLinear: standardising,
    nn.Linear: lambda layer, weights: [linear(layer.weight, layer.bias, weights)],
    nn.Conv2d: convolution,
    nn.MaxPool2d: pooling,
    nn.LayerNorm: layer_norm,
    nn.GELU: gelu,
    nn.ReLU: activation("relu"),
    nn.Tanh: activation("tanh"),
    nn.Flatten: lambda module, weights: [{"type": "flatten"}],
    ResidualBlock: residual_block,
    ImageResidual: convolution_block,
}


# ---------------------------------------------------------------- memory and outputs


def describe_core(core: Any, weights: Weights) -> list[Layer]:
    """A recurrent core's layers, each with its place in the row's state. Raises ExportError for one that is not known."""
    if isinstance(core, LSTMCore):
        cell: Any = core.lstm
        return [{
            "type": "lstm", "inputs": cell.input_size, "size": cell.hidden_size, "state_offset": 0,
            "state_size": 2 * cell.hidden_size, "weight_input": weights.add(cell.weight_ih_l0),
            "weight_state": weights.add(cell.weight_hh_l0), "bias": weights.add(cell.bias_ih_l0 + cell.bias_hh_l0),
        }]  # fmt: skip
    if isinstance(core, GRUCore):
        unit: Any = core.gru
        return [{
            "type": "gru", "inputs": unit.input_size, "size": unit.hidden_size, "state_offset": 0,
            "state_size": unit.hidden_size, "weight_input": weights.add(unit.weight_ih_l0),
            "weight_state": weights.add(unit.weight_hh_l0), "bias_input": weights.add(unit.bias_ih_l0),
            "bias_state": weights.add(unit.bias_hh_l0),
        }]  # fmt: skip
    if isinstance(core, MinGRUCore):
        size, linears = core.hidden_size, [layer for layer in core.layers if isinstance(layer, nn.Linear)]
        return [
            {
                "type": "mingru", "size": size, "residual": index > 0, "state_offset": index * size, "state_size": size,
                "weight": weights.add(layer.weight), "bias": weights.add(layer.bias),
            }
            for index, layer in enumerate(linears)
        ]  # fmt: skip
    raise ExportError(f"the flat format has no {type(core).__name__}; onnx, torchscript and pt2 take any policy")


def describe_output(heads: Heads, weights: Weights) -> dict[str, Any]:
    """How the last layer's numbers split: the action parameters in order, then the value."""
    output: dict[str, Any] = {"parameter_sizes": list(heads.sizes), "value_index": sum(heads.sizes), "log_std": None}
    if heads.log_std is not None:
        output["log_std"] = {"from": "weights", "values": weights.add(heads.log_std)}
    elif len(heads.sizes) == 2 and heads.box_shape is not None:
        output["log_std"] = {"from": "output", "low": LOG_STD_MIN, "high": LOG_STD_MAX}
    return output


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if np.isfinite(value) else None
