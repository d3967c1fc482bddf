"""Worker processes at rest and over: they sleep, they end in every order of calls, and nothing of them is left (case S17)."""

import gc
import os
import resource
import time

import numpy as np
import pytest

import pufferlib
from pufferlib.errors import ClosedError

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
FORK = {"start_method": "fork"}


def cpu_seconds(pids):
    """User and system time of processes so far."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def test_idle_workers_sleep(ticking, processes, children):
    before = set(children())
    vec = processes(ticking)
    vec.reset(seed=0)
    time.sleep(0.2)
    workers = set(children()) - before
    begin, used = time.monotonic(), cpu_seconds(workers)
    time.sleep(1.5)
    assert len(workers) == 2 and cpu_seconds(workers) - used <= 0.02 * (time.monotonic() - begin) * len(workers)


def test_nothing_is_left_of_200_lives(ticking, children):
    def live(k):
        counts = {"num_envs": 2, "num_workers": 2, "batch_size": 1} if k % 4 == 0 else {"num_envs": 2, "num_workers": 1}
        vec = pufferlib.emulate(ticking, backend="processes", backend_options=FORK, **counts)
        if k % 4:
            vec.reset(seed=0)
        if k % 3 == 0:
            vec.allocate(3)
        vec.close()

    def held():
        gc.collect()
        with open("/proc/self/maps") as file:
            blocks = sum("memfd:pufferlib" in line for line in file)
        return len(os.listdir("/proc/self/fd")), len(children()), blocks, sorted(os.listdir("/dev/shm"))

    live(0)
    before, memory = held(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k in range(200):
        live(k)
    assert held() == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 30_000, "KiB"


@pytest.mark.parametrize(
    "calls",
    [["reset", "close", "close"], ["close"], ["async_reset", "close"], ["reset", "send", "close"], ["reset", "close", "step"],
     ["reset", "del"], ["async_reset", "recv", "send", "allocate", "close"]],
    ids="-".join,
)  # fmt: skip
def test_every_order_of_calls_ends(ticking, children, calls):
    before = children()
    vec = pufferlib.emulate(ticking, num_envs=4, num_workers=2, backend="processes")
    pids = set(children()) - set(before)
    arguments = {"send": [np.zeros(4, int)], "allocate": [3]}
    begin = time.monotonic()
    for call in calls:
        if call == "del":
            del vec
        elif call == "step":
            with pytest.raises(ClosedError, match="closed"):
                vec.step(np.zeros(4, int))
        else:
            getattr(vec, call)(*arguments.get(call, []))
    assert len(pids) == 2 and set(children()) <= set(before) and time.monotonic() - begin < 10
