"""Every test with an argument `game` runs once for each game found by folder. Hints for it stand in the game's `checks.toml`."""

from __future__ import annotations

import importlib
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from gymnasium import spaces

import pufferlib_ocean
from pufferlib.config.files import read_toml
from pufferlib.native import Bool, Choice, NativeEnv, get_include

PACKAGE = Path(pufferlib_ocean.__file__).parent
NAMES = sorted(folder.name for folder in PACKAGE.iterdir() if (folder / f"{folder.name}.h").is_file())
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


@dataclass(frozen=True)
class Game:
    """A native game. `checks.toml` may hold: hash (of 20,000 steps); [with.<argument>] (others that it needs at its limits);
    [largest] (a smaller maximum for checks that run); clock (indices of observations that show t / max_steps)."""

    name: str

    @cached_property
    def cls(self) -> type[NativeEnv]:
        module = importlib.import_module(f"pufferlib_ocean.{self.name}")
        found: type[NativeEnv] = getattr(module, "".join(word.capitalize() for word in self.name.split("_")))
        return found

    @cached_property
    def hints(self) -> dict[str, Any]:
        path = PACKAGE / self.name / "checks.toml"
        return read_toml(path) if path.is_file() else {}

    @property
    def argument_names(self) -> list[str]:
        return [argument.name for argument in self.cls.arguments]

    def limits(self) -> dict[str, dict[str, Any]]:
        """Keyword arguments of every corner: the defaults, and each argument at its ends with what it needs there."""
        corners: dict[str, dict[str, Any]] = {"defaults": {}}
        for argument in self.cls.arguments:
            for value in ends(argument):
                needs = self.hints.get("with", {}).get(argument.name, {})
                corners[f"{argument.name}={value}"] = {
                    **{k: v for k, v in needs.items() if k != argument.name},
                    argument.name: value,
                }
        return corners

    def driver_words(self, arguments: dict[str, Any]) -> list[str]:
        """What tests/driver.c takes: the action space, then every argument as C sees it."""
        env = self.cls(**arguments)
        space = env.single_action_space
        if isinstance(space, spaces.Box):
            words = ["box", str(space.low.flat[0]), str(space.high.flat[0]), str(space.low.size)]
        elif isinstance(space, spaces.MultiDiscrete):
            words = ["discrete", ",".join(str(n) for n in space.nvec.ravel())]
        else:
            assert isinstance(space, spaces.Discrete)
            words = ["discrete", str(space.n)]
        words += [f"{a.name}={float(a.to_c(getattr(env.args, a.name)))!r}" for a in self.cls.arguments]
        env.close()
        return words


def ends(argument: Any) -> list[Any]:
    """The values of an argument between which all others lie."""
    if isinstance(argument, Bool):
        return [False, True]
    if isinstance(argument, Choice):
        return list(argument.choices)
    return [argument.low, argument.high]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "game" in metafunc.fixturenames:
        metafunc.parametrize("game", [Game(name) for name in NAMES], ids=NAMES, scope="session")


@pytest.fixture(scope="session")
def compile_driver(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """compile_driver(name, *flags) -> the program made of tests/driver.c and that game's header; compiled once."""
    folder = tmp_path_factory.mktemp("drivers")
    made: dict[tuple[str, tuple[str, ...]], Path] = {}

    def compile_driver(name: str, *flags: str) -> Path:
        if (name, flags) not in made:
            program = folder / f"{name}_{len(made)}"
            compiler = (sysconfig.get_config_var("CC") or "cc").split()
            command = [
                *compiler,
                *WARNINGS,
                *flags,
                f"-I{get_include()}",
                f"-I{PACKAGE}",
                f"-DGAME={name}",
                f'-DHEADER="{name}/{name}.h"',
            ]
            done = subprocess.run(
                [*command, str(Path(__file__).with_name("driver.c")), "-o", str(program), "-lm"], capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            made[name, flags] = program
        return made[name, flags]

    return compile_driver
