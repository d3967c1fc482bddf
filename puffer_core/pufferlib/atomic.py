"""Files that no crash can tear: written under another name, flushed to the disk, then renamed to their own.

A name therefore stands for the old content or for the new one, never for half of it. What a killed process leaves under the
other name is found by `leftovers`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

SUFFIX = ".tmp"


@contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the place of `path` where the block ends without an error.

    mode: "wb", or "w" for UTF-8 text. Missing folders are made. Raises OSError; the old file stays then, and no other one.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=SUFFIX, dir=target.parent)
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def leftovers(folder: str | os.PathLike[str]) -> list[Path]:
    """What `replacing` left in `folder` where a process was killed in the middle of it."""
    return sorted(Path(folder).glob(f".*{SUFFIX}"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
