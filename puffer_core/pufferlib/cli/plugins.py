"""`puffer plugins`: each plugin, its version, what it registers, and why one failed."""

from __future__ import annotations

import textwrap

from pufferlib.cli.flags import scan
from pufferlib.plugins import Plugin, registry

HELP = """\
usage: puffer plugins

List the installed plugins with their version and what they register. One that failed to load is shown with its reason, and
harms none of the others. PUFFERLIB_PLUGINS=a,b loads only those; PUFFERLIB_DISABLE_PLUGINS=c leaves some out.
"""
KINDS = {
    "env": "envs",
    "env family": "env families",
    "emulator": "emulators",
    "policy": "policies",
    "logger": "loggers",
    "backend": "back ends",
    "command": "commands",
    "name": "public names",
}
WIDTH = 110


def run(argv: list[str]) -> int:
    """The command. Returns the exit code, 0 also where plugins failed."""
    arguments = scan(argv)
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    arguments.at_most(0, "puffer plugins")
    arguments.refuse_flags()
    print("\n".join(line for plugin in registry().plugins() for line in lines_of(plugin)))
    return 0


def lines_of(plugin: Plugin) -> list[str]:
    """A plugin's part of the page."""
    source = f"{plugin.distribution} {plugin.version}".strip()
    head = f"{plugin.name}  {f'({source})' if source else ''}".rstrip()
    if plugin.status != "ok":
        head += f"  {plugin.status.upper()}"
    lines = [head]
    if plugin.reason:
        lines += textwrap.wrap(plugin.reason, WIDTH, initial_indent="  reason: ", subsequent_indent="          ")
    for kind, title in KINDS.items():
        names = sorted(record.name for record in plugin.records if record.kind == kind)
        if names and plugin.status == "ok":
            text = f"{title} ({len(names)}): {', '.join(names)}"
            lines += textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return lines
