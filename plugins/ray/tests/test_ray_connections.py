"""A cluster of one's own: in scripts, since a process has one connection to Ray."""

import contextlib
import os
import signal
import socket
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


FROM_OUTSIDE = """
import sys
import numpy as np
import ray, pufferlib

made = dict(num_envs=4, num_workers=2, seed=3)
options = {"address": sys.argv[1], "resources_per_worker": {"CPU": 0.25}}
vec = pufferlib.make("gym-CartPole-v1", backend="ray", backend_options=options, **made)
assert ray.util.client.ray.is_connected()
alone = pufferlib.make("gym-CartPole-v1", backend="serial", **made)
assert np.array_equal(vec.reset()[0], alone.reset()[0])
for _ in range(40):
    for ours, theirs in zip(vec.step(np.ones(4, int))[:4], alone.step(np.ones(4, int))[:4], strict=True):
        assert np.array_equal(ours, theirs)
assert vec.drain_log() == alone.drain_log()
vec.close()
"""


def test_a_client_outside_of_the_cluster_gets_the_same_bits():
    pytest.importorskip("grpc", reason="Ray's client needs grpcio: pip install -e 'plugins/ray[client]'")
    port, client_port = free_port(), free_port()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env = {**clean, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_AUTH_MODE": "disabled"}
    env["GRPC_POLL_STRATEGY"] = "poll"  # with epoll some versions of gRPC hang in Ray's server, which was forked
    program = os.path.join(os.path.dirname(sys.executable), "ray")
    head = subprocess.Popen(
        [program, "start", "--head", "--block", f"--port={port}", f"--ray-client-server-port={client_port}", "--num-cpus=1",
         "--include-dashboard=false", "--object-store-memory=100000000"],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not is_open(client_port):
            assert time.monotonic() < deadline and head.poll() is None, "the head did not start"
            time.sleep(0.2)
        done = subprocess.run(
            [sys.executable, "-c", FROM_OUTSIDE, f"ray://127.0.0.1:{client_port}"],
            env=env, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    finally:
        head.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            head.wait(20)
        for pid in processes_of(port):  # clients' servers, which have sessions of their own
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)
        head.wait(10)


def processes_of(port):
    """Of the cluster whose head listens at this port."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if f":{port}".encode() in file.read():
                found.append(int(pid))
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False
