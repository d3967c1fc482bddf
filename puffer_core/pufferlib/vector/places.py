"""What each worker process of a VecEnv is told before it starts, and checks of what the caller and the workers say."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

from pufferlib.errors import ConfigError, SpaceError
from pufferlib.vector.crew import in_main_thread
from pufferlib.vector.faults import Seat
from pufferlib.vector.seeding import spread_seed
from pufferlib.vector.shape import VecShape, available_cpus
from pufferlib.vector.vec_env import EnvFacts
from pufferlib.vector.worker import Place

SPIN_NS = 50_000
"""How long a process that waits spins before it sleeps, where there are cores enough."""


def spin_ns(processes: int) -> int:
    """How long each of so many processes spins: not at all where they have to share cores."""
    return SPIN_NS if processes <= available_cpus() else 0


def seats(shape: VecShape, seed: Any) -> list[tuple[Seat, tuple[int, ...]]]:
    """[worker]: which envs it has, and the entropy for its global random generators, unlike anybody else's."""
    share = shape.envs_per_worker
    seeds = spread_seed(secrets.randbits(63) if seed is None else seed, shape.num_envs)
    return [
        (Seat(worker, worker * share, share), (worker, *seeds[worker * share : (worker + 1) * share]))
        for worker in range(shape.num_workers)
    ]


def make_places(seated: Sequence[tuple[Seat, tuple[int, ...]]], groups: int, start_method: str) -> list[Place]:
    """What each worker process is told."""
    workers, parent = len(seated), 0 if start_method == "forkserver" else os.getpid()
    return [Place(seat, groups, workers, spin_ns(workers), entropy, parent, in_main_thread()) for seat, entropy in seated]


def check_same(first: EnvFacts, other: EnvFacts, worker: int) -> None:
    """Raises SpaceError where a worker's envs are not like the first one's."""
    for name in ("observation_space", "action_space", "agents_per_env", "action_mask_size"):
        ours, theirs = getattr(first, name), getattr(other, name)
        if ours != theirs:
            raise SpaceError(f"worker {worker}'s envs have {name} {theirs}, unlike env 0 with {ours}")


def check_hang_timeout(value: Any) -> None:
    """Raises ConfigError for what is no `hang_timeout_s`."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ConfigError(f"hang_timeout_s must be None or a number of seconds above 0, got {value!r}")
