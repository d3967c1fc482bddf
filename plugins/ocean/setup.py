"""Builds one C extension for each game folder; everything else about the package stands in pyproject.toml."""

import os
import sys
from pathlib import Path

from setuptools import setup

CORE_IN_TREE = Path(__file__).resolve().parents[2] / "puffer_core"
if CORE_IN_TREE.is_dir():
    sys.path.insert(0, str(CORE_IN_TREE))
try:
    from pufferlib.native.build import ABI, game_extensions
except ImportError as error:
    raise SystemExit(
        "pufferlib-ocean is compiled against pufferlib's headers. Install pufferlib first, then this package with "
        f"`pip install --no-build-isolation pufferlib-ocean` ({error})"
    ) from None

setup(
    ext_modules=game_extensions("pufferlib_ocean"),
    options={"bdist_wheel": {"py_limited_api": ABI}, "build_ext": {"parallel": os.cpu_count()}},
)
