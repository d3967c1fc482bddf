"""Builds the dummy game into a temporary folder, as a stranger's package would build its own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

STUB = '''
"""Dummy."""
from pathlib import Path
import numpy as np
from gymnasium.spaces import Box, Discrete
from pufferlib.native import Bool, Choice, File, Float, Int, NativeEnv


class Dummy(NativeEnv):
    module = "stranger_games.dummy._dummy"
    arguments = (
        Int("rows", 1, 1, 64), Int("work", 0, 0, 10**9), Int("max_steps", 0, 0, 10**9), Bool("with_mask", False),
        Choice("fail", "no", ("no", "yes")), Float("scale", 1.0, -100, 100), Float("precise", lambda a: a.rows + 0.5, 0, 1e9),
        File("file", lambda path: Path(path).read_bytes()),
    )

    @classmethod
    def spaces(cls, a):
        return Box(-np.inf, np.inf, (6,), np.float32), Discrete(4)

    @classmethod
    def agents(cls, a):
        return a.rows
'''

SETUP = """
from setuptools import setup
from pufferlib.native.build import game_extensions
setup(name="stranger-games", ext_modules=game_extensions("stranger_games"))
"""

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def compiler() -> list[str]:
    """The C compiler's command."""
    return (sysconfig.get_config_var("CC") or "cc").split()


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a built package `stranger_games` with one game."""
    root = tmp_path_factory.mktemp("stranger")
    game = root / "stranger_games" / "dummy"
    game.mkdir(parents=True)
    (root / "setup.py").write_text(SETUP)
    (root / "stranger_games" / "__init__.py").write_text("")
    (game / "__init__.py").write_text(STUB)
    (game / "dummy.h").write_bytes((HERE / "dummy" / "dummy.h").read_bytes())
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=root, check=True, env=build_environment(), timeout=120
    )
    return root


def build_environment() -> dict[str, str]:
    import os

    environment = {name: value for name, value in os.environ.items() if name != "PUFFERLIB_BUILD_ONLY"}
    return {**environment, "PUFFERLIB_WERROR": "1"}


@pytest.fixture(scope="session")
def dummy(stranger: Path):
    """The class Dummy(NativeEnv)."""
    sys.path.insert(0, str(stranger))
    try:
        from stranger_games.dummy import Dummy

        yield Dummy
    finally:
        sys.path.remove(str(stranger))
