"""Agent-steps per second of every native game at 4096 rows: the bare C loop, the VecEnv around it, and two threads of it.

python benchmarks/ocean.py [GAME ...]
python benchmarks/ocean.py --save       also write docs/results/ocean.toml, from which the pages of docs/ocean are made

One core does the bare loop and the serial VecEnv. `2 threads` is what two cores do, in serial VecEnvs: with the same rows between
them, and with as many rows each as the one had. The first is less for games of a few nanoseconds a row, whose batches are over
before the two have met. `malloc` counts the allocations of the game's own code while the bare loop steps. All figures of a row
are measured within seconds of each other, each the best of several windows. Where other programs run, `chrt --fifo 10` (as root)
keeps them off the core meanwhile.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import tomli_w
import tomllib

import pufferlib
from common import HERE, bare_c_loop, best_rates, machine, native_class, random_action_sets
from pufferlib.native import NativeEnv

ROWS = 4096
WINDOW_S, WINDOWS = 0.2, 8
RESULTS = HERE.parent / "docs" / "results" / "ocean.toml"
COLUMNS = (
    "game", "agents a world", "bare C, M/s", "VecEnv, M/s", "VecEnv / bare", "peer, M/s", "VecEnv / peer", "bar, M/s",
    "VecEnv / bar", "2 threads", "2 threads, 4096 rows each", "bytes a world", "malloc",
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def games() -> list[str]:
    """Ocean's games in C, without the prefix."""
    names = [name for name in pufferlib.list_envs() if name.startswith("ocean-")]
    return [name.removeprefix("ocean-") for name in names if is_native(name)]


def is_native(name: str) -> bool:
    found = native_class(name)
    return isinstance(found, type) and issubclass(found, NativeEnv)


def measure(game: str) -> dict[str, float]:
    """The figures of one game: agents and bytes of a world, agent-steps per second, allocations while stepping."""
    agents = native_class(f"ocean-{game}")().num_agents
    worlds = max(2, ROWS // agents)
    worlds += worlds % 2
    bare = bare_c_loop(f"ocean-{game}", ROWS, WINDOW_S)
    two: dict[str, Any] = {"backend": "threads", "num_workers": 2}
    settings = {"serial": {"backend": "serial"}, "threads": two, "twice": {**two, "num_envs": 2 * worlds}}
    envs = {name: pufferlib.make(f"ocean-{game}", **{"num_envs": worlds, "seed": 1, **more}) for name, more in settings.items()}
    rates = best_rates({name: (stepping(env), env.num_agents) for name, env in envs.items()}, WINDOW_S, WINDOWS)
    for env in envs.values():
        env.close()
    return {
        "agents": agents, "bytes": bare.world_bytes, "bare": round(bare.rate), "vec": round(rates["serial"]),
        "threads2": round(rates["threads"]), "twice2": round(rates["twice"]), "mallocs": bare.mallocs,
    }  # fmt: skip


def stepping(env: Any) -> Callable[[], None]:
    """A function that steps every row once, with actions made before."""
    env.async_reset(seed=1)
    env.recv()
    actions = itertools.cycle(random_action_sets(env.single_action_space, env.num_agents))

    def step() -> None:
        env.send(next(actions))
        env.recv()

    return step


def row(game: str, m: dict[str, float], peers: dict[str, Any]) -> str:
    """A line of the table."""
    known = peers.get(game, {})
    against = [f"{known[who] / 1e6:.2f} | {m['vec'] / known[who]:.2f}" if who in known else "- | -" for who in ("peer", "bar")]
    rates = f"{m['bare'] / 1e6:.2f} | {m['vec'] / 1e6:.2f} | {m['vec'] / m['bare']:.2f}"
    rest = f"{m['threads2'] / m['vec']:.2f} | {m['twice2'] / m['vec']:.2f} | {m['bytes']} | {m['mallocs']}"
    return f"| {game} | {m['agents']} | {rates} | {' | '.join(against)} | {rest} |"


def main() -> None:
    """Print the table, a line as soon as it is measured."""
    names = [word for word in sys.argv[1:] if word != "--save"]
    peers = tomllib.loads((HERE / "peers.toml").read_text())
    print(f"{machine()}\n\n{HEAD}")
    measured = {}
    for game in names or games():
        measured[game] = measure(game)
        print(row(game, measured[game], peers), flush=True)
    if "--save" in sys.argv:
        before = tomllib.loads(RESULTS.read_text()).get("games", {}) if names and RESULTS.exists() else {}
        RESULTS.write_text(tomli_w.dumps({"machine": machine(), "games": dict(sorted({**before, **measured}.items()))}))
        print(f"\nwritten: {RESULTS.relative_to(HERE.parent)}; now `make gallery` brings it to the pages")


if __name__ == "__main__":
    main()
