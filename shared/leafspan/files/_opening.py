"""Opens regular files only: not files that could block, and not files that are too large to be read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 2**28
"""The size, in bytes, of the largest file, or line of a ``.jsonl`` file, that is read at once: 256 MiB."""

_KINDS = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"))


class Unreadable(Exception):
    """A file, or a part of it, cannot be read; the message says why. Users never see this exception."""


def open_file(path: Path) -> BinaryIO:
    """Open a file."""
    _check_regular(path.stat().st_mode)  # before opening, since opening a device can have effects
    file: BinaryIO = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115 (the caller closes it)
    try:
        _check_regular(os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def read_bytes(path: Path) -> bytes:
    """Read a file."""
    with open_file(path) as file:
        data = file.read(MOST_BYTES + 1) if os.fstat(file.fileno()).st_size <= MOST_BYTES else None
    if data is None or len(data) > MOST_BYTES:
        raise Unreadable(f"it has more than {MOST_BYTES:,} bytes")
    return data


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise Unreadable(f"it is {kind}, not a regular file")


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
