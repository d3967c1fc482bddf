"""The pages of the Ocean games, made of their headers, stubs, measured figures and learning curves. `generate.py` writes them."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pufferlib_ocean
from pufferlib.native import Bool, Choice, Float, Int, NativeEnv
from pufferlib.plugins.games import class_name
from pufferlib.render.play import describe_keys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parent
PACKAGE = Path(pufferlib_ocean.__file__).parent
RESULTS = DOCS / "results" / "ocean.toml"
"""What `python benchmarks/ocean.py --save` measured."""
COLUMNS = 3
"""Of pictures in the index."""
INDEX = """\
# Ocean

The games in C, each as its hand policy, or chance, left it after a while. A page a game: its rules, spaces, arguments, speed and
learning curve. `puffer play` opens any of them in a window, `puffer train` trains with its preset;
[environments](../environments.md#a-game-in-c) tells how to make your own.

"""


def games() -> list[str]:
    """The folders that hold a game in C."""
    return sorted(folder.name for folder in PACKAGE.iterdir() if (folder / f"{folder.name}.h").is_file())


def pages() -> dict[Path, str]:
    """Every page of docs/ocean, by its path."""
    measured = read(RESULTS)
    learnt = learning_rows((DOCS / "results" / "README.md").read_text(encoding="utf-8"))
    made = {DOCS / "ocean" / "README.md": INDEX + gallery(games())}
    for game in games():
        made[DOCS / "ocean" / f"{game}.md"] = page(game, measured, learnt)
    return made


def nav() -> str:
    """The pages' lines in mkdocs.yml."""
    return "".join(f"      - ocean/{name}.md\n" for name in ["README", *games()])


def gallery(names: list[str]) -> str:
    """A table of pictures that lead to the pages."""
    cells = [f"[![{name}]({name}.png)<br>{name}]({name}.md)" for name in names]
    lines = [cells[i : i + COLUMNS] for i in range(0, len(cells), COLUMNS)]
    rows = [f"| {' | '.join(line + [''] * (COLUMNS - len(line)))} |" for line in lines]
    return "\n".join([f"|{' |' * COLUMNS}", f"|{'---|' * COLUMNS}", *rows]) + "\n"


def page(game: str, measured: dict[str, Any], learnt: dict[str, list[str]]) -> str:
    """One game's page."""
    cls: type[NativeEnv] = getattr(importlib.import_module(f"pufferlib_ocean.{game}"), class_name(game))
    env = cls()
    parts = [
        f"# ocean-{game}",
        f"![A frame of ocean-{game}]({game}.png)",
        opening_comment(PACKAGE / game / f"{game}.h"),
        f"```bash\npuffer play ocean-{game}\npuffer train ocean-{game}\n```",
        "## Spaces",
        plain(inspect.cleandoc(cls.__doc__ or "")),
        spaces(env),
        "## Arguments",
        arguments(cls, env),
        "## Speed",
        speed(game, measured),
    ]
    if curves := learning(game, learnt):
        parts += ["## Learning", curves]
    env.close()
    return "\n\n".join(parts) + "\n"


def opening_comment(header: Path) -> str:
    """What a header says of the game, above its first line of code; its list of other headers, which is indented, is left out."""
    found = re.match(r"/\*(.*?)\*/", header.read_text(encoding="utf-8"), re.DOTALL)
    lines = [re.sub(r"^ \* ?", "", line.strip("\n")) for line in (found[1] if found else "").splitlines()]
    told = "\n".join(line.strip() for line in lines if not line.startswith("    "))
    return plain(re.sub(r"\n{3,}", "\n\n", told).strip())


def plain(text: str) -> str:
    """Without what Markdown would take for emphasis, a tag or a table; code between backticks as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_|<>])", r"\\\1", part) for part in parts)


def spaces(env: NativeEnv) -> str:
    rows = [
        ("observations of an agent", f"`{env.single_observation_space}`"),
        ("its actions", f"`{env.single_action_space}`"),
        ("agents of a world", str(env.num_agents)),
    ]
    if env.action_masks is not None:
        rows.append(("width of the action mask", str(env.action_masks.shape[1])))
    if env.keys or env.cursor_spots():
        cursor = ("left", "right", "up", "down", "space") if env.cursor_spots() else ()
        rows.append(("keys", describe_keys((*cursor, *dict.fromkeys(part for key in env.keys for part in key.split("+"))))))
    return table(("at the defaults", ""), rows)


def arguments(cls: type[NativeEnv], env: NativeEnv) -> str:
    """A row for each keyword argument; a default that follows from others is shown as it comes out."""
    rows = []
    for argument in cls.arguments:
        default = getattr(env.args, argument.name)
        follows = " (follows from the others)" if callable(getattr(argument, "default", None)) else ""
        rows.append((f"`{argument.name}`", f"{shown(default)}{follows}", values(argument), argument.help.replace("|", "\\|")))
    return table(("argument", "default", "values", "meaning"), rows)


def values(argument: Any) -> str:
    """What an argument may be."""
    if isinstance(argument, Int):
        every = "" if argument.step == 1 else f" in steps of {argument.step}"
        return f"{shown(argument.low)} to {shown(argument.high)}{every}"
    if isinstance(argument, Float):
        return f"{argument.low:g} to {argument.high:g}"
    if isinstance(argument, Bool):
        return "true, false"
    return ", ".join(argument.choices) if isinstance(argument, Choice) else "a path"


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else f"`{value or 'none'}`"


def speed(game: str, measured: dict[str, Any]) -> str:
    """From docs/results/ocean.toml."""
    m = measured["games"].get(game)
    if m is None:
        return "Not measured yet: `python benchmarks/ocean.py --save` does."
    rows = [
        ("bare C loop, one core", f"{m['bare'] / 1e6:.1f}"), ("serial VecEnv, one core", f"{m['vec'] / 1e6:.1f}"),
        ("VecEnv, 2 threads", f"{m['threads2'] / 1e6:.1f}"),
    ]  # fmt: skip
    told = f"A world takes {m['bytes']:,} bytes. `python benchmarks/ocean.py`, 4096 rows, {measured['machine']}."
    return f"{table(('one core', 'million agent-steps per second'), rows)}\n\n{told}"


def speeds() -> str:
    """The table of all measured games, for docs/results."""
    measured, peers = read(RESULTS), read(DOCS.parent / "benchmarks" / "peers.toml")
    rows = []
    for game, m in measured["games"].items():
        known = peers.get(game, {})
        against = [f"{m['vec'] / known[who]:.2f}" if who in known else "-" for who in ("peer", "bar")]
        rates = (f"{m['bare'] / 1e6:.2f}", f"{m['vec'] / 1e6:.2f}", f"{m['vec'] / m['bare']:.2f}")
        rest = (f"{m['threads2'] / m['vec']:.2f}", f"{m['bytes']:,}", str(m["mallocs"]))
        rows.append((f"[{game}](../ocean/{game}.md)", str(m["agents"]), *rates, *against, *rest))
    head = (
        "game",
        "agents a world",
        "bare C, M/s",
        "VecEnv, M/s",
        "VecEnv / bare",
        "VecEnv / peer",
        "VecEnv / bar",
        "2 threads / serial",
    )
    return f"{measured['machine']}\n\n{table((*head, 'bytes a world', 'malloc'), rows)}\n"


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def learning_rows(text: str) -> dict[str, list[str]]:
    """The rows of the learning table in docs/results/README.md: cells by name, which is also its picture's."""
    rows = re.finditer(r"^\| \[([\w-]+)\]\([\w.-]+\) \|(.*)\|$", text, re.MULTILINE)
    return {found[1]: [cell.strip() for cell in found[2].split("|")] for found in rows}


def learning(game: str, rows: dict[str, list[str]]) -> str:
    """The curves of the shipped preset, and of its variants, such as memory-lstm; "" where none was measured."""
    parts = []
    for name, (metric, target, seeds, scores, *_) in rows.items():
        if name == game or name.startswith(f"{game}-"):
            variant = name.removeprefix(game).lstrip("-")
            what = f"The preset, {variant}" if variant else "The preset"
            parts.append(f"{what}: {metric} {target} steps, on {seeds} seeds; mean and least over seeds: {scores}.")
            parts.append(f"![Learning curve of {name}](../results/{name}.png)")
    return "\n\n".join(parts)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])
