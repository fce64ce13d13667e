"""How processes that share a folder learn of each other's writes."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

_SIZE = 24


class ChangeFile:
    """Three numbers in a small file that every process on the folder maps into its memory; reading one costs 100 ns.

    ``count`` moves with every change that readers must see. ``writing`` is 1 while a writer is at work, and stays so
    when it is killed or fails; ``touching`` is the same for Chroma's files, see Files. (SQLite's own ``PRAGMA
    data_version`` would need a second copy of SQLite on Chroma's file, whose closing drops the locks that Chroma's copy
    holds: sqlite.org/howtocorrupt.html, 2.2.1.)
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if os.fstat(descriptor).st_size < _SIZE:
                os.ftruncate(descriptor, _SIZE)  # filled with zeros, also where two processes do it at once
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._numbers = memoryview(self._map).cast("Q")

    @property
    def count(self) -> int:
        """How many changes there were; only equality means anything."""
        return self._numbers[0]

    def advance(self) -> int:
        """Count one change more; only the holder of the writer's lock may."""
        self._numbers[0] = (self._numbers[0] + 1) % 2**64
        return self._numbers[0]

    @property
    def writing(self) -> bool:
        """True while a writer is at work, or where one was killed or failed at it."""
        return self._numbers[1] != 0

    @writing.setter
    def writing(self, value: bool) -> None:
        self._numbers[1] = int(value)

    @property
    def touching(self) -> bool:
        """True while somebody writes or loads Chroma's files, or where one was killed or failed at it."""
        return self._numbers[2] != 0

    @touching.setter
    def touching(self, value: bool) -> None:
        self._numbers[2] = int(value)
