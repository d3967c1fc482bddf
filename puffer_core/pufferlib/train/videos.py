"""The videos of a run, in its folder `videos`."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from pufferlib.render.video import SUFFIXES


def finished_videos(folder: Path, known: Container[Path] = ()) -> list[Path]:
    """The videos in `folder` that are complete and not in `known`, by name; [] if there is no such folder.

    A video that is being recorded has a hidden name, and is renamed once it is complete.
    """
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path not in known
    )
