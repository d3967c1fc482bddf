"""Videos while training: one at a time, in another process, whole or not at all; a failure is told and stops nothing."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from pufferlib.errors import ConfigError
from pufferlib.train import snapshots
from pufferlib.train.snapshots import Recorder, check_recorder

RECORDS = "import sys; open(sys.argv[1], 'w').write('frames')"
FAILS = "import sys; print('a traceback', flush=True); sys.exit('puffer: this environment gives no frames\\n')"
HANGS = "import sys, time; open(sys.argv[1], 'w').write('half'); time.sleep(1000)"


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    """Records with another program in place of `puffer eval`: `recorder(program)`."""
    made = []

    def make(program):
        def start(*arguments, output):
            video = arguments[arguments.index("--video") + 1]
            assert arguments[0] == "eval" and arguments[1].read_text() == "weights"
            return subprocess.Popen([sys.executable, "-c", program, video], stdout=output, stderr=subprocess.STDOUT)

        monkeypatch.setattr(snapshots, "start", start)
        monkeypatch.setattr(snapshots, "video_suffix", lambda: ".mp4")
        made.append(Recorder(tmp_path / "videos", lambda path: path.write_text("weights")))
        return made[-1]

    yield make
    for one in made:
        one.close()


def wait_for_end(recorder):
    recorder.process.wait()
    return recorder.ended()


def names(recorder):
    return sorted(path.name for path in recorder.folder.iterdir())


def test_a_video_appears_whole_and_nothing_else_stays(recorder):
    one = recorder(RECORDS)
    assert one.ended() == ""
    assert one.begin(70) == "recording videos/70.mp4"
    assert wait_for_end(one) == "recorded videos/70.mp4"
    assert one.ended() == "" and not one.is_busy
    assert names(one) == ["70.mp4"]
    assert one.begin(80) == "recording videos/80.mp4"


def test_a_failure_is_told_by_its_last_line(recorder):
    one = recorder(FAILS)
    one.begin(70)
    assert wait_for_end(one) == "no video of step 70: puffer: this environment gives no frames"
    assert names(one) == []
    silent = recorder("import os; os._exit(3)")
    silent.begin(71)
    assert wait_for_end(silent) == "no video of step 71: exit code 3"


def test_one_at_a_time_and_it_ends_with_the_run(recorder):
    one = recorder(HANGS)
    one.begin(70)
    assert one.begin(80) == "recording videos/70.mp4 still goes on"
    process = one.process
    while not one.hidden(".mp4").exists():
        time.sleep(0.01)
    assert not any(not name.startswith(".") for name in names(one))
    one.close()
    one.close()
    assert process.poll() is not None
    assert names(one) == []


def test_what_a_killed_process_left_is_deleted(recorder):
    one = recorder(RECORDS)
    one.folder.mkdir()
    for name in (".5.mp4", ".5.pt", ".5.log", "4.mp4"):
        (one.folder / name).touch()
    recorder(RECORDS)
    assert names(one) == ["4.mp4"]


def test_a_snapshot_that_cannot_be_written_stops_nothing(recorder):
    one = recorder(RECORDS)

    def full(path):
        raise OSError("No space left on device")

    one.save = full
    assert one.begin(70) == "no video: No space left on device"
    assert not one.is_busy and names(one) == []


def test_the_container_is_what_can_be_written(monkeypatch, tmp_path):
    found = {"imageio", "imageio_ffmpeg"}
    monkeypatch.setattr(snapshots.importlib.util, "find_spec", lambda name: name if name in found else None)
    assert snapshots.video_suffix() == ".mp4"
    found.remove("imageio_ffmpeg")
    assert snapshots.video_suffix() == ".gif"
    check_recorder()
    found.clear()
    with pytest.raises(ConfigError, match=r"--train.video-interval.*pip install"):
        check_recorder()
    assert "pip install" in Recorder(tmp_path, lambda path: None).begin(1)
