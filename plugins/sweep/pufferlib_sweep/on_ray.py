"""Trials on the machines of a Ray cluster: an actor for each run, which trains there as `puffer train` does.

The machines need the same packages, not a folder in common: rows of metrics come over while a run lasts, and its directory
when it has ended. A run that waits for room on the cluster is not taken for one that hangs.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pufferlib.atomic import replacing
from pufferlib.config.files import dump_toml
from pufferlib.errors import ConfigError, PluginError
from pufferlib.vector.shape import available_cpus
from pufferlib_sweep.launch import LOGS, TRIALS
from pufferlib_sweep.process import LocalRun, train_command
from pufferlib_sweep.settings import SweepConfig

ANSWER_S = 30.0
"""How long a run's machine may take to answer once it works."""


def load_ray() -> Any:
    """The module `ray`. Raises PluginError with what to install."""
    try:
        import ray
    except ImportError as error:
        raise PluginError(f"--sweep.backend ray needs Ray ({error}): pip install 'pufferlib-sweep[ray]'") from error
    return ray


class RayLauncher:
    """Joins the cluster, or starts one on this machine where none is named, and leaves it at the end."""

    def __init__(self, directory: Path, config: SweepConfig) -> None:
        self.directory = directory
        self.ray = load_ray()
        self.is_ours = not self.ray.is_initialized()
        if self.is_ours:
            target = config.ray_address or os.environ.get("RAY_ADDRESS") or "local"
            alone = {"num_cpus": available_cpus(), "include_dashboard": False} if target == "local" else {}
            try:
                self.ray.init(target, logging_level="warning", log_to_driver=False, **alone)
            except ConnectionError as error:
                raise ConfigError(f"--sweep.ray-address {target}: no Ray cluster answers there ({error})") from error
        self.check_room(config)
        self.actor = self.ray.remote(RunOnNode).options(
            num_cpus=config.trial_cpus, num_gpus=config.trial_gpus, max_restarts=0, scheduling_strategy="SPREAD"
        )

    def check_room(self, config: SweepConfig) -> None:
        """Raise ConfigError if no machine of the cluster could ever hold a trial."""
        wanted = {"CPU": config.trial_cpus, "GPU": config.trial_gpus}
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        if not any(all(node.get(name, 0) >= amount for name, amount in wanted.items()) for node in nodes):
            has = "; ".join(f"{node.get('CPU', 0):g} CPU, {node.get('GPU', 0):g} GPU" for node in nodes)
            self.close()
            raise ConfigError(
                f"--sweep.trial-cpus {config.trial_cpus:g}, --sweep.trial-gpus {config.trial_gpus:g}: no machine of the Ray "
                f"cluster has so much (they have {has})"
            )

    def launch(self, name: str, tables: Mapping[str, Any], slot: int) -> RayRun:
        """Train with these settings, wherever there is room."""
        stem = self.directory / LOGS / name.replace("/", "-")
        with replacing(stem.with_suffix(".toml"), "w") as file:
            file.write(dump_toml(tables))
        actor = self.actor.remote(tables["env_name"], dump_toml(tables))
        return RayRun(self.ray, actor, self.directory / TRIALS / name, stem.with_suffix(".log"))

    def close(self) -> None:
        """Leave the cluster, unless the user had joined it."""
        if self.is_ours:
            self.ray.shutdown()


class RayRun:
    """This process's end of a run on the cluster."""

    def __init__(self, ray: Any, actor: Any, run_dir: Path, log_file: Path) -> None:
        self.ray, self.actor, self.run_dir, self.log_file = ray, actor, run_dir, log_file
        self.new: list[dict[str, Any]] = []
        self.how: str | None = None
        self.asked = actor.look.remote()
        self.began = self.closed = False

    @property
    def waits(self) -> bool:
        """Whether it has not begun: there is no room on the cluster yet."""
        return not self.began

    def rows(self) -> list[dict[str, Any]]:
        """The rows of metrics that are new since the last call."""
        new, self.new = self.new, []
        return new

    def ended(self) -> str | None:
        """None while it runs or waits for room; then how it ended: empty after success, else the reason in one line."""
        if self.how is not None:
            return self.how
        done, _ = self.ray.wait([self.asked], timeout=0)
        if not done:
            return None
        try:
            rows, self.how = self.ray.get(self.asked)
            self.began = True
            self.new += rows
            if self.how is None:
                self.asked = self.actor.look.remote()
                return None
            self.fetch()
        except self.ray.exceptions.RayError as error:
            self.how = f"lost on the cluster: {str(error).strip().splitlines()[0]}"
        return self.how

    def fetch(self) -> None:
        """Bring the run's directory and what it printed here."""
        packed, printed = self.ray.get(self.actor.results.remote(), timeout=ANSWER_S * 10)
        self.log_file.write_bytes(printed)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            careful: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.10.12, 3.11.4 and later
            archive.extractall(self.run_dir, **careful)

    def stop(self) -> None:
        """Ask it to end its step, save and end."""
        if not self.began:
            self.how = "stopped before it began"
            return
        with contextlib.suppress(self.ray.exceptions.RayError):
            self.actor.stop.remote()

    def close(self) -> None:
        """Nothing of it is left on the cluster when this returns."""
        if self.closed:
            return
        self.closed = True
        if self.began:
            with contextlib.suppress(self.ray.exceptions.RayError, TimeoutError):
                self.ray.get(self.actor.close.remote(), timeout=ANSWER_S)
        self.ray.kill(self.actor)


class RunOnNode:
    """A run on the machine where this actor lives, in a folder of its own."""

    def __init__(self, env_name: str, settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="puffer-sweep-"))
        file, self.run_dir, self.log = self.folder / "settings.toml", self.folder / "run", self.folder / "log"
        file.write_text(settings, encoding="utf-8")
        self.run = LocalRun(train_command(env_name, file, self.run_dir), self.run_dir, self.log)

    def look(self) -> tuple[list[dict[str, Any]], str | None]:
        """New rows, and how the run ended, if it has."""
        how = self.run.ended()
        return self.run.rows(), how

    def stop(self) -> None:
        """As LocalRun.stop."""
        self.run.stop()

    def results(self) -> tuple[bytes, bytes]:
        """The run's directory as a tar archive, and what it printed."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            if self.run_dir.is_dir():
                archive.add(self.run_dir, ".")
        return packed.getvalue(), self.log.read_bytes()

    def close(self) -> None:
        """End the run, and remove its folder."""
        self.run.close()
        shutil.rmtree(self.folder, ignore_errors=True)
