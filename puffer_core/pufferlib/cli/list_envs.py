"""`puffer list`: the environments that `puffer train` and `pufferlib.make` know. Nothing behind a name is imported."""

from __future__ import annotations

import fnmatch

from pufferlib.cli.flags import scan
from pufferlib.plugins import EnvSpec, registry

HELP = """\
usage: puffer list [--long] [PATTERN]

List the registered environments, the name in the first column. PATTERN is a part of a name, or has *, ? and [...].
A family, such as gym-*, stands for every id of a package; `puffer list gym-` lists them all.

--long    also plugin, aliases, preset, license, and what was measured: spaces, agents, steps/s
"""


def run(argv: list[str]) -> int:
    """The command. Returns the exit code: 1 where a pattern matches nothing."""
    arguments = scan(argv, switches=["long"])
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    arguments.at_most(1, "puffer list")
    long = arguments.take("long") is not None
    arguments.refuse_flags(["--long"])
    pattern = arguments.positional[0] if arguments.positional else ""
    found = [spec for spec in registry().envs() if any(matches(pattern, name) for name in spec.names)]
    if not found and not pattern:
        print("no environments are registered; install some: pip install 'pufferlib[ocean]'")
    rows = [(spec.name, one_line(spec.summary), details(spec) if long else []) for spec in found] + family_rows(pattern, long)
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, text, more in rows:
        print(f"{name:<{width}}  {text}".rstrip())
        for line in more:
            print(f"{'':<{width}}    {line}")
    if pattern and not rows:
        print(f"no environment matches {pattern!r}")
        return 1
    return 0


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, upper and lower case alike."""
    pattern, name = pattern.lower(), name.lower()
    return fnmatch.fnmatch(name, pattern) if any(c in pattern for c in "*?[") else pattern in name


def one_line(summary: str) -> str:
    """A summary as a table shows it."""
    return summary.strip().rstrip(".")


def details(spec: EnvSpec) -> list[str]:
    """What --long adds."""
    plugin = registry().plugin_of(spec)
    facts = {
        "plugin": plugin.label if plugin else "",
        "aliases": ", ".join(spec.aliases),
        "preset": spec.preset or "",
        "arguments": ", ".join(f"{key}={value!r}" for key, value in spec.kwargs.items()),
        **registry().facts(spec.name, spec),
    }
    facts["license"] = spec.license or facts.get("license", "")
    return [f"{key}: {value}" for key, value in facts.items() if value]


def family_rows(pattern: str, long: bool) -> list[tuple[str, str, list[str]]]:
    """One row for each family, or its ids where the pattern names its prefix, which imports the package behind it."""
    rows: list[tuple[str, str, list[str]]] = []
    for family in registry().families():
        presets = registry().presets(family)
        if pattern.lower().startswith(f"{family.prefix.lower()}-"):
            names = [name for name in registry().family_names(family) if matches(pattern, name)]
            for name in names:
                facts = {"preset": presets.get(name, ""), **registry().facts(name, family)} if long else {}
                rows.append((name, "", [f"{key}: {value}" for key, value in facts.items() if value]))
        elif matches(pattern, family.prefix):
            more = [f"presets: {', '.join(presets)}"] if long and presets else []
            rows.append((f"{family.prefix}-*", one_line(family.summary), more))
    return rows
