"""A cluster of one's own: in a script, since a process has one connection to Ray."""

import os
import subprocess
import sys
import time

LOCAL = """
import ray, pufferlib
from pufferlib.errors import WorkerError

def make(**options):
    return pufferlib.make("gym-CartPole-v1", num_envs=4, num_workers=2, backend="ray", backend_options=options)

vec = make()
vec.reset(seed=0)
print(ray._private.worker._global_node.all_processes["raylet"][0].process.pid, *[hand.where.pid for hand in vec._crew.hands])
second = make()  # more workers than cores are fine here
vec.close()
assert ray.is_initialized(), "the second one still uses it"
second.reset(seed=0)
second.close()
assert not ray.is_initialized(), "the last one ends the cluster"
ray.init("local", num_cpus=2, include_dashboard=False)
vec = make()
vec.reset(seed=0)
ray.shutdown()
try:
    vec.step([0] * 4)
except WorkerError as error:
    assert "closed by ray.shutdown()" in str(error), error
vec = make()
vec.async_reset(seed=0)
print(ray._private.worker._global_node.all_processes["raylet"][0].process.pid, *[hand.where.pid for hand in vec._crew.hands])
# and it ends without close()
"""


def run(code):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment = {
        **clean,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_AUTH_MODE": "disabled",
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_a_cluster_of_ones_own_lives_as_long_as_it_is_used_and_leaves_nothing():
    pids = [int(word) for word in run(LOCAL).split() if word.isdigit()]
    assert len(pids) == 6
    deadline = time.monotonic() + 10
    while alive := [pid for pid in pids if os.path.exists(f"/proc/{pid}")]:
        assert time.monotonic() < deadline, f"left behind: {alive}"
        time.sleep(0.1)
