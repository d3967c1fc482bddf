"""A reader of the flat format in plain numpy: what each layer computes, for readers in other languages to follow."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from pufferlib.errors import ExportError

Array = np.ndarray[Any, Any]
ERF = np.vectorize(math.erf, otypes=[np.float64])


class FlatPolicy:
    """The network of a `policy.json` and the content of its `weights.bin`. Raises ExportError if they do not belong together."""

    def __init__(self, description: dict[str, Any], weights: bytes) -> None:
        self.description = description
        record = description["weights"]
        if len(weights) != 4 * record["count"] or hashlib.sha256(weights).hexdigest() != record["sha256"]:
            raise ExportError("weights.bin is not the one that policy.json describes: export both anew")
        self.numbers = np.frombuffer(weights, "<f4")
        self.saved: list[Array] = []

    def run(self, inputs: list[Array]) -> list[Array]:
        """One step of all rows. Inputs and outputs are those of `Step`, in its order."""
        observations, *tensors = inputs
        rows = len(observations)
        state = (
            np.concatenate([tensor.reshape(rows, -1) for tensor in tensors], 1) if tensors else np.zeros((rows, 0), np.float32)
        )
        state = state.copy()
        x = self.features(observations)
        for layer in self.description["layers"]:
            x = getattr(self, layer["type"])(layer, x, state)
        following, first = [], 0
        for tensor in tensors:
            size = int(np.prod(tensor.shape[1:]))
            following.append(state[:, first : first + size].reshape(tensor.shape))
            first += size
        return [*self.outputs(x), *following]

    def features(self, observations: Array) -> Array:
        """The parts of an observation as float32, side by side."""
        rows = len(observations)
        raw = np.ascontiguousarray(observations).reshape(rows, -1).view(np.uint8)
        found = []
        for part in self.description["observation"]["parts"]:
            dtype = np.dtype(part["dtype"])
            values = raw[:, part["byte_offset"] :][:, : part["count"] * dtype.itemsize].copy().view(dtype)
            if part["type"] == "numbers":
                found.append(values.astype(np.float32) * (1 if part["scale"] is None else self.at(part["scale"])))
                continue
            factors = np.zeros(part["count"]) if part["scale"] is None else self.at(part["scale"])
            for column, (low, size, factor) in enumerate(zip(part["low"], part["sizes"], factors, strict=True)):
                number = values[:, column : column + 1]
                codes = number.astype(np.int64) - low == np.arange(size)
                found.append((number * factor if factor else codes).astype(np.float32))
        return np.concatenate(found, 1)

    def outputs(self, x: Array) -> list[Array]:
        """The last layer's numbers as action parameters and value."""
        output, action = self.description["output"], self.description["action"]
        value = x[:, output["value_index"]]
        parts = np.split(x[:, : output["value_index"]], np.cumsum(output["parameter_sizes"])[:-1], 1)
        if action["type"] != "box":
            return [*parts, value]
        shape = (len(x), *action["shape"])
        rule = output["log_std"]
        if rule["from"] == "weights":
            log_std = np.broadcast_to(self.at(rule["values"]), parts[0].shape)
        else:
            log_std = np.clip(parts[1], rule["low"], rule["high"])
        return [parts[0].reshape(shape), log_std.reshape(shape), value]

    def at(self, place: dict[str, Any]) -> Array:
        """A tensor of the weights."""
        count = math.prod(place["shape"])
        return self.numbers[place["offset"] : place["offset"] + count].reshape(place["shape"])

    # ------------------------------------------------------------ layers: (its record, features, state) -> features

    def linear(self, layer: Any, x: Any, state: Array) -> Any:
        return x @ self.at(layer["weight"]).T + (0 if layer["bias"] is None else self.at(layer["bias"]))

    def activation(self, layer: Any, x: Any, state: Array) -> Any:
        kind = layer["function"]
        if kind == "gelu":
            return (0.5 * x * (1 + ERF(x / math.sqrt(2)))).astype(np.float32)
        return np.maximum(x, 0) if kind == "relu" else np.tanh(x)

    def normalise(self, layer: Any, x: Any, state: Array) -> Any:
        normal = (x - self.at(layer["mean"]).reshape(-1)) * self.at(layer["scale"]).reshape(-1)
        return normal if layer["clip"] is None else np.clip(normal, -layer["clip"], layer["clip"])

    def layer_norm(self, layer: Any, x: Any, state: Array) -> Any:
        mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
        return (x - mean) / np.sqrt(variance + layer["epsilon"]) * self.at(layer["weight"]) + self.at(layer["bias"])

    def push(self, layer: Any, x: Any, state: Array) -> Any:
        self.saved.append(x)
        return x

    def add(self, layer: Any, x: Any, state: Array) -> Any:
        return x + self.saved.pop()

    def image(self, layer: Any, x: Any, state: Array) -> Any:
        channels, height, width = layer["shape"]
        pixels = x * np.float32(layer["scale"])
        if layer["channels_first"]:
            return pixels.reshape(-1, channels, height, width)
        return pixels.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)

    def flatten(self, layer: Any, x: Any, state: Array) -> Any:
        return x.reshape(len(x), -1)

    def conv2d(self, layer: Any, x: Any, state: Array) -> Any:
        windows = _windows(x, layer, 0.0)  # [rows, channels, height, width, kernel height, kernel width]
        out = np.einsum("rchwij,ocij->rohw", windows, self.at(layer["weight"]), optimize=True)
        return out if layer["bias"] is None else out + self.at(layer["bias"])[:, None, None]

    def max_pool2d(self, layer: Any, x: Any, state: Array) -> Any:
        return _windows(x, layer, -np.inf).max((4, 5))

    def lstm(self, layer: Any, x: Any, state: Array) -> Any:
        own = _own_state(layer, state)
        hidden, cell = np.split(own, 2, 1)
        gates = x @ self.at(layer["weight_input"]).T + hidden @ self.at(layer["weight_state"]).T + self.at(layer["bias"])
        enter, forget, candidate, leave = np.split(gates, 4, 1)
        cell = _sigmoid(forget) * cell + _sigmoid(enter) * np.tanh(candidate)
        hidden = _sigmoid(leave) * np.tanh(cell)
        own[:] = np.concatenate([hidden, cell], 1)
        return hidden

    def gru(self, layer: Any, x: Any, state: Array) -> Any:
        own = _own_state(layer, state)
        from_input = np.split(x @ self.at(layer["weight_input"]).T + self.at(layer["bias_input"]), 3, 1)
        from_state = np.split(own @ self.at(layer["weight_state"]).T + self.at(layer["bias_state"]), 3, 1)
        reset, keep = (_sigmoid(from_input[k] + from_state[k]) for k in (0, 1))
        candidate = np.tanh(from_input[2] + reset * from_state[2])
        own[:] = (1 - keep) * candidate + keep * own
        return own.copy()

    def mingru(self, layer: Any, x: Any, state: Array) -> Any:
        own = _own_state(layer, state)
        gate, candidate = np.split(x @ self.at(layer["weight"]).T + self.at(layer["bias"]), 2, 1)
        update = _sigmoid(gate)
        own[:] = (1 - update) * own + update * np.where(candidate >= 0, candidate + 0.5, _sigmoid(candidate))
        return x + own if layer["residual"] else own.copy()


def _own_state(layer: Any, state: Array) -> Any:
    """A view: the layer writes its next state there."""
    return state[:, layer["state_offset"] : layer["state_offset"] + layer["state_size"]]


def _sigmoid(x: Any) -> Any:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _windows(x: Any, layer: Any, outside: float) -> Any:
    """Every window of a kernel over [rows, channels, height, width], with `outside` around the image."""
    (top, left), kernel, (down, across) = layer["padding"], tuple(layer["kernel"]), layer["stride"]
    padded = np.pad(x, ((0, 0), (0, 0), (top, top), (left, left)), constant_values=outside)
    return np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3))[:, :, ::down, ::across]
