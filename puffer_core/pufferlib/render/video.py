"""Writing frames to a video file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pufferlib.buffers import Array
from pufferlib.errors import ConfigError, RenderError, ShapeError

SUFFIXES = (".mp4", ".webm", ".mkv", ".gif")
CODECS = {".mp4": "libx264", ".mkv": "libx264", ".webm": "libvpx-vp9"}
NO_IMAGEIO = "writing a video needs imageio: pip install 'pufferlib[video]'"


class VideoWriter:
    """Writes uint8[height, width, 3] frames to a .mp4, .webm, .mkv or .gif file. Close it, or use it in a `with`.

    path: is overwritten; its folder must exist
    fps: frames per second, above 0. A GIF's frames last a whole number of hundredths of a second, at least two
    Raises ConfigError for an unknown suffix, a missing folder or a bad fps, RenderError if imageio is missing.
    """

    def __init__(self, path: str | Path, fps: float = 30.0) -> None:
        self.path = check_path(path)
        suffix = self.path.suffix.lower()
        if not 0 < fps <= 1000:
            raise ConfigError(f"fps must be above 0 and at most 1000, got {fps:g}")
        try:
            import imageio.v2 as imageio
        except ModuleNotFoundError:
            raise RenderError(NO_IMAGEIO) from None
        self.frames = 0
        self._shape: tuple[int, ...] | None = None
        try:
            if suffix == ".gif":
                self._writer: Any = imageio.get_writer(self.path, mode="I", duration=max(20, round(100 / fps) * 10), loop=0)
            else:
                settings: dict[str, Any] = {"codec": CODECS[suffix], "quality": 8, "macro_block_size": 1}
                self._writer = imageio.get_writer(self.path, format="FFMPEG", fps=fps, ffmpeg_log_level="error", **settings)
        except (ImportError, OSError, ValueError) as error:
            raise RenderError(f"video {str(path)!r}: {error}; {NO_IMAGEIO}") from error

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def add(self, frame: Array) -> None:
        """Append a frame. Raises ShapeError if it is no picture, or has another size than the first."""
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or self._shape not in (None, frame.shape):
            expected = list(self._shape) if self._shape else "[height, width, 3]"
            raise ShapeError(f"a frame must be uint8{expected}, got {frame.dtype.name}{list(frame.shape)}")
        self._shape = frame.shape
        even = [(0, size % 2) for size in frame.shape[:2]]  # what H.264 needs
        self._writer.append_data(np.pad(frame, [*even, (0, 0)], mode="edge"))
        self.frames += 1

    def close(self) -> None:
        """Finish the file. May be called any number of times."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def check_path(path: str | Path) -> Path:
    """The path of a video that can be written. Raises ConfigError for an unknown suffix or a missing folder."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"video {str(path)!r}: its name must end in {', '.join(SUFFIXES)}")
    if target.is_dir():
        raise ConfigError(f"video {str(path)!r}: is a folder")
    if not target.parent.is_dir():
        raise ConfigError(f"video {str(path)!r}: there is no folder {target.parent}")
    return target
