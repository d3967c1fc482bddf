"""Starts the runs of trials on this machine, each with its share of the cores and GPUs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pufferlib.atomic import replacing
from pufferlib.config.files import dump_toml
from pufferlib.vector.shape import available_cpus
from pufferlib_sweep.process import LocalRun, Run, train_command

TRIALS, LOGS = "trials", "logs"
"""Folders of a sweep: the runs' directories; what they print, and the settings they were given."""


class Launcher(Protocol):
    """Starts runs somewhere."""

    def launch(self, name: str, tables: Mapping[str, Any], slot: int) -> Run:
        """Train with these settings.

        name: of the run's directory below the sweep's trials. slot: which of the trials at once it is, 0, 1, ...
        """

    def close(self) -> None:
        """No run follows."""


class LocalLauncher:
    """Runs as processes of this machine, below the sweep's directory."""

    def __init__(self, directory: Path, parallel: int = 1) -> None:
        self.directory, self.parallel = directory, parallel
        self.gpus = visible_gpus() if parallel > 1 else []

    def launch(self, name: str, tables: Mapping[str, Any], slot: int) -> LocalRun:
        """Train with these settings, in a process group of its own."""
        stem = self.directory / LOGS / name.replace("/", "-")
        run_dir = self.directory / TRIALS / name
        settings = stem.with_suffix(".toml")
        with replacing(settings, "w") as file:
            file.write(dump_toml(tables))
        run = LocalRun(
            train_command(tables["env_name"], settings, run_dir), run_dir, stem.with_suffix(".log"), self.environment(slot)
        )
        cores = self.cores(slot)
        if cores:
            with contextlib.suppress(OSError):  # it has ended already
                os.sched_setaffinity(run.pid, cores)
        return run

    def environment(self, slot: int) -> dict[str, str]:
        """Variables that give the slot its GPU."""
        return {"CUDA_VISIBLE_DEVICES": self.gpus[slot % len(self.gpus)]} if len(self.gpus) > 1 else {}

    def cores(self, slot: int) -> list[int]:
        """The cores of that slot; none where all may use all. The library counts its workers by them."""
        if self.parallel == 1 or not hasattr(os, "sched_setaffinity") or available_cpus() < self.parallel:
            return []
        return sorted(os.sched_getaffinity(0))[slot :: self.parallel]

    def close(self) -> None:
        """Nothing is held."""


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    return [str(index) for index, line in enumerate(listed.splitlines()) if line.startswith("GPU ")]
