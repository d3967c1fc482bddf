"""How a step becomes the content of files, and how that is read back for the check."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from pufferlib.errors import ExportError
from pufferlib.export.check import Runner
from pufferlib.export.flat import dump_flat
from pufferlib.export.flat_reader import FlatPolicy
from pufferlib.export.step import Step

Contents = dict[str, bytes]
"""By file name; the name "" stands for the path itself, where a format writes a single file."""
RECORD = "pufferlib.json"
"""Where the step's description stands in TorchScript and torch.export files (extra files) and in ONNX (metadata)."""
EXAMPLE_ROWS = 3
"""Times what the policy needs at least. With 1 or 2, torch would take the number for a constant."""


class Format(NamedTuple):
    """One format."""

    summary: str
    dump: Callable[[Step], Contents]
    load: Callable[[Contents], Runner]
    reads_bytes: bool
    """Whether it can express how a structured observation of several dtypes is read."""


def dump_torchscript(step: Step) -> Contents:
    """A traced module with its operations and weights."""
    with _recording("TorchScript"):
        traced = torch.jit.trace(step, _example(step), check_trace=False)  # type: ignore[no-untyped-call]
        file = io.BytesIO()
        torch.jit.save(traced, file, _extra_files={RECORD: json.dumps(step.describe())})
    return {"": file.getvalue()}


def load_torchscript(contents: Contents) -> Runner:
    with _quiet():
        return _runner(torch.jit.load(io.BytesIO(contents[""])))  # type: ignore[no-untyped-call]


def dump_torch_export(step: Step) -> Contents:
    """A `.pt2` archive, for `torch.export.load` and AOTInductor."""
    file = io.BytesIO()
    with _recording("torch.export"):
        program = torch.export.export(step, _example(step), dynamic_shapes=_dynamic(step))
        torch.export.save(program, file, extra_files={RECORD: json.dumps(step.describe())})
    return {"": file.getvalue()}


def load_torch_export(contents: Contents) -> Runner:
    with _quiet():
        return _runner(torch.export.load(io.BytesIO(contents[""])).module())


def dump_onnx(step: Step) -> Contents:
    """An ONNX model whose inputs and outputs are named as in `Step`; the axis of rows is dynamic."""
    for package in ("onnx", "onnxscript", "onnxruntime"):  # before the work that needs them
        importlib.import_module(package)
    with _recording("ONNX"):
        program: Any = torch.onnx.export(
            step, _example(step), dynamo=True, input_names=step.input_names, output_names=step.output_names,
            dynamic_shapes=_dynamic(step), verbose=False,
        )  # fmt: skip
    program.model.metadata_props[RECORD] = json.dumps(step.describe())
    return {"": program.model_proto.SerializeToString()}


def load_onnx(contents: Contents) -> Runner:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(contents[""], options, providers=["CPUExecutionProvider"])
    names = [node.name for node in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, inputs, strict=True)))


def load_flat(contents: Contents) -> Runner:
    return FlatPolicy(json.loads(contents["policy.json"]), contents["weights.bin"]).run


FORMATS = {
    "onnx": Format("ONNX, for ONNX Runtime and others", dump_onnx, load_onnx, False),
    "torchscript": Format("TorchScript, for torch.jit.load and libtorch", dump_torchscript, load_torchscript, False),
    "pt2": Format("torch.export, for torch.export.load", dump_torch_export, load_torch_export, True),
    "flat": Format("weights.bin and policy.json, for a small reader in C", dump_flat, load_flat, True),
}


def _example(step: Step) -> tuple[torch.Tensor, ...]:
    return step.example(EXAMPLE_ROWS * step.rows)


def _dynamic(step: Step) -> Any:
    """Axis 0 of every input may have any length. The state's tensors are the second argument, a tuple, if there are any."""
    rows = {0: torch.export.Dim.DYNAMIC}
    states = tuple(rows for _ in step.input_names[1:])
    return (rows, states) if states else (rows,)


@contextlib.contextmanager
def _recording(what: str) -> Iterator[None]:
    """Quietly, and any error of torch's recorders, which raise many types, becomes an ExportError."""
    try:
        with _quiet(), contextlib.redirect_stdout(io.StringIO()):
            yield
    except ModuleNotFoundError:
        raise
    except Exception as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise ExportError(f"{what} cannot express this policy: {type(error).__name__}: {reason}") from error


def _runner(module: Any) -> Runner:
    def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
        with torch.no_grad():
            return [output.numpy() for output in module(*map(torch.from_numpy, inputs))]

    return run


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Torch's exporters warn about themselves: of deprecations, and of constants that the check would find."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)
