"""The rasteriser under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pufferlib.native import get_include

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS = ["-std=c11", "-O1", "-g", "-ffp-contract=off", *WARNINGS, *SANITIZERS]


def test_random_lists_are_clean_under_sanitizers(tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "raster_fuzz"
    source = Path(__file__).with_name("raster_fuzz.c")
    subprocess.run([compiler, *FLAGS, f"-I{get_include()}", str(source), "-o", str(program), "-lm"], check=True)
    done = subprocess.run([program, "2000", "1"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "clean\n"), done.stderr
