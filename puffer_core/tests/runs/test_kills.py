"""A run that is killed anywhere goes on: no half file, no row lost or there twice, the schedule of an uninterrupted run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the lives of a run are forked, so that a hundred of them take seconds")
def test_a_run_killed_at_any_step_of_its_writers_or_at_any_time_goes_on_as_if_nothing_had_been(tmp_path):
    """Each step of a new and of a resumed run's writers in turn, and 50 times at random; see kills.py."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("kills.py"), tmp_path],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["problems"] == []
    assert {"mkdir", "mkstemp", "write", "fsync", "chmod", "replace", "unlink"} == set(told["killed_at"])
    assert told["kills_from_outside"] >= 50
