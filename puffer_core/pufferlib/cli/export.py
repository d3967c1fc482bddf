"""`puffer export RUN`: the trained policy as a file for other programs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pufferlib.cli.flags import Arguments, scan
from pufferlib.config.run_config import Schema, Setting
from pufferlib.config.values import Kind
from pufferlib.errors import ConfigError

HELP = """\
usage: puffer export RUN [flags]

Write the policy of a run directory, or of a checkpoint file, in a format that other programs run: one step, for any number of
rows, a recurrent state in and out. What is written is checked against the policy on random observations first.

  --format FORMAT       onnx, torchscript, pt2 (torch.export) or flat (weights.bin, policy.json); (by the name of --out, or onnx)
  --out PATH            the file, for flat a folder (policy.onnx and so on, in the run directory)
  --checkpoint WHICH    of a run directory: latest, best, or a file (latest)

  puffer export runs/ocean-breakout/...
  puffer export runs/ocean-breakout/... --checkpoint best --out breakout.onnx
  puffer export runs/ocean-breakout/... --format flat --out breakout
"""
SUFFIXES = {"onnx": ".onnx", "torchscript": ".torchscript", "pt2": ".pt2", "flat": ""}
"""The formats of `pufferlib.export`, which imports torch, and what their files' names end with."""
SETTINGS = {
    "format": Setting(Kind("text", choices=tuple(SUFFIXES))),
    "out": Setting(Kind("text")),
    "checkpoint": Setting(Kind("text"), "latest"),
}


@dataclass
class Request:
    """What is asked for."""

    run: str
    format: str
    out: Path
    checkpoint: str


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    request = read_request(arguments)

    from pufferlib.export import export_policy
    from pufferlib.loading import find_checkpoint, load_policy, make_env_of

    checkpoint = find_checkpoint(request.run, request.checkpoint)
    env = make_env_of(checkpoint)
    try:
        spaces = env.single_observation_space, env.single_action_space
        policy = load_policy(checkpoint, env=env)
        exported = export_policy(policy, *spaces, request.out, request.format, env_name=env.name)
    finally:
        env.close()
    record = exported.step.describe()
    print(f"policy   {record['policy']} of {record['env']}, checkpoint {checkpoint.name}")
    print(f"inputs   {tensors(record['inputs'])}")
    print(f"outputs  {tensors(record['outputs'])}")
    print(f"checked  against the policy on random observations: largest difference {exported.difference:.2g}")
    for path in exported.files:
        print(f"wrote    {path}, {path.stat().st_size:,} bytes")
    return 0


def read_request(arguments: Arguments) -> Request:
    """Check everything that can be checked before torch is imported. Raises ConfigError."""
    from pufferlib.train.run_dir import RunDirectory

    arguments.at_most(1, "puffer export")
    if not arguments.positional:
        raise ConfigError("what? `puffer export RUN`: a run directory or a checkpoint file in one; see --help")
    schema, target = Schema(SETTINGS), arguments.positional[0]
    options: dict[str, Any] = {key: setting.default for key, setting in SETTINGS.items()}
    options.update({given.key: schema.convert(given) for given in arguments.flags})
    directory = RunDirectory.containing(target)
    chosen = options["format"] or format_of(options["out"])
    out = Path(options["out"]) if options["out"] else Path(os.path.relpath(directory.path)) / f"policy{SUFFIXES[chosen]}"
    if not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    return Request(target, chosen, out, options["checkpoint"])


def format_of(out: str | None) -> str:
    """The format that a file's name ends with; onnx where none is given. Raises ConfigError for a name that says nothing."""
    if not out:
        return "onnx"
    found = [name for name, suffix in SUFFIXES.items() if suffix and out.endswith(suffix)]
    if not found:
        known = ", ".join(filter(None, SUFFIXES.values()))
        raise ConfigError(f"--out {out}: which --format? ({', '.join(SUFFIXES)}; a name that ends with {known} says it)")
    return found[0]


def tensors(records: list[dict[str, Any]]) -> str:
    """`observations float32 [rows, 118]`, and so on."""
    return ", ".join(f"{r['name']} {r['dtype']} [{', '.join(['rows', *map(str, r['shape'])])}]" for r in records)
