"""Build native games: `setup.py` of a game package is `setup(ext_modules=game_extensions("my_games"))`.

Only the standard library and setuptools are imported here, so that a build environment needs nothing else.

Environment variables, for developers:
PUFFERLIB_BUILD_ONLY   names, comma-separated: build these games (or core extensions) and leave the others alone
PUFFERLIB_WERROR       1: a compiler warning is an error
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pufferlib.native import get_include

if TYPE_CHECKING:
    from setuptools import Extension

ABI = "cp310"
"""The oldest Python whose limited interface game modules use: `options={"bdist_wheel": {"py_limited_api": ABI}}`."""


def compile_args() -> list[str]:
    """Flags under which native and WebAssembly builds agree bit for bit; no flag ties a wheel to one machine."""
    if sys.platform == "win32":
        return ["/std:c11", "/O2", "/fp:precise"]
    strict = ["-Werror"] if os.environ.get("PUFFERLIB_WERROR", "") not in ("", "0") else []
    return ["-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", *strict]


def wanted(name: str) -> bool:
    """Whether PUFFERLIB_BUILD_ONLY lets `name` be built."""
    only = [part.strip() for part in os.environ.get("PUFFERLIB_BUILD_ONLY", "").split(",") if part.strip()]
    return not only or name in only


def game_extensions(package_dir: str = "pufferlib_ocean", *, build_dir: str = "build") -> list[Extension]:
    """One extension module `<package>.<game>._<game>` for each `<package_dir>/<game>/<game>.h`.

    package_dir: the package's folder, relative to the folder of `setup.py`, which is the current one
    build_dir: where the generated module sources go
    Raises FileNotFoundError if the folder holds no game.
    """
    from setuptools import Extension

    package = Path(package_dir)
    found = (
        sorted(folder.name for folder in package.iterdir() if (folder / f"{folder.name}.h").is_file()) if package.is_dir() else []
    )
    if not found:
        raise FileNotFoundError(f"no game in {package_dir!r}: expected {package_dir}/<game>/<game>.h below {os.getcwd()}")
    shared = [*package.glob("*.h"), *Path(get_include()).glob("*.h")]
    module = ".".join(package.parts)
    return [
        Extension(
            f"{module}.{game}._{game}",
            sources=[str(_module_source(game, Path(build_dir) / "modules" / module))],
            depends=[str(header) for header in [*sorted((package / game).glob("*.h")), *sorted(shared)]],
            include_dirs=[str(package), get_include()],
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            extra_compile_args=compile_args(),
            libraries=[] if sys.platform == "win32" else ["m"],
        )
        for game in found
        if wanted(game)
    ]


def _module_source(game: str, folder: Path) -> Path:
    """The C file that makes a Python module of a header. Written only when its text changes, so builds stay incremental."""
    text = f'#include "puffer_module.h"\n\n#include "{game}/{game}.h"\n\nPUFFER_MODULE({game})\n'
    path = folder / f"{game}_module.c"
    if not path.is_file() or path.read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path
