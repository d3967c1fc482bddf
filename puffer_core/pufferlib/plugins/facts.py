"""What was measured of a plugin's envs: `facts.toml` beside the plugin's module, which benchmarks/thirdparty_facts.py writes.

status = "crafter 1.8.3, Python 3.11: all tests"
license = "MIT"
measured = "2026-11-30, AMD EPYC, 2 cores, ..."

[envs.crafter]
observations = "uint8[64, 64, 3]"
actions = "Discrete(17)"
agents = 1
steps = 200        # of an env per second: one env, serial
steps_2 = 380      # 2 worker processes
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "facts.toml"


def read_facts(folder: Path) -> dict[str, Any]:
    """The file in a plugin's folder as it stands; {} where there is none."""
    path = folder / FILE
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


@functools.cache
def shown_facts(folder: Path) -> dict[str, dict[str, str]]:
    """Env name -> label -> text, of every env in a plugin's file, as tables and `puffer list --long` show them."""
    facts = read_facts(folder)
    return {
        name: {
            "observations": env.get("observations", ""),
            "actions": env.get("actions", ""),
            "agents": str(env.get("agents", "")),
            "steps/s, one env": number(env.get("steps")),
            "steps/s, 2 workers": number(env.get("steps_2")),
            "license": facts.get("license", ""),
            "status": facts.get("status", ""),
        }
        for name, env in facts.get("envs", {}).items()
    }


def number(value: float | None) -> str:
    """Thousands apart, "" for None."""
    return "" if value is None else f"{value:,.0f}"
