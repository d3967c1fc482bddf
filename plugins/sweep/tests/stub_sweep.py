"""`puffer` with trials that take no time: each is a small program that writes the rows of metrics a run would write.

The environment variable STUB_TRIAL says what they do, see `main`. Run as a script this is the command line itself, so that a
test can kill it.
"""

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import tomllib

BEST = 3  # of -log10(learning_rate)


def score(train):
    return -((math.log10(train["learning_rate"]) + BEST) ** 2)


def flaky(number, learning_rate, gamma):
    """The trial that fails in every way in which trials of other libraries were reported to: what it returns, or raises."""
    if number % 5 == 1:
        raise RuntimeError("CUDA out of memory")
    if number % 5 == 2:
        return {"score": math.nan, "cost": 3.0}
    if number % 5 == 3:
        return {"score": math.inf, "cost": 2.0}
    if number == 9:
        return {}
    return {"score": score({"learning_rate": learning_rate}), "cost": 1.0 + gamma}


def write_rows(run_dir, rows, pause=0.0):
    run_dir.mkdir(parents=True, exist_ok=True)
    with (run_dir / "metrics.jsonl").open("a") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
            file.flush()
            time.sleep(pause)


def row(step, value, seconds, n=1000):
    found = {"global_step": step, "uptime": seconds}
    return {**found, "environment/n": n, "environment/perf": value} if n else found


def main(settings, run_dir):
    """A trial. STUB_TRIAL: good, flaky, crash, hang, tree (a crash that leaves a child behind) slow (until it is stopped) or
    hopeless (from the sixth trial on, until it is stopped)."""
    from pufferlib_sweep.child import follow_the_sweep

    threading.Thread(target=follow_the_sweep, daemon=True).start()
    with open(settings, "rb") as file:
        train = tomllib.load(file)["train"]
    kind, total = os.environ["STUB_TRIAL"], train["total_timesteps"]
    number = next(int(part) for part in reversed(run_dir.parts) if part.isdigit())
    rows = [row(total * k // 10, score(train) - (10 - k), k / 10) for k in range(1, 11)]
    if kind == "flaky":
        result = flaky(number, train["learning_rate"], train["gamma"])
        if not result:
            rows = [row(step["global_step"], 0.0, 0.1, n=0) for step in rows]
        elif not math.isfinite(result["score"]):  # NaN and infinity are null in metrics.jsonl
            rows[-1]["environment/perf"] = None
    if kind == "crash":
        raise RuntimeError(f"no device number {number}")
    if kind == "tree":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (run_dir.parent.parent / f"left-{number}").write_text(str(child.pid))
        os._exit(3)
    if kind == "hopeless" and number >= 5:
        write_rows(run_dir, [{**step, "environment/perf": -1000.0} for step in rows[:5]])
        time.sleep(600)
    if kind == "hang":
        time.sleep(600)
    write_rows(run_dir, rows[:2] if kind == "slow" else rows)
    if kind == "slow":
        time.sleep(600)


def stub_command(env_name, settings, run_dir):
    return [sys.executable, str(Path(__file__).resolve()), "--trial", str(settings), str(run_dir)]


if __name__ == "__main__":
    if sys.argv[1] == "--trial":
        main(sys.argv[2], Path(sys.argv[3]))
    else:
        import pufferlib_sweep.launch
        import pufferlib_sweep.report
        from pufferlib.cli.main import main as puffer

        pufferlib_sweep.launch.train_command = stub_command
        pufferlib_sweep.report.draw_all = lambda *arguments: {}  # pictures take most of the time
        sys.exit(puffer(sys.argv[1:]))
