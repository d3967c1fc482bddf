"""Builds the core's C extensions: every `native/_<name>.pyx`. Everything else about the package stands in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).parent / "puffer_core"))

from pufferlib.native.build import compile_args, wanted

NATIVE = Path("puffer_core/pufferlib/native")
CONTRACTED = {"_dense"}
GNU_ONLY = {"_dense"}  # vector types of GCC and Clang; without it networks run on torch


def extensions() -> list[Extension]:
    headers = [str(path) for path in sorted(NATIVE.glob("*.h"))]
    # Generated C is Cython's own: it has unused helpers, and a warning there is nobody's to mend.
    arguments = [flag for flag in compile_args() if flag not in ("-Wall", "-Wextra", "-Werror")]
    # A network need not agree between machines bit for bit, and multiply-add in one step doubles its speed.
    contracted = [*(flag for flag in arguments if flag != "-ffp-contract=off"), "-ffp-contract=fast"]
    made = [
        Extension(
            f"pufferlib.native.{source.stem}",
            [str(source)],
            depends=headers,
            include_dirs=[str(NATIVE)],
            extra_compile_args=contracted if source.stem in CONTRACTED else arguments,
            extra_link_args=[] if os.name == "nt" else ["-pthread"],
            libraries=[] if os.name == "nt" else ["m"],
        )
        for source in sorted(NATIVE.glob("_*.pyx"))
        if wanted(source.stem) and not (os.name == "nt" and source.stem in GNU_ONLY)
    ]
    return cythonize(made, build_dir="build/cython", language_level=3, annotate=False)


setup(ext_modules=extensions())
