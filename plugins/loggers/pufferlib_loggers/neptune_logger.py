"""Neptune, by its 1.x client."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pufferlib.errors import PluginError
from pufferlib.train.loggers import RunInfo
from pufferlib_loggers.common import Checkpoints, ServiceLogger, environment, shown

log = logging.getLogger(__name__)
STOP_S = 20.0
"""How long the service may take to take the rest."""


class NeptuneLogger(ServiceLogger):
    """Neptune: a series for each number at its global_step, the settings below `config`, videos and checkpoints as files.

    project: workspace/project; NEPTUNE_PROJECT. Not needed offline
    name: of the run; left out: the name of the run's directory
    group: runs that belong together, as a group tag; left out: the env's name
    tags: words to find the run by; the env's name is always one
    mode: async, sync, offline or debug; NEPTUNE_MODE, else async
    checkpoints: which are uploaded: none, the last and the best at the end, or all
    system_metrics: whether the client samples CPU, memory and GPU, in this process

    Files lie in NEPTUNE_DATA_DIRECTORY, else in `.neptune` in the run's directory. The token comes from NEPTUNE_API_TOKEN. Where
    the service cannot be reached when the run begins, the run is logged offline and a warning says so.
    """

    def __init__(
        self,
        project: str | None = None,
        name: str | None = None,
        group: str | None = None,
        tags: Sequence[str] = (),
        mode: Literal["async", "sync", "offline", "debug"] | None = None,
        checkpoints: Checkpoints = "last",
        system_metrics: bool = False,
    ) -> None:
        super().__init__(checkpoints)
        self.project, self.name, self.group, self.tags = project, name, group, tuple(tags)
        self.mode, self.system_metrics = mode, system_metrics

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Begin or resume: runs with the same custom id are one. Raises PluginError without token or project."""
        with environment(NEPTUNE_DATA_DIRECTORY=str(run.path.resolve() / ".neptune")):
            import neptune
            from neptune import exceptions
            from neptune.utils import stringify_unsupported

            state = dict(run.state) or {"custom_run_id": secrets.token_hex(16)}
            group = self.group or run.env_name
            arguments: dict[str, Any] = {
                "project": self.project, "custom_run_id": state["custom_run_id"], "name": self.name or run.name,
                "tags": list(dict.fromkeys(filter(None, [run.env_name, *self.tags]))), "source_files": [],
                "capture_stdout": False, "capture_stderr": False, "capture_traceback": False,
                "capture_hardware_metrics": self.system_metrics,
            }  # fmt: skip
            mode: Any = self.mode or os.environ.get("NEPTUNE_MODE") or "async"
            try:
                self.run = neptune.init_run(mode=mode, **arguments)
            except (exceptions.NeptuneMissingApiTokenException, exceptions.NeptuneMissingProjectNameException):
                raise PluginError("set NEPTUNE_API_TOKEN and NEPTUNE_PROJECT, or NEPTUNE_MODE=offline") from None
            except (exceptions.NeptuneConnectionLostException, OSError) as error:
                log.warning("logger neptune: the service cannot be reached, so this run is logged offline: %s", error)
                mode = "offline"
                self.run = neptune.init_run(mode=mode, **arguments)
            if group:
                self.run["sys/group_tags"].add(group)
            self.run["config"] = stringify_unsupported(dict(run.config))
        self._written: tuple[int, set[str]] = (-1, set())
        self.where = f"neptune sync --path {shown(run.path.resolve())}" if mode == "offline" else ""
        if mode in ("async", "sync"):
            with contextlib.suppress(Exception):
                self.where = self.run.get_url()
        return state

    def log(self, metrics: dict[str, float], step: int) -> None:
        """One row. Tried again, it goes on where it broke off."""
        if self._written[0] != step:
            self._written = step, set()
        done = self._written[1]
        for name, value in metrics.items():
            if name not in done:
                self.run[name].append(value, step=step)
                done.add(name)

    def log_video(self, path: Path, step: int) -> None:
        """A file in `videos`."""
        self.run[f"videos/{path.stem}"].upload(str(path))

    def log_checkpoint(self, path: Path, step: int) -> None:
        """A file in `checkpoints`."""
        self.run[f"checkpoints/{path.stem}"].upload(str(path))

    def close(self) -> None:
        """Hand over the rest."""
        self.run.stop(seconds=STOP_S)
