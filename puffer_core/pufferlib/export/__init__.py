"""Trained policies as files that other programs run: TorchScript, torch.export, ONNX, and flat weights for a small C reader.

    policy = pufferlib.load_policy("runs/ocean-breakout/...")
    export_policy(policy, env.single_observation_space, env.single_action_space, "breakout.onnx", "onnx")

What is exported is one step, see `Step`: observations (and the state) in, action parameters, value (and the state) out, for any
number of rows. Sampling, action masks and clipping to an env's bounds are left to the program that acts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from gymnasium import spaces
from torch import nn

from pufferlib.atomic import replacing
from pufferlib.errors import ConfigError, ExportError
from pufferlib.export.check import largest_difference
from pufferlib.export.formats import FORMATS
from pufferlib.export.step import Step
from pufferlib.structure import structure_of

__all__ = ["FORMATS", "Exported", "export_policy"]


class Exported(NamedTuple):
    """What was written, and how it was checked."""

    files: list[Path]
    difference: float
    """The largest absolute difference of any output from the policy's own, on random observations over some steps."""
    step: Step
    """What the files compute; `describe()` names its inputs and outputs."""


def export_policy(
    policy: nn.Module, observation_space: spaces.Space[Any], action_space: spaces.Space[Any], path: str | Path, format: str,
    *, env_name: str = "",
) -> Exported:  # fmt: skip
    """Write `policy` to `path` in one of FORMATS, after what is to be written was read back and agreed with the policy.

    policy: put into evaluation mode, on the CPU
    path: a file; for `flat` a folder. What is there is replaced, atomically
    env_name: recorded in the file
    Raises ConfigError for an unknown format, ExportError if a package is missing, the policy holds what the format cannot
    express, or the outputs differ; nothing is written then.
    """
    if format not in FORMATS:
        raise ConfigError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    chosen = FORMATS[format]
    if not chosen.reads_bytes and structure_of(observation_space).is_bytes:
        others = ", ".join(name for name, other in FORMATS.items() if other.reads_bytes)
        raise ExportError(
            f"{format} cannot take rows of bytes apart, which observations of several dtypes are; {others} can, or give all "
            "parts of the observation one dtype"
        )
    step = Step(policy.cpu().eval(), observation_space, action_space, env_name)
    try:
        contents = chosen.dump(step)
        difference = largest_difference(step, chosen.load(contents))
    except ModuleNotFoundError as error:
        raise ExportError(f"format {format} needs the package {error.name!r}: pip install 'pufferlib[export]'") from error
    target = Path(path)
    if target.is_dir() and "" in contents:
        raise ConfigError(f"{target} is a folder; format {format} writes one file")
    if target.is_file() and "" not in contents:
        raise ConfigError(f"{target} is a file; format {format} writes a folder")
    files = []
    for name, content in contents.items():
        files.append(target / name if name else target)
        try:
            with replacing(files[-1]) as file:
                file.write(content)
        except OSError as error:
            raise ExportError(f"cannot write {files[-1]}: {error.strerror or error}") from error
    return Exported(files, difference, step)
