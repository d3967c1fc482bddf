"""`puffer train` in a terminal: what the keys do to a run."""

from __future__ import annotations

import json
import sys

import pytest

from pufferlib.cli.main import main

pytest.importorskip("pufferlib_ocean", reason="the ocean package is not installed")

TRAIN = (
    "-m", "pufferlib", "train", "ocean-squared", "--train.device", "cpu", "--train.total-timesteps", "1e9", "--vec.num-envs", "8",
    "--vec.backend", "serial", "--train.horizon", "16", "--policy.hidden-size", "8", "--train.checkpoint-interval", "0",
    "--train.log-interval-s", "0.1",
)  # fmt: skip


def checkpoints(run):
    return sorted(int(path.stem) for path in (run / "checkpoints").glob("*.pt"))


def steps(run):
    return [json.loads(line)["global_step"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_s_saves_v_records_while_training_goes_on_and_q_saves_and_quits(terminal, tmp_path):
    pytest.importorskip("imageio", reason="videos need imageio")
    run = tmp_path / "run"
    screen = terminal(sys.executable, *TRAIN, "--run-dir", run, rows=40)
    before = screen.modes
    screen.until("policy loss")
    assert checkpoints(run) == []
    screen.press("s")
    screen.until("saved checkpoints/")
    (saved,) = checkpoints(run)
    screen.press("v")
    screen.until("recording videos/")
    begun = steps(run)[-1]
    screen.press("v")
    screen.until("recorded videos/")
    (video,) = (run / "videos").iterdir()
    assert video.suffix in (".mp4", ".gif") and video.stat().st_size > 0
    assert saved < int(video.stem)
    screen.until(lambda: steps(run)[-1] > begun)
    screen.press("q")
    assert screen.wait() == 0
    assert f"stopped at step {steps(run)[-1]:,}; saved" in screen.text and "go on with: puffer train --resume" in screen.text
    assert checkpoints(run) == [saved, steps(run)[-1]]
    assert screen.modes == before
    assert max(map(len, screen.text.splitlines())) <= 80
    assert [path.name for path in (run / "videos").iterdir()] == [video.name]


class Recorded:
    """A recording that has ended as soon as it began."""

    returncode = 0

    def __init__(self, command, snapshot, *flags, output):
        assert command == "eval" and snapshot.stat().st_size > 0
        flags[flags.index("--video") + 1].write_bytes(b"frames")

    def poll(self):
        return 0


def test_a_run_records_by_its_interval_also_without_a_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pufferlib.train.snapshots.start", Recorded)
    monkeypatch.setattr("pufferlib.train.run.draw_curves", lambda *args: False)
    run = tmp_path / "run"
    flags = ("--train.total-timesteps", "1280", "--train.video-interval", "3", "--train.torch-threads", "1")
    assert main([*TRAIN[2:], *flags, "--run-dir", str(run)]) == 0
    assert sorted(int(path.stem) for path in (run / "videos").iterdir()) == [384, 768, 1152]
    said = capsys.readouterr().out
    assert said.index("recording videos/384") < said.index("recorded videos/384") < said.index("recording videos/768")
    assert "\x1b" not in said


def test_an_interval_without_a_way_to_write_videos_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pufferlib.train.snapshots.video_suffix", lambda: "")
    assert main([*TRAIN[2:], "--train.video-interval", "1", "--run-dir", str(tmp_path / "run")]) == 2
    assert "imageio" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
