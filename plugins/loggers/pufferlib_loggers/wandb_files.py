"""What the offline files of a W&B run hold, `run-<id>.wandb`: a run that is killed with all its processes may lack its last rows.

The format is LevelDB's log (blocks of 32 KiB; records with a checksum, a length and a type, cut where a block ends), behind a
header of 7 bytes. Each record is a message of the package's own protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

HEADER, BLOCK, RECORD_HEADER = 7, 32768, 7
WHOLE, FIRST, LAST = 1, 2, 4


def newest_step(folder: Path, run_id: str) -> int:
    """Of the rows in all files of that run in W&B's folder, -1 if there is none."""
    from wandb.proto.wandb_internal_pb2 import Record

    newest = -1
    for path in folder.glob(f"offline-run-*-{run_id}/run-{run_id}.wandb"):
        for content in records(path.read_bytes()):
            record = Record.FromString(content)
            if record.WhichOneof("record_type") == "history":
                newest = max(newest, record.history.step.num)
    return newest


def records(content: bytes) -> Iterator[bytes]:
    """Whole records, up to the end or to where a kill tore the file."""
    place, parts = HEADER, b""
    while place + RECORD_HEADER <= len(content):
        left = BLOCK - place % BLOCK
        if left < RECORD_HEADER:
            place += left
            continue
        size, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        place += RECORD_HEADER + size
        if not kind or place > len(content):
            return
        part = content[place - size : place]
        parts = part if kind in (WHOLE, FIRST) else parts + part
        if kind in (WHOLE, LAST):
            yield parts
