"""A cluster of one's own: in scripts, since a process has one connection to Ray."""

import os
import subprocess
import sys
import time

import pytest

START = """
import ray, pufferlib
from pufferlib.errors import WorkerError

def make(**options):
    vec = pufferlib.make("gym-CartPole-v1", num_envs=4, num_workers=2, backend="ray", backend_options=options)
    vec.reset(seed=0)
    print(ray._private.worker._global_node.all_processes["raylet"][0].process.pid, *[hand.where.pid for hand in vec._crew.hands])
    return vec
"""

SHARED = """
first = make()
second = make()  # more workers than cores are fine here
first.close()
assert ray.is_initialized(), "the second one still uses it"
second.step([0] * 4)
second.close()
assert not ray.is_initialized(), "the last one ends the cluster"
"""

NOT_CLOSED = """
vec = make()
vec.async_reset(seed=0)
"""

SHUT_DOWN = """
ray.init("local", num_cpus=2, include_dashboard=False)
vec = make()
ray.shutdown()
try:
    vec.step([0] * 4)
except WorkerError as error:
    assert "closed by ray.shutdown()" in str(error), error
assert vec.is_closed and not ray.is_initialized()
"""


@pytest.mark.parametrize("script", [SHARED, NOT_CLOSED, SHUT_DOWN], ids=["shared", "not closed", "shut down"])
def test_a_cluster_of_ones_own_lives_as_long_as_it_is_used_and_leaves_nothing(script):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run(
        [sys.executable, "-c", START + script], env={**clean, **settings}, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    numbers = [line.split() for line in done.stdout.splitlines() if line.replace(" ", "").isdigit()]
    pids = [int(pid) for line in numbers for pid in line]
    assert len(pids) == (6 if script is SHARED else 3)
    deadline = time.monotonic() + 10
    while alive := [pid for pid in pids if os.path.exists(f"/proc/{pid}")]:
        assert time.monotonic() < deadline, f"left behind: {alive}"
        time.sleep(0.1)
