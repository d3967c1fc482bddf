"""What torchrun tells a process about its place in the job. Light: read before torch is imported."""

from __future__ import annotations

import os
from typing import NamedTuple

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Launch(NamedTuple):
    """rank: of this process, from 0. world_size: how many there are. local_rank: among those of this machine."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0


def launch() -> Launch:
    """This process's place; alone unless torchrun (or another launcher that sets its variables) started it."""
    if not all(name in os.environ for name in VARIABLES):
        return Launch()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return Launch(rank, size, int(os.environ.get("LOCAL_RANK", rank)))
