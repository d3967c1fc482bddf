"""What the vectorizer adds to the games: breakout through VecEnv against the bare C loop, threads against serial, and the cost
of a row from 64 to 65,536 rows.

python benchmarks/vector.py
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pufferlib
from common import bare_c_loop, best_rates, machine, random_action_sets

GAME = "ocean-breakout"


def stepper(env: pufferlib.VecEnv) -> Callable[[], object]:
    """A function that steps all rows once through the asynchronous interface, as the trainer does."""
    actions = itertools.cycle(random_action_sets(env.single_action_space, env.num_agents))
    env.async_reset(seed=1)
    env.recv()

    def step() -> None:
        env.send(next(actions))
        env.recv()

    return step


def main() -> None:
    """Print both tables."""
    print(f"{machine()}\n")
    rows = 4096
    serial = pufferlib.make(GAME, num_envs=rows, backend="serial")
    threads = pufferlib.make(GAME, num_envs=rows, backend="threads", num_workers=2)
    bare = max(bare_c_loop(GAME, rows)[0] for _ in range(2))
    best = best_rates({"serial": (stepper(serial), rows), "threads": (stepper(threads), rows)}, windows=5)
    bare = max(bare, bare_c_loop(GAME, rows)[0])
    serial.close()
    threads.close()
    print(f"{GAME}, {rows} rows: bare C loop {bare / 1e6:.2f} M/s")
    print(f"serial VecEnv      {best['serial'] / 1e6:6.2f} M/s, {best['serial'] / bare:.3f} of the bare loop (bar 0.90)")
    print(f"threads, 2 workers {best['threads'] / 1e6:6.2f} M/s, {best['threads'] / best['serial']:.3f} x serial (bar 1.80)\n")

    print("| rows | serial, M/s | ns a row | threads(2), M/s | ns a row |\n|---|---|---|---|---|")
    for rows in (64, 256, 1024, 4096, 16384, 65536):
        serial = pufferlib.make(GAME, num_envs=rows, backend="serial")
        threads = pufferlib.make(GAME, num_envs=rows, backend="threads", num_workers=2)
        best = best_rates({"serial": (stepper(serial), rows), "threads": (stepper(threads), rows)})
        serial.close()
        threads.close()
        cells = (f"{best[name] / 1e6:.2f} | {1e9 / best[name]:.1f}" for name in ("serial", "threads"))
        print(f"| {rows} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
