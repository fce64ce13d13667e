"""A counter in a file, by which processes that share a folder notice each other's writes."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

_SIZE = 24


class ChangeFile:
    """Three numbers in a small file that each process maps into its memory, so that reading one takes 100 ns.

    ``count`` changes with every change that readers must see. ``writing`` is True while a writer is at work, and stays True
    if it is killed or fails. ``touching`` is the same for Chroma's files: see ``Files``.

    SQLite's own ``PRAGMA data_version`` is no alternative. It needs a second copy of SQLite on Chroma's file, and when that
    copy closes the file, the locks of Chroma's copy are dropped (sqlite.org/howtocorrupt.html, section 2.2.1).
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if os.fstat(descriptor).st_size < _SIZE:
                os.ftruncate(descriptor, _SIZE)  # filled with zeros, even if two processes do it at once
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._numbers = memoryview(self._map).cast("Q")

    @property
    def count(self) -> int:
        """The number of changes, modulo 2**64. Compare it for equality only."""
        return self._numbers[0]

    def advance(self) -> int:
        """Count one more change, and return the new count. Only for the process that holds the writer's lock."""
        self._numbers[0] = (self._numbers[0] + 1) % 2**64
        return self._numbers[0]

    @property
    def writing(self) -> bool:
        """Whether a writer is at work, or was killed or failed before it was done."""
        return self._numbers[1] != 0

    @writing.setter
    def writing(self, value: bool) -> None:
        self._numbers[1] = int(value)

    @property
    def touching(self) -> bool:
        """Whether a process writes or loads Chroma's files, or was killed or failed before it was done."""
        return self._numbers[2] != 0

    @touching.setter
    def touching(self, value: bool) -> None:
        self._numbers[2] = int(value)
