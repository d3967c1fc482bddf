"""Nothing is left behind: NLE leaks about 2 kB where a game that goes on is reset, so the adapter quits it first."""

import gc
import os
import sys
import tempfile
from pathlib import Path

import pytest

from pufferlib_nethack.names import make_minihack, make_nethack

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def resident_kb():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_a_thousand_resets_leak_neither_memory_nor_descriptors():
    env = make_nethack("score")(observation_keys=("glyphs", "blstats"))
    for _ in range(200):  # buffers grow to their size
        env.reset(seed=1)
    before = resident_kb(), descriptors()
    for _ in range(1000):
        env.reset()
    assert resident_kb() - before[0] < 700 and descriptors() == before[1]
    env.close()


def test_closed_envs_leave_no_descriptors_and_no_folders(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = descriptors()
    for factory in (make_nethack("score"), make_minihack("room")) * 3:
        env = factory()
        env.reset()
        env.close()
    assert descriptors() == before and not list(tmp_path.iterdir())
