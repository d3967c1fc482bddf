"""Builds the core's C extensions: every `native/_<name>.pyx`. Everything else about the package stands in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).parent / "puffer_core"))

from pufferlib.native.build import compile_args, wanted

NATIVE = Path("puffer_core/pufferlib/native")


def extensions() -> list[Extension]:
    headers = [str(path) for path in sorted(NATIVE.glob("*.h"))]
    # Generated C is Cython's own: it has unused helpers, and a warning there is nobody's to mend.
    arguments = [flag for flag in compile_args() if flag not in ("-Wall", "-Wextra", "-Werror")]
    made = [
        Extension(
            f"pufferlib.native.{source.stem}",
            [str(source)],
            depends=headers,
            include_dirs=[str(NATIVE)],
            extra_compile_args=arguments,
            extra_link_args=[] if os.name == "nt" else ["-pthread"],
            libraries=[] if os.name == "nt" else ["m"],
        )
        for source in sorted(NATIVE.glob("_*.pyx"))
        if wanted(source.stem)
    ]
    return cythonize(made, build_dir="build/cython", language_level=3, annotate=False)


setup(ext_modules=extensions())
