"""Kill training runs with SIGKILL and report what was wrong afterwards: `python kills.py FOLDER`, used by test_kills.py.

One process that has imported everything forks all the lives of the runs, so that a life costs what it trains. Between two steps
of the writers (each mkdir, write, fsync, chmod, rename and deletion is one) and in the middle of writes the kill comes from
within, at every one of them in turn; at random times it comes from outside.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from pufferlib.cli.main import main
from pufferlib.config.files import read_toml
from pufferlib.train import run as run_module
from pufferlib.train.checkpoint import read_checkpoint
from pufferlib.train.loggers import JsonLines
from pufferlib.train.run_dir import RunDirectory

ROLLOUT = 32
ROLLOUTS = 2
LONG = 12
"""Rollouts of a run that is killed from outside."""
WRITES = 6
"""Of the hundreds of writes, those that are torn."""
KILLS_FROM_OUTSIDE = 50
SETTINGS = {
    "vec.num-envs": 4, "vec.num-workers": 1, "vec.backend": "serial", "train.horizon": 8, "train.minibatch-size": 32,
    "train.torch-threads": 1, "train.device": "cpu", "train.log-interval-s": 0, "train.checkpoint-interval": 1,
    "train.keep-checkpoints": 1, "policy.hidden-size": 8,
}  # fmt: skip
FLAGS = [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]
SCHEDULE = ("global_step", "epoch", "agent_steps", "learning_rate")


class Steps:
    """Counts the steps of the writers in this process, and kills it before step number `fatal` or, of a write, within it."""

    def __init__(self, fatal: int | None) -> None:
        self.fatal, self.kinds = fatal, []
        for module, name in ((os, "mkdir"), (os, "fsync"), (os, "chmod"), (os, "replace"), (os, "unlink"), (tempfile, "mkstemp")):
            setattr(module, name, self.counted(name, getattr(module, name)))
        fdopen, start = os.fdopen, JsonLines.start

        def open_log(self_: Any, run: Any) -> Any:
            state = start(self_, run)
            self_.file = Torn(self_.file, self)
            return state

        os.fdopen = lambda *args, **kwargs: Torn(fdopen(*args, **kwargs), self)  # type: ignore[assignment]
        JsonLines.start = open_log  # type: ignore[method-assign]

    def counted(self, name: str, function: Any) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            if name == "mkdir" and os.path.isdir(args[0]):  # nothing changes
                return function(*args, **kwargs)
            if self.next(name):
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return step

    def next(self, kind: str) -> bool:
        """Whether this step is the fatal one."""
        self.kinds.append(kind)
        return self.fatal == len(self.kinds) - 1


class Torn:
    """A file whose writes are steps; the fatal one writes half of what it should."""

    def __init__(self, file: Any, steps: Steps) -> None:
        self.file, self.steps = file, steps

    def write(self, data: Any) -> Any:
        if self.steps.next("write"):
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.file.write(data)

    def __enter__(self) -> Torn:
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def life(arguments: list[str], fatal: int | None = None, count_into: Path | None = None) -> int:
    """Fork a process that runs `puffer` with these arguments. Returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        steps = Steps(fatal) if fatal is not None or count_into else None
        code = main(arguments)
        if steps and count_into:
            with open(count_into, "w") as file:
                json.dump(steps.kinds, file)
        os._exit(code)
    finally:
        os._exit(99)


def ended(pid: int) -> int:
    """Its exit code, -9 if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fresh(run: Path, rollouts: int = ROLLOUTS) -> list[str]:
    return ["train", "ocean-squared", "--run-dir", str(run), "--train.total-timesteps", str(rollouts * ROLLOUT), *FLAGS]


def going_on(run: Path, rollouts: int = ROLLOUTS) -> list[str]:
    """The command that a user gives after a kill: the same one, if it had not even written its settings."""
    return ["train", "--resume", str(run)] if (run / "config.toml").exists() else fresh(run, rollouts)


def problems_after_a_kill(run: Path) -> list[str]:
    """What a killed run must not show: half a file under its own name, a step without its row."""
    found = []
    try:
        if (run / "config.toml").exists():
            read_toml(run / "config.toml")
        rows = {row["global_step"] for row in RunDirectory(run).rows()}
        for path in RunDirectory(run).checkpoints():
            if read_checkpoint(path)["global_step"] != int(path.stem):
                found.append(f"{path.name} holds another step")
            if int(path.stem) not in rows:
                found.append(f"{path.name} is there, its row is not")
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
    return found


def problems_at_the_end(run: Path, expected: list[dict[str, Any]]) -> list[str]:
    """What a run that was resumed to its end must not show beside an uninterrupted one."""
    found = problems_after_a_kill(run)
    if not (run / "metrics.jsonl").exists():
        return [*found, f"holds only {[path.name for path in run.iterdir()]}"]
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    schedule = [{key: row[key] for key in SCHEDULE} for row in rows]
    if schedule != [{key: row[key] for key in SCHEDULE} for row in expected]:
        found.append(f"the schedule is another: {schedule}")
    if [row["uptime"] for row in rows] != sorted(row["uptime"] for row in rows):
        found.append("the time goes back")
    if RunDirectory(run).checkpoints()[:1] != [RunDirectory(run).checkpoint_path(expected[-1]["global_step"])]:
        found.append("the last checkpoint is not of the last step")
    strangers = {path.name for path in run.iterdir()} - {"config.toml", "metrics.jsonl", "checkpoints"}
    strangers |= {path.name for path in (run / "checkpoints").iterdir() if not path.name.endswith(".pt")}
    if strangers:
        found.append(f"left behind: {sorted(strangers)}")
    return found


class Report:
    """What is told to the test."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.problems, self.killed_at = folder, [], []

    def check(self, where: str, problems: list[str]) -> None:
        self.problems += [f"{where}: {problem}" for problem in problems]

    def kill_at_every_step(self, name: str, before: Path | None) -> None:
        """A new run, or a resumed copy of `before`, killed at each step of its writers and then resumed to its end."""

        def start() -> tuple[Path, list[str]]:
            run = self.folder / name
            shutil.rmtree(run, ignore_errors=True)
            if before is None:
                return run, fresh(run)
            shutil.copytree(before, run)
            return run, going_on(run)

        run, command = start()
        counted = self.folder / f"{name}.json"
        self.check(name, [f"exit code {code}"] if (code := ended(life(command, count_into=counted))) else [])
        rows, kinds = RunDirectory(run).rows(), json.loads(counted.read_text())
        writes = [number for number, kind in enumerate(kinds) if kind == "write"]
        chosen = set(random.sample(writes, min(WRITES, len(writes))))
        for number, kind in enumerate(kinds):
            if kind == "write" and number not in chosen:
                continue
            run, command = start()
            where = f"{name}, killed at step {number} ({kind})"
            self.check(where, [f"exit code {code}"] if (code := ended(life(command, number))) != -9 else [])
            self.killed_at.append(kind)
            self.check(where, problems_after_a_kill(run))
            if kind == "replace" and before is None:  # the last of these: a row and half a checkpoint too many
                shutil.rmtree(self.folder / "torn", ignore_errors=True)
                shutil.copytree(run, self.folder / "torn")
            self.check(where, [f"resumed: exit code {code}"] if (code := ended(life(going_on(run)))) else [])
            self.check(where, problems_at_the_end(run, rows))

    def kill_from_outside(self) -> int:
        """Kill one run after another at random times, until there were enough kills; resume each to its end."""
        kills, number, whole = 0, 0, self.folder / "whole"
        begun = time.monotonic()
        ended(life(fresh(whole, LONG)))
        longest_s, rows = time.monotonic() - begun, RunDirectory(whole).rows()
        while kills < KILLS_FROM_OUTSIDE:
            run, code, number = self.folder / f"outside-{number}", -9, number + 1
            while code == -9:
                pid = life(going_on(run, LONG))
                if kills < KILLS_FROM_OUTSIDE:
                    time.sleep(random.uniform(0, longest_s))
                    os.kill(pid, signal.SIGKILL)
                code = ended(pid)
                kills += code == -9
                self.check(f"{run.name}, kill {kills}", problems_after_a_kill(run) if run.exists() else [])
            self.check(f"{run.name}, the end", [f"exit code {code}"] if code else [])
            self.check(f"{run.name}, the end", problems_at_the_end(run, rows))
        return kills


def report(folder: Path) -> dict[str, Any]:
    """All kills."""
    torch.set_num_threads(1)
    run_module.draw_curves = lambda *args: False  # most of a short run's time
    with contextlib.redirect_stdout(io.StringIO()):
        main(fresh(folder / "warm"))  # what a life would import is imported once
    random.seed(0)
    told = Report(folder)
    told.kill_at_every_step("new", None)
    told.kill_at_every_step("resumed", folder / "torn")
    kills = told.kill_from_outside()
    return {"problems": told.problems, "killed_at": told.killed_at, "kills_from_outside": kills}


if __name__ == "__main__":
    print(json.dumps(report(Path(sys.argv[1]))))
