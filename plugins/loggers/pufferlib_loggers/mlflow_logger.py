"""MLflow."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pufferlib.config.files import flat
from pufferlib.train.loggers import RunInfo
from pufferlib_loggers.common import PROJECT, Checkpoints, ServiceLogger, setting

STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
MOST_METRICS, MOST_PARAMS, LONGEST_VALUE = 1000, 100, 500
"""What the service takes at once, and of one value."""
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
"""Of each request, where nobody says otherwise: failed rows are tried again anyway, and a start must not take minutes to fail."""


class MlflowLogger(ServiceLogger):
    """MLflow: a metric for each number at its global_step, the settings as params, videos and checkpoints as artifacts.

    experiment: the experiment, made if it is missing; MLFLOW_EXPERIMENT_NAME, else pufferlib
    tracking_uri: the store; MLFLOW_TRACKING_URI, else `mlflow.db` (SQLite) in the run's directory, with `mlartifacts` beside it
    name: of the run; left out: the name of the run's directory
    tags: words, or name=value; the tag env has the env's name
    checkpoints: which become artifacts: none, the last and the best at the end, or all

    A store of files (file:...) needs MLFLOW_ALLOW_FILE_STORE. A server that cannot be reached is an error before training.
    """

    def __init__(
        self,
        experiment: str | None = None,
        tracking_uri: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
        checkpoints: Checkpoints = "last",
    ) -> None:
        super().__init__(checkpoints)
        self.experiment, self.tracking_uri, self.name, self.tags = experiment, tracking_uri, name, tuple(tags)

    def start(self, run: RunInfo) -> Mapping[str, Any]:
        """Begin or resume. Raises MlflowException."""
        from mlflow.tracking import MlflowClient

        self.run_info = run
        folder = run.path.resolve()
        uri = setting(self.tracking_uri, "MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        for variable, value in PATIENCE.items():
            os.environ.setdefault(variable, value)
        self.client = MlflowClient(tracking_uri=uri)
        if run.state:
            self.id = run.state["run_id"]
            self._resume()
        else:
            self._begin(run, folder / "mlartifacts" if uri.startswith("sqlite:") else None)
        self._log_config(run)
        self._stamp = (-1, 0)
        self.where = f"mlflow ui --backend-store-uri {uri}" if "://" not in uri or uri.startswith("sqlite:") else uri
        return {"run_id": self.id}

    def _begin(self, run: RunInfo, artifacts: Path | None) -> None:
        name = setting(self.experiment, "MLFLOW_EXPERIMENT_NAME", PROJECT)
        found = self.client.get_experiment_by_name(name)
        place = artifacts.as_uri() if artifacts else None
        experiment = found.experiment_id if found else self.client.create_experiment(name, artifact_location=place)
        tags = {"env": run.env_name, **{word: value for word, _, value in (tag.partition("=") for tag in self.tags)}}
        self.id = self.client.create_run(experiment, run_name=self.name or run.name, tags=tags).info.run_id

    def _resume(self) -> None:
        self.client.update_run(self.id, status="RUNNING")
        self.newest_step = int(self.client.get_run(self.id).data.metrics.get("global_step", -1))

    def _log_config(self, run: RunInfo) -> None:
        """Params never change within a run: what a resumed run has otherwise becomes a tag."""
        from mlflow.entities import Param

        known = self.client.get_run(self.id).data.params
        settings = {name: str(value)[:LONGEST_VALUE] for name, value in flat(run.config).items() if value != ""}
        fresh = [Param(name, value) for name, value in settings.items() if name not in known]
        for start in range(0, len(fresh), MOST_PARAMS):
            self.client.log_batch(self.id, params=fresh[start : start + MOST_PARAMS])
        for name, value in settings.items():
            if known.get(name, value) != value:
                self.client.set_tag(self.id, f"resumed.{name}", value)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """One row. Tried again, it is the same row to the store, as its time stamp is."""
        from mlflow.entities import Metric

        if self._stamp[0] != step:
            self._stamp = step, int(time.time() * 1000)
        row = [Metric(name, value, self._stamp[1], step) for name, value in {"global_step": step, **metrics}.items()]
        for start in range(0, len(row), MOST_METRICS):
            self.client.log_batch(self.id, metrics=row[start : start + MOST_METRICS])

    def log_video(self, path: Path, step: int) -> None:
        """An artifact in `videos`."""
        self.client.log_artifact(self.id, str(path), "videos")

    def log_checkpoint(self, path: Path, step: int) -> None:
        """An artifact in `checkpoints`."""
        self.client.log_artifact(self.id, str(path), "checkpoints")

    def close(self) -> None:
        """Say how the run ended."""
        self.client.set_terminated(self.id, STATUS.get(self.run_info.status, "FAILED"))
