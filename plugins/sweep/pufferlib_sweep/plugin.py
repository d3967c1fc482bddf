"""What this package registers. Light: neither Optuna nor scikit-learn is imported before a sweep starts."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import CommandSpec, NameSpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_commands() -> Iterable[CommandSpec]:
    return [CommandSpec("sweep", target="pufferlib_sweep.command:run", summary="search for the best settings of training")]


@hookimpl
def pufferlib_names() -> Iterable[NameSpec]:
    return [
        NameSpec("Protein", target="pufferlib_sweep.api:Protein", summary="Search for the best settings, in Python"),
        NameSpec("ProteinSampler", target="pufferlib_sweep.protein:ProteinSampler", summary="Protein as an Optuna sampler"),
    ]
