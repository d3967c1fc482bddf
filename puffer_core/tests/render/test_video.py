"""Video files hold the frames that were written."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pufferlib.errors import ConfigError, RenderError, ShapeError
from pufferlib.render.video import VideoWriter


def frames(count, height=48, width=64):
    """A white bar that goes from left to right over a dark field."""
    pictures = np.full((count, height, width, 3), 40, np.uint8)
    for i in range(count):
        pictures[i, :, 4 * i : 4 * i + 4] = 255
    return pictures


@pytest.mark.parametrize("suffix", [".mp4", ".gif", ".MP4", ".mkv", ".webm"])
def test_a_video_holds_every_frame_at_its_speed(tmp_path, suffix):
    imageio = pytest.importorskip("imageio.v2")
    path, pictures = tmp_path / f"video{suffix}", frames(10)
    with VideoWriter(path, fps=20) as video:
        for picture in pictures:
            video.add(picture)
    assert video.frames == 10
    read = [frame[:, :, :3] for frame in imageio.get_reader(path)]
    assert len(read) == 10
    for got, want in zip(read, pictures, strict=True):
        assert got.shape == want.shape
        assert np.abs(got.astype(int) - want).mean() < 6  # lossy
    meta = imageio.get_reader(path).get_meta_data()
    assert meta["duration"] == 50 if suffix == ".gif" else abs(meta["fps"] - 20) < 0.5


def test_odd_sizes_are_padded_for_the_codec(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    with VideoWriter(tmp_path / "odd.mp4") as video:
        video.add(frames(1, 47, 63)[0])
    assert imageio.get_reader(tmp_path / "odd.mp4").get_data(0).shape == (48, 64, 3)


@pytest.mark.parametrize(
    ("name", "fps", "words"), [("a.avi", 30, "must end in"), ("no/a.mp4", 30, "no folder"), ("a.mp4", 0, "fps")]
)
def test_what_cannot_be_written_is_refused(tmp_path, name, fps, words):
    with pytest.raises(ConfigError, match=words):
        VideoWriter(tmp_path / name, fps)
    assert not list(tmp_path.iterdir())


def test_frames_that_are_no_pictures_are_refused(tmp_path):
    pytest.importorskip("imageio")
    with VideoWriter(tmp_path / "a.gif") as video:
        video.add(frames(1)[0])
        for bad in (np.zeros((48, 64)), np.zeros((48, 64, 3)), np.zeros((40, 64, 3), np.uint8)):
            with pytest.raises(ShapeError, match=r"uint8\[48, 64, 3\]"):
                video.add(bad)


def test_without_imageio_the_error_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio", None)
    monkeypatch.setitem(sys.modules, "imageio.v2", None)
    with pytest.raises(RenderError, match=r"pip install 'pufferlib\[video\]'"):
        VideoWriter(tmp_path / "a.mp4")
