"""The real packages, offline, with all they write below a temporary folder; and readers of what each of them wrote.

A reader takes the run's directory and gives a Found: rows by step in the order of writing, the settings, the names of videos and
checkpoints, and how many runs of the service it found.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("wandb", "neptune", "tensorboard", "trackio", "mlflow")
QUIET = {
    "WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false", "WANDB_DISABLE_GIT": "true",
    "NEPTUNE_MODE": "offline", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1", "GRADIO_ANALYTICS_ENABLED": "False",
}  # fmt: skip
FOLDERS = ("HOME", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "TRACKIO_DIR")
OURS = ("WANDB_", "NEPTUNE_", "MLFLOW_", "TRACKIO_", "HF_")


@dataclass
class Found:
    rows: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    videos: list[str] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)
    tags: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[int]:
        return [step for step, _ in self.rows]


@pytest.fixture(scope="session", autouse=True)
def services(tmp_path_factory):
    """The environment of the services, and the addresses that somebody tried to reach."""
    home = tmp_path_factory.mktemp("home")
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]
    os.environ.update(QUIET)
    os.environ.update({name: str(home / name.lower()) for name in FOLDERS})
    for name in FOLDERS:
        (home / name.lower()).mkdir()
    reached: list[Any] = []
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            reached.append(address)
            raise ConnectionRefusedError(f"a test tried to reach {address}")
        return connect(self, address)

    socket.socket.connect = refuse
    yield reached
    socket.socket.connect = connect
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def read():
    return {"wandb": read_wandb, "neptune": read_neptune, "tensorboard": read_tensorboard, "trackio": read_trackio,
            "mlflow": read_mlflow}  # fmt: skip


def read_tensorboard(run: Path) -> Found:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    found, rows = Found(runs={"tensorboard"}), defaultdict(list)
    for tag in events.Tags()["scalars"]:
        for event in events.Scalars(tag):
            rows[event.step].append((tag, event.value))
    for step, values in sorted(rows.items()):
        times = len(values) / len(dict(values))
        found.rows += [(step, dict(values))] * int(times)
    (content,) = (events.summary_metadata["_hparams_/session_start_info"].plugin_data,)
    data = HParamsPluginData.FromString(content.content)
    found.config = {name: getattr(v, v.WhichOneof("kind")) for name, v in data.session_start_info.hparams.items()}
    return found


def read_mlflow(run: Path) -> Found:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{run / 'mlflow.db'}")
    found, rows = Found(), defaultdict(list)
    experiments = client.search_experiments()
    for one in client.search_runs([experiment.experiment_id for experiment in experiments]):
        found.runs.add(one.info.run_name)
        found.config.update(one.data.params)
        found.tags += [one.data.tags["env"], one.info.status]
        for name in one.data.metrics:
            for metric in client.get_metric_history(one.info.run_id, name):
                rows[metric.step].append((name, metric.value))
        found.videos += [Path(file.path).name for file in client.list_artifacts(one.info.run_id, "videos")]
        found.checkpoints += [Path(file.path).name for file in client.list_artifacts(one.info.run_id, "checkpoints")]
    for step, values in sorted(rows.items()):
        found.rows += [(step, dict(values))] * (len(values) // len(dict(values)))
    return found


def read_trackio(run: Path) -> Found:
    from trackio.sqlite_storage import SQLiteStorage

    found = Found()
    names = [name for name in SQLiteStorage.get_runs("pufferlib") if name == run.name]
    for name in names:
        found.runs.add(name)
        config = SQLiteStorage.get_run_config("pufferlib", name) or {}
        found.config, found.tags = config, [config.get("_Group", "")]
        for row in SQLiteStorage.get_logs("pufferlib", name):
            step = row.pop("step")
            row.pop("timestamp", None)
            if video := row.pop("videos/policy", None):
                found.videos.append(Path(video["file_path"]).suffix)
            if row:
                found.rows.append((step, row))
    artifacts = SQLiteStorage.list_artifacts("pufferlib")
    found.checkpoints = [artifact["name"] for artifact in artifacts if artifact["name"] == f"policy-{run.name}"]
    return found


def read_neptune(run: Path) -> Found:
    found, rows = Found(), defaultdict(dict)
    counts: dict[tuple[int, str], int] = defaultdict(int)
    for folder in sorted((run / ".neptune/offline").iterdir(), key=lambda folder: folder.stat().st_mtime):
        for file in sorted(folder.glob("data-*.log")):
            for operation in operations(file.read_text(encoding="utf-8")):
                path, kind = operation["path"], operation["type"]
                if kind == "LogFloats":
                    for value in operation["values"]:
                        counts[value["step"], "/".join(path)] += 1
                        rows[value["step"]]["/".join(path)] = value["value"]
                elif kind.startswith("UploadFile") and path[0] == "videos":
                    found.videos.append(path[-1])
                elif kind.startswith("UploadFile") and path[0] == "checkpoints":
                    found.checkpoints.append(path[-1])
                elif path[0] == "config":
                    found.config["/".join(path[1:])] = operation["value"]
                elif path == ["sys", "tags"]:
                    found.tags += operation["values"]
    for name in (run / "loggers/neptune.jsonl").read_text().splitlines():
        found.runs.add(json.loads(name).get("run", {}).get("custom_run_id"))
    found.runs.discard(None)
    for step, row in sorted(rows.items()):
        found.rows += [(int(step), row)] * max(counts[step, name] for name in row)
    return found


def operations(text: str) -> list[dict[str, Any]]:
    """The client's queue: one JSON object after the other."""
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(text):
        entry, place = decoder.raw_decode(text, place)
        found.append(entry["obj"])
        while place < len(text) and text[place].isspace():
            place += 1
    return found


def read_wandb(run: Path) -> Found:
    found = Found()
    files = sorted((run / "wandb").glob("offline-run-*/run-*.wandb"))
    end = time.monotonic() + 60  # the service's process may write the last of it after `finish` has returned
    while time.monotonic() < end and all(kind != "exit" for kind, _ in messages(files[-1])):
        time.sleep(0.02)
    for file in files:
        for kind, record in messages(file):
            if kind == "run":
                found.runs.add(record.run.run_id)
                found.tags += [record.run.run_group, *record.run.tags]
                found.config.update({update.key: json.loads(update.value_json) for update in record.run.config.update})
            elif kind == "history":
                row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
                if path := row.get("videos/policy/path"):
                    found.videos.append(Path(path).suffix)
                else:
                    found.rows.append((record.history.step.num, {k: v for k, v in row.items() if not k.startswith("_")}))
            elif kind == "artifact":
                found.checkpoints += [content.path for content in record.artifact.manifest.contents]
    return found


def messages(file: Path) -> list[tuple[str, Any]]:
    """Kind and content of each record of a W&B file."""
    from wandb.proto.wandb_internal_pb2 import Record

    records = [Record.FromString(content) for content in log_records(file.read_bytes())]
    return [(record.WhichOneof("record_type") or "", record) for record in records]


def log_records(content: bytes) -> list[bytes]:
    """The records of a file in LevelDB's log format, after the 7 bytes that W&B puts before it; a torn end is left out."""
    block, place, parts, found = 32768, 7, b"", []
    while place + 7 <= len(content):
        left = block - place % block
        if left < 7:
            place += left
            continue
        size, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        part = content[place + 7 : place + 7 + size]
        if not kind or len(part) < size:
            break
        place += 7 + size
        parts = part if kind in (1, 2) else parts + part
        if kind in (1, 4):
            found.append(parts)
    return found
