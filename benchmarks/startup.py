"""What starting costs: `import pufferlib` over a bare interpreter, and `puffer list`.

python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15


def milliseconds(*command: str) -> float:
    """Wall time of one run of the command."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    """Take the commands in turn, so that a noisy machine hits all alike, and print medians."""
    commands = {
        "bare interpreter": (sys.executable, "-c", "pass"),
        "import pufferlib": (sys.executable, "-c", "import pufferlib"),
        "puffer list": (str(Path(sys.executable).parent / "puffer"), "list"),
    }
    times = {name: [milliseconds(*command) for _ in range(1)] for name, command in commands.items()}
    for _ in range(RUNS):
        for name, command in commands.items():
            times[name].append(milliseconds(*command))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    bare = medians["bare interpreter"]
    print("| what | median, ms | over a bare interpreter, ms | bar, ms |\n|---|---|---|---|")
    for name, bar in (("bare interpreter", "-"), ("import pufferlib", "20 over bare"), ("puffer list", "500")):
        print(f"| {name} | {medians[name]:.1f} | {medians[name] - bare:.1f} | {bar} |")


if __name__ == "__main__":
    main()
