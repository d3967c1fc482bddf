"""The pool, the worlds and the networks under ThreadSanitizer, and under AddressSanitizer with UndefinedBehaviorSanitizer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pufferlib.native import get_include

HERE = Path(__file__).parent


@pytest.mark.skipif(sys.platform == "win32", reason="compiles with a POSIX compiler's options")
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
@pytest.mark.parametrize("source", ["pool_race.c", "worlds_race.c", "dense_race.c"])
def test_clean_under_a_sanitizer(tmp_path, compiler, source, sanitizer):
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    empty = tmp_path / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    if subprocess.run([*compiler, *flags, str(empty), "-o", str(tmp_path / "empty")], capture_output=True, timeout=60).returncode:
        pytest.skip(f"this compiler has no -fsanitize={sanitizer}")
    program = str(tmp_path / "race")
    include = [f"-I{get_include()}", f"-I{HERE / 'dummy'}"]
    subprocess.run([*compiler, *flags, *include, str(HERE / source), "-o", program, "-pthread", "-lm"], check=True, timeout=60)
    result = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
