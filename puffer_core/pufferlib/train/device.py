"""Choosing the device and showing the envs' arrays to torch."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from pufferlib.buffers import Buffers
from pufferlib.config.train_config import spell
from pufferlib.errors import ConfigError
from pufferlib.train.launch import launch


def choose_device(name: str) -> torch.device:
    """auto, cpu, cuda, cuda:N or mps as a device that is there. Raises ConfigError.

    Of several ranks on one machine each gets a GPU of its own, unless `name` numbers one.
    """
    device = _available(name)
    if device.type != "cuda" or name not in ("auto", "cuda"):
        return device
    place, found = launch(), torch.cuda.device_count()
    if place.local_rank >= found:
        raise ConfigError(
            f"{spell('device')}={name!r}: rank {place.rank} would use GPU {place.local_rank} of the {found} here; start at most "
            f"{found} ranks a machine (--nproc_per_node), or train on the cpu"
        )
    return torch.device("cuda", place.local_rank)


def _available(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"{spell('device')} must be auto, cpu, cuda, cuda:N or mps, got {name!r}") from None
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if device.type not in there:
        raise ConfigError(f"{spell('device')} must be auto, cpu, cuda, cuda:N or mps, got {name!r}")
    if not there[device.type]:
        found = [kind for kind, present in {**there, "cuda": torch.cuda.is_available()}.items() if present]
        raise ConfigError(f"{spell('device')}={name!r} is not available here; available: {', '.join(found)}")
    return device


def reads_host_memory(device: torch.device) -> bool:
    """Whether the learner can read the envs' arrays where they are, so that nothing is copied."""
    return device.type == "cpu"


def to_device_views(storage: Buffers, device: torch.device) -> dict[str, Tensor]:
    """The envs' arrays as tensors on the host, without a copy; page-locked where `device` is a CUDA one.

    Page-locked memory is what lets a copy to the GPU run beside the envs.
    """
    views = {}
    for field in fields(storage):
        array = getattr(storage, field.name)
        if array is None:
            continue
        tensor = torch.from_numpy(array)
        if device.type == "cuda" and tensor.numel():
            runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
            torch.cuda.check_error(runtime.cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0))
        views[field.name] = tensor
    return views


class Arrival:
    """The end of what the device was asked to do so far on this thread's stream. wait(): until then; on a CPU it is past."""

    def __init__(self, device: torch.device) -> None:
        self.event = torch.cuda.Event() if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        if self.event is not None:
            self.event.record()

    def wait(self) -> None:
        if self.event is not None:
            self.event.synchronize()


def copy_to_host(tensor: Tensor, place: Tensor) -> Arrival:
    """Copy `tensor` to page-locked `place` beside what follows on the device; `place` holds it once the Arrival is there."""
    place.copy_(tensor, non_blocking=tensor.is_cuda)
    return Arrival(tensor.device)


def release_views(views: dict[str, Tensor], device: torch.device) -> None:
    """Undo the page-locking of `to_device_views`; the arrays themselves stay."""
    if device.type == "cuda":
        for tensor in views.values():
            if tensor.numel():
                runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
                torch.cuda.check_error(runtime.cudaHostUnregister(tensor.data_ptr()))
