"""Builds the one C extension; everything else about the package stands in pyproject.toml."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

# No contraction into fused multiply-adds: the few pixels that are rounded in float32 must come out the same on every machine.
FLAGS = ["/std:c11", "/O2", "/fp:precise"] if sys.platform == "win32" else ["-std=c11", "-O3", "-ffp-contract=off"]

screen = Extension(
    "pufferlib_atari._screen",
    ["pufferlib_atari/_screen.pyx"],
    depends=["pufferlib_atari/screen.h"],
    include_dirs=["pufferlib_atari"],
    extra_compile_args=FLAGS,
    libraries=[] if sys.platform == "win32" else ["m"],
)
setup(ext_modules=cythonize([screen], build_dir="build/cython", language_level=3))
