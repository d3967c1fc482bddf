"""Memory that several processes see: without a name, so that nothing is left behind however they end.

Linux: an anonymous memory file (not bound by the size of /dev/shm, which containers keep small). Other Unix systems: a
deleted temporary file. Both travel as file descriptors. Windows: a named mapping, which ends with its last process.
"""

from __future__ import annotations

import mmap
import os
import secrets
import sys
import tempfile
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pufferlib.buffers import Array, Buffers

ALIGNMENT = 64

Layout = dict[str, tuple[tuple[int, ...], "np.dtype[Any]"]]


class SharedBlock:
    """`size` zeroed bytes. `memory` is mapped until the last array over it is gone."""

    def __init__(self, size: int) -> None:
        self.size = max(size, 1)
        self._file: int | None = None
        self._name = ""
        if sys.platform == "win32":
            self._name = f"pufferlib-{os.getpid()}-{secrets.token_hex(8)}"
            self.memory = mmap.mmap(-1, self.size, tagname=self._name)
            return
        self._file = _memory_file()
        try:
            os.ftruncate(self._file, self.size)
            self.memory = mmap.mmap(self._file, self.size)
        except BaseException:
            self.close()
            raise

    def send(self, connection: Connection, pid: int) -> None:
        """Let process `pid` map it, by `receive_memory` at the other end."""
        connection.send((self.size, self._name))
        if self._file is not None:
            reduction.send_handle(connection, self._file, pid)

    def close(self) -> None:
        """Send it to nobody any more. The mapping itself stays as long as arrays use it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        self.close()


def receive_memory(connection: Connection) -> mmap.mmap:
    """What `SharedBlock.send` sent, mapped."""
    size, name = connection.recv()
    if sys.platform == "win32":
        return mmap.mmap(-1, size, tagname=name)
    file = reduction.recv_handle(connection)
    try:
        return mmap.mmap(file, size)
    finally:
        os.close(file)


def layout_bytes(layout: Layout) -> int:
    """The size of a block that holds these arrays."""
    return sum(_aligned(_array_bytes(shape, dtype)) for shape, dtype in layout.values())


def arrays_in(memory: Any, layout: Layout) -> dict[str, Array]:
    """The arrays, one after the other, each at a multiple of 64 bytes."""
    arrays: dict[str, Array] = {}
    offset = 0
    for name, (shape, dtype) in layout.items():
        arrays[name] = np.ndarray(shape, dtype, memory, offset)
        offset += _aligned(_array_bytes(shape, dtype))
    return arrays


def buffers_in(memory: Any, layout: Layout) -> Buffers:
    """Buffers over memory that somebody has filled already."""
    return Buffers(**arrays_in(memory, layout))


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("pufferlib", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _array_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
