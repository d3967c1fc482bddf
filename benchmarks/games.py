"""Agent-steps per second of every native game on one core at 4096 rows: the bare C loop and the VecEnv around it.

python benchmarks/games.py [GAME ...]
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import tomllib

import pufferlib
from common import HERE, bare_c_loop, best_rates, machine, native_class, random_action_sets

ROWS = 4096


def measure(game: str) -> dict[str, Any]:
    """The figures of one game, taken within a few seconds of each other."""
    worlds = max(1, ROWS // native_class(f"ocean-{game}")().num_agents)
    env = pufferlib.make(f"ocean-{game}", num_envs=worlds, backend="serial", seed=1)
    env.async_reset(seed=1)
    env.recv()
    actions = itertools.cycle(random_action_sets(env.single_action_space, env.num_agents))

    def step() -> None:
        env.send(next(actions))
        env.recv()

    bare, world_bytes = bare_c_loop(f"ocean-{game}", ROWS)
    vectorised = best_rates({"vec": (step, env.num_agents)})["vec"]
    env.close()
    return {"rows": env.num_agents, "bytes": world_bytes, "bare": bare, "vec": vectorised}


def main() -> None:
    """Print the table."""
    peers = tomllib.loads((HERE / "peers.toml").read_text())
    names = sys.argv[1:] or [name.removeprefix("ocean-") for name in pufferlib.list_envs() if name.startswith("ocean-")]
    print(f"{machine()}\n")
    print(
        "| game | rows | bytes a world | bare C loop, M/s | serial VecEnv, M/s | VecEnv / bare | VecEnv / bar | VecEnv / peer |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for game in names:
        if game in ("performance_py", "spaces"):  # in Python
            continue
        m, peer = measure(game), peers.get(game, {})
        bar = peer.get("bar", 10_000_000)
        against = f"{m['vec'] / peer['peer']:.2f}" if "peer" in peer else "-"
        print(
            f"| {game} | {m['rows']} | {m['bytes']} | {m['bare'] / 1e6:.2f} | {m['vec'] / 1e6:.2f} | "
            f"{m['vec'] / m['bare']:.2f} | {m['vec'] / bar:.2f} | {against} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
