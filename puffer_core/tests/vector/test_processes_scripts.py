"""Cases S17, S18 and S19 as whole scripts: forgotten close, start methods and what they can send, Ctrl-C, a killed parent."""

import functools
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import pufferlib
from pufferlib.errors import ConfigError
from pufferlib.makers import env_maker
from pufferlib.vector.pickling import maker_name, pack_maker

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fork, process groups and /proc")
START_S = 60.0
"""For a script to begin, on a crowded machine. What is tested begins after that."""

HEAD = """
import functools, os, signal, sys, time
import gymnasium, numpy as np
from gymnasium import spaces
import pufferlib

class Env(gymnasium.Env):
    observation_space, action_space = spaces.Box(0, 99, (2,), np.float32), spaces.Discrete(2)
    sleep, slow_close = 0.0, 0.0
    def __init__(self, **settings):
        self.__dict__.update(settings)
    def obs(self):
        return np.array([self.t, self.np_random.random()], np.float32)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.obs(), {}
    def step(self, action):
        time.sleep(self.sleep)
        self.t += 1
        return self.obs(), 1.0, self.t == 5, False, {}
    def close(self):
        time.sleep(self.slow_close)

def make(env=Env, start_method="fork", **settings):
    options = {"start_method": start_method}
    return pufferlib.emulate(env, num_envs=4, num_workers=2, backend="processes", backend_options=options, **settings)
"""


class Script:
    """A script in a process group of its own."""

    def __init__(self, folder, body, guard=True):
        path = folder / "script.py"
        main = "def main():\n" + textwrap.indent(textwrap.dedent(body), "    ")
        path.write_text(HEAD + main + ('\nif __name__ == "__main__":\n    main()\n' if guard else "\nmain()\n"))
        self.process = subprocess.Popen(
            [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def read_line(self):
        return self.process.stdout.readline().strip()

    def end(self, patience=START_S):
        """(exit status, stdout, stderr); the group must be empty soon afterwards."""
        try:
            out, err = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        return self.process.returncode, out, err

    def members(self):
        """Processes of the group that are still there."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.getpgid(int(pid)) == self.process.pid:
                    found.append(int(pid))
            except OSError:
                continue
        return found

    def wait_until_empty(self, patience=10.0):
        deadline = time.monotonic() + patience
        while self.members() and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.members()


# ---------------------------------------------------------------- S17


@pytest.mark.parametrize(
    ("ending", "status", "method"),
    [
        ("pass", 0, "fork"),
        ("raise SystemExit(0)", 0, "fork"),
        ('raise RuntimeError("user bug")', 1, "fork"),
        ("pass", 0, "spawn"),
    ],
)
def test_a_vec_that_nobody_closed_ends_with_its_script(tmp_path, ending, status, method):
    before = sorted(os.listdir("/dev/shm"))
    script = Script(tmp_path, f"vec = make(start_method={method!r})\nvec.reset()\nvec.send([0] * 4)\n{ending}")
    code, _, err = script.end()
    assert code == status and "leaked" not in err and "Exception ignored" not in err and "Warning" not in err
    assert ("user bug" in err) == (status == 1) and script.wait_until_empty(2.0)
    assert sorted(os.listdir("/dev/shm")) == before


# ---------------------------------------------------------------- S18


def hard_to_pickle(ticking):
    scale = 3

    class Local(ticking):
        def reward(self):
            return float(scale)

    return {"lambda": lambda: Local(), "local class": Local, "bound": Local().__class__}


@pytest.mark.parametrize("kind", ["lambda", "local class", "bound"])
def test_without_cloudpickle_local_makers_are_refused_before_anything_starts(ticking, processes, children, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    before, files = set(children()), len(os.listdir("/proc/self/fd"))
    with pytest.raises(ConfigError, match=r"module level.*functools.partial.*cloudpickle") as refused:
        processes(hard_to_pickle(ticking)[kind], options={"start_method": "spawn"})
    name = "lambda" if kind == "lambda" else "Local"
    assert name in str(refused.value) and "start_method='spawn'" in str(refused.value)
    assert not set(children()) - before and len(os.listdir("/proc/self/fd")) == files


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_an_open_file_is_refused_before_anything_starts(ticking, processes, children, method):
    before = set(children())
    with open(os.devnull) as file, pytest.raises(ConfigError, match=r"Ticking cannot be sent.*open file|Ticking.*TextIOWrapper"):
        processes(functools.partial(ticking, log=file), options={"start_method": method})
    assert not set(children()) - before


def test_a_partial_of_plain_values_can_be_sent_and_a_maker_has_the_name_of_what_is_in_it():
    from gymnasium.envs.classic_control import CartPoleEnv

    maker = env_maker(functools.partial(CartPoleEnv, sutton_barto_reward=True), {})
    env = pickle.loads(pack_maker(maker, "spawn"))(num_envs=2)
    assert env.num_envs == 2 and maker_name(maker) == "CartPoleEnv"
    env.close()


def test_fork_takes_what_cannot_be_pickled(ticking, processes):
    with open(os.devnull) as file:
        for env in (*hard_to_pickle(ticking).values(), functools.partial(ticking, log=file)):
            assert processes(env, num_envs=2, options={"start_method": "fork"}).reset(seed=0)[0].shape == (2, 2)


def test_results_and_faults_are_the_same_with_every_start_method(tmp_path):
    pytest.importorskip("cloudpickle")
    script = Script(
        tmp_path,
        """
        class Fails(Env):
            def step(self, action):
                if self.t == 2:
                    raise KeyError("speed")
                return super().step(action)

        for method in ("fork", "spawn", "forkserver"):
            vec = make(functools.partial(Env, sleep=0.0), method, seed=3)
            trace = vec.reset(seed=5)[0].tolist()
            trace += [vec.step([0] * 4)[0].tolist() for _ in range(6)]
            print(trace)
            vec.close()
        for method in ("fork", "spawn"):
            vec = make(Fails, method)  # a local class, by cloudpickle
            vec.reset()
            try:
                for _ in range(3):
                    vec.step([0] * 4)
            except RuntimeError as error:
                print(type(error).__name__, str(error).split("(")[0], "KeyError: 'speed' in step()" in str(error))
        """,
    )
    code, out, err = script.end(2 * START_S)
    lines = out.splitlines()
    assert code == 0 and err == "", err
    assert lines[0] == lines[1] == lines[2] and lines[0].startswith("[[0.0, ")
    assert all(re.fullmatch(r"WorkerError env [02] +True", line) for line in lines[3:]) and len(lines) == 5


def test_scripts_without_a_main_guard_run_with_fork_and_are_told_what_to_do_with_spawn(tmp_path):
    script = Script(
        tmp_path,
        """
        if sys.modules["__main__"].__name__ == "__main__" and not hasattr(sys, "_pufferlib_once"):
            vec = make()
            print(vec.reset(seed=0)[0].shape)
            vec.close()
        vec = make(start_method="spawn")
        """,
        guard=False,
    )
    code, out, err = script.end(2 * START_S)
    assert code == 1 and out.splitlines()[0] == "(4, 2)"
    last = err.strip().splitlines()[-1]
    assert "WorkerError" in last and "if __name__ == '__main__':" in last and script.wait_until_empty(2.0)


# ---------------------------------------------------------------- S19


@pytest.mark.parametrize(("close", "presses"), [(0.0, 1), (3.0, 2)], ids=["once", "again while closing"])
def test_ctrl_c_leaves_one_traceback_and_no_process(tmp_path, close, presses):
    script = Script(
        tmp_path,
        f"""
        vec = make(functools.partial(Env, sleep=0.02, slow_close={close}))
        vec.reset()
        print("running", flush=True)
        while True:
            vec.step([0] * 4)
        """,
    )
    assert script.read_line() == "running"
    begin = time.monotonic()
    for _ in range(presses):
        os.killpg(script.process.pid, signal.SIGINT)
        time.sleep(0.7)
    code, _, err = script.end(10.0)
    assert time.monotonic() - begin < 10 and code in (1, 130, -signal.SIGINT)
    assert "KeyboardInterrupt" in err and "pufferlib-worker" not in err and script.wait_until_empty(1.0)
    assert presses > 1 or err.count("Traceback (most recent call last)") == 1, err


def test_after_ctrl_c_a_notebook_can_go_on(ticking, processes):
    class Slow(ticking):
        def step(self, action):
            time.sleep(0.5)
            return super().step(action)

    vec = processes(Slow, num_envs=2)
    vec.reset(seed=0)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            vec.step([0, 0])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert vec.reset(seed=0)[0][:, 0].tolist() == [0, 0] and vec.step([0, 0])[0][:, 0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("state", "method"), [("idle", "fork"), ("stepping", "fork"), ("hanging", "fork"), ("hanging", "forkserver")]
)
def test_workers_of_a_killed_parent_end(tmp_path, state, method):
    sleep = {"idle": 0.0, "stepping": 0.01, "hanging": 1e6}[state]
    script = Script(
        tmp_path,
        f"""
        vec = make(functools.partial(Env, sleep={sleep}), {method!r})
        vec.reset()
        print(os.getpid(), flush=True)
        while {state != "idle"}:
            vec.step([0] * 4)
        time.sleep(1000)
        """,
    )
    parent = int(script.read_line())
    time.sleep(0.3)
    assert len(script.members()) >= 3
    os.kill(parent, signal.SIGKILL)
    script.process.wait(10)
    assert script.wait_until_empty(10.0)
    script.end()


def test_a_forked_child_of_the_user_leaves_the_workers_alone(tmp_path):
    script = Script(
        tmp_path,
        """
        vec = make()
        vec.reset(seed=0)
        if os.fork() == 0:
            vec.close()
            sys.exit(0)
        print(os.wait()[1], vec.step([0] * 4)[1].tolist())
        """,
    )
    assert script.end()[:2] == (0, "0 [1.0, 1.0, 1.0, 1.0]\n")


def test_a_second_vec_does_not_keep_the_first_ones_workers(ticking, processes, children):
    others = set(children())  # such as the fork server of an earlier test
    first = processes(ticking)
    workers = set(children()) - others
    processes(ticking)
    first.close()
    assert len(workers) == 2 and not workers & set(children())
    assert pufferlib.emulate(ticking, num_envs=2).reset(seed=0)[0].shape == (2, 2)
