"""Weights & Biases."""

from __future__ import annotations

import logging
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pufferlib.train.loggers import RunInfo
from pufferlib_loggers.common import PROJECT, Checkpoints, ServiceLogger, setting, shown
from pufferlib_loggers.wandb_files import newest_step

log = logging.getLogger(__name__)
INIT_TIMEOUT_S, FINISH_TIMEOUT_S = 30, 25
"""How long the service may take to answer before the run goes on offline; to take the rest at the end."""
REFUSED = re.compile(r"permission denied|returned error 4\d\d|HTTP 4\d\d", re.IGNORECASE)
"""The service answers, and does not want the run: nothing to go on offline for."""
EXIT_CODES = {"finished": 0, "interrupted": 255, "failed": 1}
"""255 is what the service takes for an end by Ctrl-C."""


class WandbLogger(ServiceLogger):
    """Weights & Biases: rows with global_step as the service's step, the settings as config, videos, checkpoints as artifacts.

    project: the project; WANDB_PROJECT, else pufferlib
    entity: the user or team; WANDB_ENTITY, else that of the API key
    name: of the run; WANDB_NAME, else the name of the run's directory
    group: runs that belong together; WANDB_RUN_GROUP, else the env's name
    tags: words to find the run by; the env's name is always one
    notes: a longer text; WANDB_NOTES
    job_type: WANDB_JOB_TYPE, else train
    mode: online, offline, disabled or shared; WANDB_MODE, else online
    checkpoints: which become artifacts: none, the last and the best at the end, or all
    system_metrics: whether the service samples CPU, memory and GPU, every 15 s

    Files lie in WANDB_DIR, else in the run's directory. Where the service cannot be reached when the run begins, the run is
    logged offline and a warning says so; later outages are bridged by the service's own process. An API key comes from
    `wandb login` or WANDB_API_KEY.
    """

    def __init__(
        self,
        project: str | None = None,
        entity: str | None = None,
        name: str | None = None,
        group: str | None = None,
        tags: Sequence[str] = (),
        notes: str | None = None,
        job_type: str | None = None,
        mode: Literal["online", "offline", "disabled", "shared"] | None = None,
        checkpoints: Checkpoints = "last",
        system_metrics: bool = True,
    ) -> None:
        super().__init__(checkpoints)
        self.project, self.entity, self.name, self.group = project, entity, name, group
        self.tags, self.notes, self.job_type, self.mode = tuple(tags), notes, job_type, mode
        self.system_metrics = system_metrics

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Begin or resume. Raises what the service raises, unless it is only out of reach."""
        import wandb

        self.run_info = run
        state = dict(run.state) or {"id": secrets.token_hex(4)}
        choices: dict[str, Any] = {"console": "off", "init_timeout": INIT_TIMEOUT_S, "x_disable_stats": not self.system_metrics}
        if "finish_timeout" in wandb.Settings.model_fields:
            choices["finish_timeout"] = FINISH_TIMEOUT_S
        if not {"WANDB_QUIET", "WANDB_SILENT"} & os.environ.keys():
            choices["quiet"] = True
        if timeout := os.environ.get("WANDB_INIT_TIMEOUT"):
            choices["init_timeout"] = float(timeout)
        arguments: dict[str, Any] = {
            "project": state.get("project") or setting(self.project, "WANDB_PROJECT", PROJECT),
            "entity": state.get("entity") or self.entity,
            "id": state["id"],
            "name": setting(self.name, "WANDB_NAME", run.name),
            "group": setting(self.group, "WANDB_RUN_GROUP", run.env_name) or None,
            "job_type": setting(self.job_type, "WANDB_JOB_TYPE", "train"),
            "tags": list(dict.fromkeys(filter(None, [run.env_name, *self.tags, *os.environ.get("WANDB_TAGS", "").split(",")]))),
            "notes": self.notes,
            "config": dict(run.config),
            "dir": os.environ.get("WANDB_DIR") or str(run.path.resolve()),
            "settings": wandb.Settings(**choices),
        }
        mode: Any = self.mode or os.environ.get("WANDB_MODE")
        self.run = self._init(mode, arguments)
        if self.run.offline:
            folder = Path(self.run.settings.sync_dir).resolve().parent
            self.newest_step = self._known_offline(folder, state["id"])
            self.where = f"wandb sync {shown(folder)}/offline-run-*-{state['id']}"
            return {**state, "project": arguments["project"]}
        if run.state:
            self.newest_step = self.run.step - 1
        self.where = self.run.url or ""
        return {"id": state["id"], "project": self.run.project, "entity": self.run.entity}

    def _known_offline(self, folder: Path, run_id: str) -> int | None:
        """The newest step in the run's files; None, to let the run's journal say it, for a part that was logged online."""
        was_online = any(folder.glob(f"run-*-{run_id}"))
        return None if was_online else newest_step(folder, run_id)

    def _init(self, mode: Any, arguments: dict[str, Any]) -> Any:
        import wandb

        try:
            return wandb.init(mode=mode, resume=None if is_offline(mode) else "allow", **arguments)
        except (wandb.errors.CommError, TimeoutError, ConnectionError) as error:
            if isinstance(error, wandb.errors.AuthenticationError) or REFUSED.search(str(error)):
                raise
            log.warning("logger wandb: the service cannot be reached, so this run is logged offline: %s", first_line(error))
            wandb.teardown()  # its own process takes the same run a second time only when it is new itself
            return wandb.init(mode="offline", **arguments)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """One row, which is complete: nothing of it waits for the next one."""
        self.run.log(metrics, step=step, commit=True)

    def log_video(self, path: Path, step: int) -> None:
        """At the next free step of the service, as its steps only go up; `global_step` says which it is of."""
        import wandb

        video: Any = wandb.Video(str(path), format=path.suffix.removeprefix(".").lower())
        self.run.log({"videos/policy": video, "global_step": step})

    def log_checkpoint(self, path: Path, step: int) -> None:
        """A version of the artifact `policy-<run id>`. The last and the best stay in their places, of others copies are made."""
        import wandb

        artifact = wandb.Artifact(f"policy-{self.run.id}", type="model", metadata={"global_step": step})
        artifact.add_file(str(path), policy="mutable" if self.checkpoints == "all" else "immutable", skip_cache=True)
        self.run.log_artifact(artifact, aliases=["latest", f"step-{step}"])

    def close(self) -> None:
        """Hand over the rest and say how the run ended."""
        self.run.finish(exit_code=EXIT_CODES.get(self.run_info.status, 1))


def is_offline(mode: str | None) -> bool:
    """Resuming is the server's business: offline, equal ids make one run when they are synced."""
    return mode in ("offline", "disabled", "dryrun")


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
