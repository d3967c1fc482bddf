"""Spaces, agents and steps/s of third-party envs, into the `facts.toml` of their plugins.

python benchmarks/thirdparty_facts.py NAME ...     measure these, and keep what the files say of others
python benchmarks/thirdparty_facts.py              every env in the files whose package is installed

`puffer list --long` and docs/environments/third-party.md (by docs/generate.py) show what is in the files. Steps are an env's, of
all its agents at once, with random actions: of one env (serial), and of 8 envs on 2 worker processes. On a machine that does
other things as well, `chrt --rr 10` (as root) keeps them from the cores meanwhile. `status` and `license` in the files are
written by hand.
"""

from __future__ import annotations

import datetime
import sys
from typing import Any

import numpy as np
import tomli_w
from gymnasium import spaces

import pufferlib
from common import machine, random_action_sets, rate
from pufferlib.errors import PufferError
from pufferlib.plugins import registry
from pufferlib.plugins.facts import FILE, read_facts
from pufferlib.plugins.registry import folder_of
from pufferlib.structure import StructuredBox

SECONDS, ENVS = 3.0, 8
HEADER = "# Written by benchmarks/thirdparty_facts.py, but for status and license.\n"


def described(space: spaces.Space[Any]) -> str:
    """A space in a few words."""
    if isinstance(space, StructuredBox):
        return described(space.structure.space)
    if isinstance(space, spaces.Dict):
        return ", ".join(f"{name}: {described(part)}" for name, part in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return ", ".join(described(part) for part in space.spaces)
    if isinstance(space, spaces.Discrete):
        return f"Discrete({space.n})"
    if isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec.reshape(-1).tolist()
        return f"MultiDiscrete, {len(sizes)} parts" if len(sizes) > 6 else f"MultiDiscrete({', '.join(map(str, sizes))})"
    return f"{space.dtype}[{', '.join(map(str, space.shape or ()))}]"


def steps_per_second(name: str, num_envs: int, **options: Any) -> tuple[float, Any]:
    """Steps of an env, all its agents at once, and the VecEnv, closed."""
    vec = pufferlib.make(name, num_envs=num_envs, seed=1, **options)
    actions = random_action_sets(vec.single_action_space, vec.num_agents)
    vec.reset()
    turn = iter(range(10**9))
    work = lambda: vec.step(actions[next(turn) % len(actions)])  # noqa: E731
    work()
    found = rate(work, num_envs, SECONDS)  # one long window: games have slow and fast parts
    vec.close()
    return found, vec


def measure(name: str) -> dict[str, Any]:
    """An env's entry in the file."""
    two, _ = steps_per_second(name, ENVS, num_workers=2, backend="processes")  # first: forks of a process with a JVM are refused
    one, vec = steps_per_second(name, 1, backend="serial")
    return {
        "observations": described(vec.single_observation_space),
        "actions": described(vec.single_action_space),
        "agents": vec.num_agents,
        "steps": rounded(one),
        "steps_2": rounded(two),
    }


def rounded(value: float) -> int:
    """Two figures: a third one would be noise."""
    return int(np.format_float_positional(value, precision=2, unique=False, fractional=False, trim="-").split(".")[0])


def main() -> None:
    folders = [folder_of(plugin) for plugin in registry().plugins() if plugin.status == "ok"]
    names = sys.argv[1:] or [name for folder in folders for name in read_facts(folder).get("envs", {})]
    now = f"{datetime.date.today()}, {machine()}"
    for name in names:
        try:
            plugin = registry().plugin_of(registry().find_env(name))
            found = measure(name)
        except (PufferError, ImportError) as error:
            print(f"{name}: left out, {str(error).splitlines()[0]}")
            continue
        assert plugin is not None
        path = folder_of(plugin) / FILE
        facts = read_facts(path.parent)
        envs = {**facts.pop("envs", {}), name: found}
        facts["measured"] = now
        path.write_text(HEADER + tomli_w.dumps({**facts, "envs": dict(sorted(envs.items()))}), encoding="utf-8")
        print(f"{name}: {found}", flush=True)


if __name__ == "__main__":
    main()
