"""What this package registers. Light: a tracker's own package is imported when the logger starts and not before."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins import LoggerSpec, NameSpec, hookimpl

PUFFERLIB_API = 1


@hookimpl
def pufferlib_loggers() -> Iterable[LoggerSpec]:
    return [
        LoggerSpec(
            "wandb", target="pufferlib_loggers.wandb_logger:WandbLogger", summary="Weights & Biases", package="wandb"
        ),
        LoggerSpec("neptune", target="pufferlib_loggers.neptune_logger:NeptuneLogger", summary="Neptune", package="neptune"),
        LoggerSpec(
            "tensorboard", target="pufferlib_loggers.tensorboard_logger:TensorboardLogger", summary="TensorBoard event files",
            package="tensorboard",
        ),
        LoggerSpec("trackio", target="pufferlib_loggers.trackio_logger:TrackioLogger", summary="Trackio", package="trackio"),
        LoggerSpec("mlflow", target="pufferlib_loggers.mlflow_logger:MlflowLogger", summary="MLflow", package="mlflow"),
    ]  # fmt: skip


@hookimpl
def pufferlib_names() -> Iterable[NameSpec]:
    return [NameSpec(str(spec.target).partition(":")[2], target=spec.target) for spec in pufferlib_loggers()]
