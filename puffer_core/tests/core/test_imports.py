"""Importing is cheap, and who imports whom stays as the architecture says."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import pufferlib

PACKAGE = Path(pufferlib.__file__).parent
HEAVY = "{'torch', 'gymnasium', 'numpy', 'pluggy', 'tyro', 'rich', 'matplotlib'} & set(sys.modules)"


def fresh(code):
    return subprocess.run([sys.executable, "-W", "error", "-c", f"import sys\n{code}"], capture_output=True, text=True)


def test_import_loads_nothing_heavy():
    done = fresh(f"import pufferlib\nassert not {HEAVY}, {HEAVY}")
    assert done.returncode == 0, done.stderr


def test_listing_loads_neither_torch_nor_gymnasium():
    done = fresh("import pufferlib\npufferlib.list_envs()\nassert not {'torch', 'gymnasium'} & set(sys.modules)")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", pufferlib.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pufferlib, name) is not None and name in dir(pufferlib)


def test_public_names_are_found_where_editors_look():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    assert set(seen) | {"__version__"} == set(pufferlib.__all__)
    for name, module in seen.items():
        assert getattr(importlib.import_module(module), name) is getattr(pufferlib, name), name


def test_make_is_the_function_whatever_is_imported_first():
    for first in ("from pufferlib.make import register", "import pufferlib.make", "import pufferlib; pufferlib.emulate"):
        done = fresh(f"{first}\nimport pufferlib\nassert pufferlib.make('gym-CartPole-v1').num_envs == 1")
        assert done.returncode == 0, done.stderr


def test_emulate_takes_what_make_takes_and_both_all_that_vectorizing_takes():
    """Their signatures repeat one another, so that help() and type checkers show each whole."""
    from pufferlib.vector import make_vec

    made, emulated, vectorized = (dict(inspect.signature(f).parameters) for f in (pufferlib.make, pufferlib.emulate, make_vec))
    assert list(made.values())[1:] == list(emulated.values())[1:]
    assert {key: made.get(key) for key in list(vectorized)[1:]} == dict(list(vectorized.items())[1:])


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        pufferlib.no_such_name  # noqa: B018


# What each part may import of ours, also inside functions. Parts that are not named may import anything.
MAY_IMPORT = {
    "errors": set(),
    "numbering": set(),
    "spaces": {"errors"},
    "buffers": {"errors"},
    "structure": {"errors"},
    "env": {"errors", "spaces", "buffers"},
    "plugins": {"errors"},
    "emulation": {"env", "errors", "buffers", "spaces", "structure", "numbering", "native._emulation"},
    "native": {"env", "errors", "buffers", "spaces", "vector.seeding"},
    "vector": {"env", "errors", "buffers", "spaces", "structure", "plugins", "native", "numbering"},
    "wrappers": {"env", "errors", "buffers", "structure", "vector", "render"},
    "bridges": {"errors", "buffers", "structure", "vector", "emulation", "wrappers"},
    "policies": {"errors", "spaces", "structure", "plugins", "native._kernels"},
}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(part):
    """(file, what it imports of ours without the leading "pufferlib.")."""
    files = sorted((PACKAGE / part).rglob("*.py")) if (PACKAGE / part).is_dir() else [PACKAGE / f"{part}.py"]
    assert files
    for path in files:
        for name in imports_of(path):
            if name == "pufferlib" or name.startswith("pufferlib."):
                yield path.relative_to(PACKAGE), name.removeprefix("pufferlib").lstrip(".")


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_who_imports_whom(part):
    allowed = MAY_IMPORT[part] | {part}
    wrong = [(str(f), n) for f, n in ours(part) if not any(n == ok or n.startswith(f"{ok}.") for ok in allowed)]
    assert not wrong


def test_the_trainer_knows_no_back_end():
    wrong = [
        (str(f), n) for f, n in ours("train") if n.startswith(("vector.serial", "vector.threads", "vector.processes", "native."))
    ]
    assert [pair for pair in wrong if not pair[1].startswith(("native._kernels", "native._dense"))] == []


def test_the_core_imports_no_plugin():
    for path in PACKAGE.rglob("*.py"):
        assert not [name for name in imports_of(path) if name.partition(".")[0].startswith("pufferlib_")], path
