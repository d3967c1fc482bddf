"""docs/environments/third-party.md: what is known of other packages' envs, from the facts.toml of their plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pufferlib.plugins.facts import number, read_facts

DOCS = Path(__file__).parent
PLUGINS = DOCS.parent / "plugins"
GYMNASIUM = DOCS.parent / "puffer_core" / "pufferlib" / "plugins"
PAGE = DOCS / "environments" / "third-party.md"
HEAD = """\
# Third-party environments

Adapters of other packages' environments: Gymnasium's in the core, all else a plugin with a README of its own: what it installs,
its names, settings and rules.
`puffer list --long` shows the same figures. Steps are an environment's, of all its agents at once, with random actions: of one
environment (serial), and of eight on two worker processes. `benchmarks/thirdparty_facts.py` measured them on a machine that did
other things as well, so they tell the order of magnitude. `benchmarks/thirdparty.py` measures what adapters add.
"""
GYMNASIUM_WAY = """\
Nothing to install for classic control: `gym-<id>` is every id that Gymnasium has registered; `gym-<module>:<id>` imports the
module first that registers it. Box2D and MuJoCo: `pip install 'gymnasium[box2d,mujoco]'`. Seven have presets
([results](../results/README.md))."""
COLUMNS = "| name | observations | actions | agents | steps/s, one | steps/s, 2 workers |\n|---|---|---|---|---|---|\n"


def pages() -> dict[Path, str]:
    """The page and its text."""
    folders = sorted(path.parent for path in PLUGINS.glob("*/pufferlib_*/facts.toml"))
    sections = [section(folder, folder.parent.name, plugin_way(folder.parent.name)) for folder in folders]
    return {PAGE: HEAD + "".join([section(GYMNASIUM, "Gymnasium", GYMNASIUM_WAY), *sections])}


def plugin_way(plugin: str) -> str:
    return f"`pip install 'pufferlib[{plugin}]'`, `plugins/{plugin}/README.md`"


def section(folder: Path, title: str, way: str) -> str:
    """One plugin: how to get it, status, licence, and a row for each of its envs that were measured."""
    facts = read_facts(folder)
    lines = [f"\n## {title}\n\n{way}\n\n"]
    lines += [f"- {name}: {facts[name]}\n" for name in ("status", "license", "measured") if name in facts]
    return "".join([*lines, "\n", COLUMNS, *(row(name, env) for name, env in facts["envs"].items())])


def row(name: str, env: dict[str, Any]) -> str:
    cells = [f"`{name}`", env.get("observations", ""), env.get("actions", ""), str(env.get("agents", ""))]
    return f"| {' | '.join([*cells, number(env.get('steps')), number(env.get('steps_2'))])} |\n"
