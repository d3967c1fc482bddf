"""Rewrite what is generated: tables of the pages beside this file, between their markers, and the pages of docs/ocean.

python docs/generate.py            rewrite
python docs/generate.py --check    exit 1 if a page is out of date
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import ocean_pages
import thirdparty_pages

from pufferlib.config import run_config, self_play_config, train_config, wrappers_config
from pufferlib.config.logger_settings import settings_of_logger
from pufferlib.plugins import hookspecs, loader, registry, specs

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NAV = re.compile(r"( +# generated\n).*?( +# end\n)", re.DOTALL)
"""In mkdocs.yml."""


def described(declared: type) -> dict[str, str]:
    """The string after each field of a dataclass, on one line."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(declared))).body
    assert isinstance(body, ast.ClassDef)
    found, name = {}, ""
    for statement in body.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and name:
            found[name], name = " ".join(str(statement.value.value).split()), ""
    return found


def default_of(field: dataclasses.Field[Any]) -> str:
    """A default as one would type it."""
    value = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    if value is dataclasses.MISSING:
        return "required"
    if value is None:
        return "auto"
    if value in ("", []):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}"
    return str(value)


def range_of(name: str, kind: Any) -> str:
    """Choices, or the range as TrainConfig checks it."""
    choices = [part for part in get_args(kind) if isinstance(part, str)]
    if choices:
        return ", ".join(choices)
    if kind is bool:
        return "true, false"
    if name not in train_config._RANGES:
        return ""
    least, most, with_least, with_most = train_config._RANGES[name]
    whole = kind is int
    low = "" if least == -math.inf else f"{'at least' if with_least else 'above'} {shown(least, whole)}"
    high = "" if most == math.inf else f"{'at most' if with_most else 'below'} {shown(most, whole)}"
    return ", ".join(filter(None, (low, high)))


def shown(number: float, whole: bool) -> str:
    if whole and number > 10**6:
        return f"2^{round(math.log2(number + 1))} - 1"
    return f"{number:g}"


def settings(declared: type, table: str, skip: tuple[str, ...] = ()) -> str:
    """One row per field: its flag, its default, what it may be and what it means."""
    kinds, texts = get_type_hints(declared), described(declared)
    rows = ["| flag | default | values | meaning |", "|---|---|---|---|"]
    for field in dataclasses.fields(declared):
        if field.name in skip:
            continue
        flag = run_config.flag(f"{table}.{field.name}" if table else field.name)
        values = range_of(field.name, kinds[field.name]) if declared is not run_config.VecConfig else ""
        rows.append(f"| `{flag}` | {default_of(field)} | {values} | {cell(texts.get(field.name, ''))} |")
    return "\n".join(rows) + "\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def train() -> str:
    return settings(train_config.TrainConfig, "train")


def vec() -> str:
    return settings(run_config.VecConfig, "vec")


def wrappers() -> str:
    return settings(wrappers_config.WrappersConfig, "wrappers")


def policy() -> str:
    names = settings(run_config.PolicyConfig, "policy", skip=("kwargs",))
    return names + "".join(settings(run_config.BuiltInPolicy, "policy").splitlines(keepends=True)[2:])


def run() -> str:
    apart = ("vec", "train", "policy", "schedule", "self_play", "wrappers", "loggers", "env")
    return settings(run_config.RunConfig, "", skip=("env_name", *apart))


def loggers() -> str:
    """One row for each setting of each logger of plugins/loggers."""
    rows = ["| flag | default | meaning |", "|---|---|---|"]
    for spec in next(plugin.records for plugin in registry().plugins() if plugin.name == "loggers"):
        for name, setting in settings_of_logger(spec.name).items() if spec.kind == "logger" else ():
            default = "auto" if setting.default is None else "none" if setting.default == [] else str(setting.default)
            rows.append(f"| `{run_config.flag(f'loggers.{spec.name}.{name}')}` | {default.lower()} | {cell(setting.help)} |")
    return "\n".join(rows) + "\n"


def self_play() -> str:
    return settings(self_play_config.SelfPlayConfig, "self_play")


def hooks() -> str:
    """One row per hook: the records it returns and its docstring."""
    rows = ["| hook | returns | what |", "|---|---|---|"]
    for name, records in loader.HOOKS.items():
        returned = ", ".join(f"`{record.__name__}`" for record in records)
        rows.append(f"| `{name}` | {returned} | {cell(first_paragraph(getattr(hookspecs, name)))} |")
    return "\n".join(rows) + "\n"


def records() -> str:
    """One section per record: its fields and its docstring."""
    parts = []
    for record in (record for records in loader.HOOKS.values() for record in records):
        fields = ", ".join(
            field.name if field.default is field.default_factory is dataclasses.MISSING else f"{field.name}={plain(field)}"
            for field in dataclasses.fields(record)
        )
        text = inspect.cleandoc(record.__doc__ or "")
        parts.append(f"### {record.__name__}\n\n`{record.__name__}({fields})`\n\n{paragraphs(text)}\n")
    shared = paragraphs(inspect.cleandoc(specs.__doc__ or "").partition("\n\n")[2])
    return f"{shared}\n\n" + "\n".join(parts)


def plain(field: dataclasses.Field[Any]) -> str:
    return repr(field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default)


def first_paragraph(thing: Any) -> str:
    return " ".join(inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0].split())


def paragraphs(text: str) -> str:
    """A docstring as Markdown: `name: meaning` lines as a list, everything else as it is."""
    lines: list[str] = []
    for line in text.splitlines():
        is_item = re.match(r"[a-z_]+: ", line)
        if is_item:
            if lines and lines[-1] and not lines[-1].startswith(("-", " ")):
                lines.append("")
            lines.append(f"- {line}")
        else:
            lines.append(f"  {line.strip()}" if line and lines and lines[-1].startswith(("- ", "  ")) else line)
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {
    "train": train, "vec": vec, "wrappers": wrappers, "policy": policy, "run": run,
    "self_play": self_play, "loggers": loggers, "hooks": hooks, "records": records, "ocean": ocean_pages.speeds,
}  # fmt: skip


def rewritten(text: str) -> str:
    """A page with its generated parts made anew. Raises KeyError for a marker that names no table."""
    return BLOCK.sub(lambda found: found[1] + "\n" + TABLES[found[2]]() + "\n" + found[3], text)


def generated() -> dict[Path, str]:
    """Every file that has generated parts, as it should be."""
    files = {
        page: rewritten(page.read_text(encoding="utf-8")) for page in sorted([*DOCS.glob("*.md"), *DOCS.glob("results/*.md")])
    }
    site = DOCS.parent / "mkdocs.yml"
    files[site] = NAV.sub(lambda found: found[1] + ocean_pages.nav() + found[2], site.read_text(encoding="utf-8"))
    return files | ocean_pages.pages() | thirdparty_pages.pages()


def main(arguments: list[str]) -> int:
    files, stale = generated(), []
    for path in sorted({*files, *DOCS.glob("ocean/*.md")}):
        if path.is_file() and path.read_text(encoding="utf-8") == files.get(path):
            continue
        stale.append(path.relative_to(DOCS.parent).as_posix())
        if "--check" in arguments:
            continue
        if path in files:
            path.write_text(files[path], encoding="utf-8")
        else:  # of a game that is gone
            path.unlink()
            path.with_suffix(".png").unlink(missing_ok=True)
    print(f"{'out of date' if '--check' in arguments else 'rewritten'}: {', '.join(stale) or 'none'}")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
