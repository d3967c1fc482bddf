"""Every test with an argument `game` runs once for each game found by folder. Hints for it stand in the game's `checks.toml`."""

from __future__ import annotations

import importlib
import shutil
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
from pufferlib.native import Bool, Choice, File, NativeEnv, get_include

PACKAGE = Path(pufferlib_ocean.__file__).parent
NAMES = sorted(folder.name for folder in PACKAGE.iterdir() if (folder / f"{folder.name}.h").is_file())
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
WASM = ("--target=wasm32-wasi", "-O2", "-msimd128", "-D_WASI_EMULATED_PROCESS_CLOCKS")
WASI = ("--no-warnings", "--experimental-wasi-unstable-preview1")  # which Node 20 takes and does not need
WASM_REMEDY = "Debian: apt install clang lld wasi-libc libclang-rt-14-dev-wasm32 nodejs"


@dataclass(frozen=True)
class Game:
    """A native game. `checks.toml` may hold: hash (of 20,000 steps, or of hash_steps where rows are very many);
    [with.<argument>] (others that it needs at its limits); [largest] (a smaller maximum for checks that run); clock (indices of
    observations that show t / max_steps); [picture] (who plays in it; docs/gallery.py)."""

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
        words += [f"{a.name}={float(a.to_c(getattr(env.args, a.name)))!r}" for a in self.cls.arguments if not isinstance(a, File)]
        env.close()
        return words


def ends(argument: Any) -> list[Any]:
    """The values of an argument between which all others lie."""
    if isinstance(argument, Bool):
        return [False, True]
    if isinstance(argument, Choice):
        return list(argument.choices)
    if isinstance(argument, File):
        return [argument.default]
    return [argument.low, argument.high]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "game" in metafunc.fixturenames:
        metafunc.parametrize("game", [Game(name) for name in NAMES], ids=NAMES, scope="session")


@pytest.fixture(scope="session")
def compile_driver(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """compile_driver(name, *flags, compiler="cc") -> the program made of tests/driver.c and that game's header; compiled once."""
    folder = tmp_path_factory.mktemp("drivers")
    made: dict[tuple[str, ...], Path] = {}

    def compile_driver(name: str, *flags: str, compiler: str = sysconfig.get_config_var("CC") or "cc") -> Path:
        key = (compiler, name, *flags)
        if key not in made:
            made[key] = folder / f"{name}_{len(made)}"
            compile_c(*compiler.split(), *flags, *driver_source(name), "-o", str(made[key]), "-lm")
        return made[key]

    return compile_driver


@pytest.fixture(scope="session")
def compile_wasm_driver(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """compile_wasm_driver(name) -> the command that runs the same program as WebAssembly. Skips where the tools are missing."""
    folder = tmp_path_factory.mktemp("wasm")
    (folder / "trial.c").write_text('#include <stdio.h>\nint main(void) { return puts("") < 0; }\n')

    def compile_wasm(name: str, *source: str) -> Path:
        program, compiled = folder / f"{name}.wasm", str(folder / f"{name}.o")
        compile_c("clang", *WASM, *source, "-c", "-o", compiled)
        # In two steps: a link with -O runs Binaryen's optimiser where emscripten is installed, and old ones fail on SIMD.
        compile_c("clang", WASM[0], compiled, "-lwasi-emulated-process-clocks", "-o", str(program))
        return program

    node, clang = shutil.which("node"), shutil.which("clang")
    if not node or not clang:
        pytest.skip(f"no {'clang' if node else 'node'}; {WASM_REMEDY}")
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < 18:
        pytest.skip(f"node {version} is older than 18; {WASM_REMEDY}")
    try:
        compile_wasm("trial", str(folder / "trial.c"))
    except AssertionError as error:
        pytest.skip(f"clang makes no WebAssembly ({str(error).splitlines()[0]}); {WASM_REMEDY}")

    def compile_wasm_driver(name: str) -> list[str]:
        program = compile_wasm(name, *driver_source(name))
        return [node, *WASI, str(Path(__file__).with_name("run_wasi.mjs")), str(program)]

    return compile_wasm_driver


def driver_source(name: str) -> list[str]:
    """The compiler's words for tests/driver.c with that game in it."""
    includes = [f"-I{get_include()}", f"-I{PACKAGE}", f"-DGAME={name}", f'-DHEADER="{name}/{name}.h"']
    return [*STRICT, *includes, str(Path(__file__).with_name("driver.c"))]


def compile_c(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
