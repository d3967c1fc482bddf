"""Case S19: Ctrl-C as a terminal sends it, to the whole process group; and what a terminal shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

START_S, PATIENCE_S = 60.0, 10.0
pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups and pseudo-terminals are POSIX's")


def command(run):
    return [
        sys.executable, "-m", "pufferlib", "train", "ocean-squared", "--run-dir", str(run), "--train.device", "cpu",
        "--train.total-timesteps", "1e9", "--train.log-interval-s", "0", "--train.horizon", "16", "--vec.num-envs", "64",
    ]  # fmt: skip


def wait_for_rows(run, process):
    """Until the run has begun to train."""
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        metrics = run / "metrics.jsonl"
        if metrics.exists() and metrics.stat().st_size:
            return
        time.sleep(0.05)
    raise AssertionError(f"training did not begin: {process.communicate()}")


def group_members(group):
    """Pids of the processes in a group, zombies among them."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if int(stat.read().rpartition(")")[2].split()[2]) == group:
                    found.append(int(pid))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_the_group_in_10_s_with_a_checkpoint_that_loads(tmp_path, presses):
    run = tmp_path / "run"
    process = subprocess.Popen(command(run), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        wait_for_rows(run, process)
        for _ in range(presses):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.02)
        out, err = process.communicate(timeout=PATIENCE_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert "Ctrl-C again ends at once" in err
    assert group_members(process.pid) == []
    found = list((run / "checkpoints").glob("*.pt"))
    assert found or presses == 2
    for path in found:
        assert torch.load(path, weights_only=True)["global_step"] == int(path.stem)
    assert not [path for path in run.rglob("*") if "tmp" in path.name]


def test_ctrl_c_before_training_begins_leaves_nothing(tmp_path):
    process = subprocess.Popen(
        command(tmp_path / "run"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )  # fmt: skip
    try:
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode in (130, -signal.SIGINT), err
    assert group_members(process.pid) == []


def test_a_terminal_gets_the_panel_and_gets_its_cursor_back(tmp_path):
    import pty

    run = tmp_path / "run"
    main_end, child_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40"}
    process = subprocess.Popen(command(run), stdout=child_end, stderr=child_end, start_new_session=True, env=environment)
    os.close(child_end)
    shown = b""
    try:
        end = time.monotonic() + START_S
        while shown.count(b"steps/s") < 3 and time.monotonic() < end:
            shown += os.read(main_end, 65536)
        os.killpg(process.pid, signal.SIGINT)
        while True:
            try:
                part = os.read(main_end, 65536)
            except OSError:  # Linux's way to say that the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(PATIENCE_S) == 130
    finally:
        os.close(main_end)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    text = shown.decode(errors="replace")
    for piece in ("╭", "ocean-squared", "steps/s", "episodes", "losses", "stopped at step", "puffer train --resume"):
        assert piece in text, piece
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is hidden once and shown again"
    assert "Traceback" not in text
