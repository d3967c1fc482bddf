"""Trackio."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pufferlib.train.loggers import RunInfo
from pufferlib_loggers.common import PROJECT, Checkpoints, ServiceLogger, setting, shown


class TrackioLogger(ServiceLogger):
    """Trackio: rows at their global_step, the settings as config, videos, checkpoints as artifacts.

    project: the project; TRACKIO_PROJECT, else pufferlib
    name: of the run; left out: the name of the run's directory
    group: runs that belong together; left out: the env's name
    space_id: a Space of Hugging Face that gets the rows; TRACKIO_SPACE_ID, else they stay on this machine
    checkpoints: which become artifacts: none, the last and the best at the end, or all
    system_metrics: whether the package samples CPU, memory and GPU, in this process

    The database lies in TRACKIO_DIR, else in `trackio` in the run's directory. The package takes one folder for a whole process:
    a second run in it writes to the folder of the first. `trackio show` wants the same TRACKIO_DIR.
    """

    def __init__(
        self,
        project: str | None = None,
        name: str | None = None,
        group: str | None = None,
        space_id: str | None = None,
        checkpoints: Checkpoints = "last",
        system_metrics: bool = False,
    ) -> None:
        super().__init__(checkpoints)
        self.project, self.name, self.group = project, name, group
        self.space_id, self.system_metrics = space_id, system_metrics

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Begin, or go on with the run of that name. Raises what the service raises."""
        if "trackio" not in sys.modules:  # it reads the folder when it is imported
            os.environ.setdefault("TRACKIO_DIR", str(run.path.resolve() / "trackio"))
        import trackio

        project = run.state.get("project") or setting(self.project, "TRACKIO_PROJECT", PROJECT)
        self.run: Any = trackio.init(
            project=project, name=run.state.get("name") or self.name or run.name, group=self.group or run.env_name or None,
            space_id=self.space_id, config=dict(run.config), resume="allow" if run.state else "never", embed=False,
            auto_log_gpu=self.system_metrics, auto_log_cpu=self.system_metrics,
        )  # fmt: skip
        trackio.context_vars.current_run.set(None)  # else the next run of this process would end this one
        if self.run.url is None:
            with contextlib.suppress(Exception):  # not a public part of the package; the run's journal does as well
                from trackio.sqlite_storage import SQLiteStorage

                newest = SQLiteStorage.get_max_step_for_run(project, self.run.name, run_id=self.run.id)
                self.newest_step = -1 if newest is None else newest
            self.where = f"TRACKIO_DIR={shown(Path(trackio.TRACKIO_DIR))} trackio show --project {project}"
        else:
            self.where = self.run.url
        return {"project": project, "name": self.run.name}

    def log(self, metrics: dict[str, float], step: int) -> None:
        """One row. The package writes it within a second."""
        self.run.log(dict(metrics), step=step)

    def log_video(self, path: Path, step: int) -> None:
        """Beside the numbers of that step."""
        import trackio

        self.run.log({"videos/policy": trackio.Video(str(path))}, step=step)

    def log_checkpoint(self, path: Path, step: int) -> None:
        """A version of the artifact `policy-<run>`."""
        self.run.log_artifact(str(path), name=f"policy-{self.run.name}", type="model", aliases=[f"step-{step}"])

    def close(self) -> None:
        """Hand over the rest."""
        self.run.finish()
