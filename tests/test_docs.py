"""What the pages say holds: their Python runs, their commands parse, their links, tests and generated tables are there.

A fenced block that cannot stand alone has a title that begins with "fragment": ```python title="fragment: my_game.py".
All Python of a page is one script, in order, in an empty folder.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
PROOF = re.compile(r"`([\w/]+\.py)::(\w+)`")
RUN_CONFIG = """env_name = "{name}"\n[vec]\n[train]\n[policy]\n[env]\n"""


def script(text: str) -> str:
    """The Python of a page, each line at the number it has in the page; "" if there is none."""
    lines = [""] * (text.count("\n") + 1)
    for found in FENCE.finditer(text):
        if found[2] == "python" and 'title="fragment' not in found[3]:
            first = text.count("\n", 0, found.start()) + 1
            for offset, line in enumerate(found[4].splitlines()):
                lines[first + offset] = line[len(found[1]) :]
    return "\n".join(lines) + "\n" if any(lines) else ""


def commands(text: str) -> list[str]:
    """The lines of a page's shell blocks that call puffer or make."""
    blocks = [found for found in FENCE.finditer(text) if found[2] in ("bash", "sh", "console")]
    lines = [line.strip() for found in blocks if 'title="fragment' not in found[3] for line in found[4].splitlines()]
    return [line for line in lines if line.startswith(("puffer ", "make "))]


def slug(heading: str) -> str:
    plain = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower())
    return plain.strip().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")}


def texts_with(find) -> list[tuple[str, str]]:  # type: ignore[no-untyped-def]
    """(page, what `find` finds in it), one by one, as test cases."""
    return [(name, item) for name, page in zip(NAMES, PAGES, strict=True) for item in find(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", [n for n, page in zip(NAMES, PAGES, strict=True) if script(page.read_text(encoding="utf-8"))])
def test_the_python_of_a_page_runs(name: str, tmp_path: Path) -> None:
    source = tmp_path / "page.py"
    source.write_text(script((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", ROOT / "tests" / "docs_page.py", source.name],
        cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"{name} (line numbers are the page's)\n{done.stderr[-3000:]}"


@pytest.mark.parametrize(("name", "line"), texts_with(commands))
def test_a_command_of_a_page_is_understood(name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(line, comments=True)
    if program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert {word for word in words if "=" not in word} <= set(targets)
        return
    for word in words:
        if word.startswith("runs/"):  # a run that the page supposes
            (tmp_path / word / "checkpoints").mkdir(parents=True, exist_ok=True)
            (tmp_path / word / "config.toml").write_text(RUN_CONFIG.format(name=word.split("/")[1]), encoding="utf-8")
    understand(*words)


def understand(command: str, *words: str) -> None:
    """Raise what the command would raise before it starts its work."""
    from pufferlib.cli import bench, eval, match, train
    from pufferlib.cli.flags import scan
    from pufferlib.cli.main import main
    from pufferlib.plugins import registry

    if command == "train" and "--help" not in words:
        arguments = scan(words)
        train.read_settings(arguments, arguments.take("resume"))
    elif command in ("eval", "play"):
        eval.read_request(scan(words, switches=("deterministic",)))
    elif command == "match":
        match.read_request(scan(words, switches=("deterministic",)))
    elif command == "bench":
        arguments = scan(words)
        bench.read_options(arguments, registry().find_env(arguments.positional[0]))
    elif command in ("list", "plugins", "--help", "--version"):
        assert main([command, *words]) == 0
    else:  # it exists, and so do the flags
        import contextlib
        import io

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert main([command, "--help"]) == 0
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0].partition(".")[0] in said.getvalue()


@pytest.mark.parametrize("name", [*NAMES, "CONTRIBUTING.md"])
def test_the_links_of_a_page_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name}: {target}"
        assert not anchor or anchor in anchors(there), f"{name}: {target} names no heading"


@pytest.mark.parametrize("name", NAMES)
def test_the_tests_that_a_page_names_exist(name: str) -> None:
    for path, function in PROOF.findall((ROOT / name).read_text(encoding="utf-8")):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{path}::{function}"


def test_every_page_of_a_game_has_a_small_picture() -> None:
    from PIL import Image

    pages = [page for page in (ROOT / "docs" / "ocean").glob("*.md") if page.stem != "README"]
    assert len(pages) > 30
    for page in pages:
        picture = page.with_suffix(".png")
        assert picture.is_file(), f"no {picture.name}: run make gallery GAMES={page.stem}"
        assert picture.stat().st_size < 60_000 and Image.open(picture).width >= 480, picture.name


def test_generated_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}run python docs/generate.py"
