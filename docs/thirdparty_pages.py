"""docs/environments/third-party.md: what is known of other packages' envs, from the facts.toml of their plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pufferlib.plugins.facts import number, read_facts

DOCS = Path(__file__).parent
PLUGINS = DOCS.parent / "plugins"
PAGE = DOCS / "environments" / "third-party.md"
HEAD = """\
# Third-party environments

Adapters of other packages' environments, each a plugin with a README of its own: what it installs, its names, settings and rules.
`puffer list --long` shows the same figures. Steps are an environment's, of all its agents at once, with random actions: of one
environment (serial), and of eight on two worker processes. `benchmarks/thirdparty_facts.py` measured them on a machine that did
other things as well, so they tell the order of magnitude. `benchmarks/thirdparty.py` measures what adapters add.
"""
COLUMNS = "| name | observations | actions | agents | steps/s, one | steps/s, 2 workers |\n|---|---|---|---|---|---|\n"


def pages() -> dict[Path, str]:
    """The page and its text."""
    folders = sorted(path.parent for path in PLUGINS.glob("*/pufferlib_*/facts.toml"))
    return {PAGE: HEAD + "".join(section(folder) for folder in folders)}


def section(folder: Path) -> str:
    """One plugin: status, licence, and a row for each of its envs that were measured."""
    facts = read_facts(folder)
    plugin = folder.parent.name
    lines = [f"\n## {plugin}\n\n`pip install 'pufferlib[{plugin}]'`, `plugins/{plugin}/README.md`\n\n"]
    lines += [f"- {name}: {facts[name]}\n" for name in ("status", "license", "measured") if name in facts]
    return "".join([*lines, "\n", COLUMNS, *(row(name, env) for name, env in facts["envs"].items())])


def row(name: str, env: dict[str, Any]) -> str:
    cells = [f"`{name}`", env.get("observations", ""), env.get("actions", ""), str(env.get("agents", ""))]
    return f"| {' | '.join([*cells, number(env.get('steps')), number(env.get('steps_2'))])} |\n"
