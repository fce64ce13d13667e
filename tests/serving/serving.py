"""The command in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 60  # seconds


@dataclass(frozen=True, slots=True)
class Served:
    """A process that serves.

    Attributes:
        process: The process.
        address: What it has printed.
    """

    process: subprocess.Popen[str]
    address: str

    def end(self, number: int) -> tuple[int, str]:
        """Its exit code after a signal, and what it has printed to standard error."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=_PATIENCE)
        return self.process.returncode, errors


def command(*options: object) -> subprocess.Popen[str]:
    """``leafspan serve`` with these options."""
    return subprocess.Popen(
        [sys.executable, "-m", "leafspan", "serve", *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def served(kb: Path, *options: object) -> Iterator[Served]:
    """A process that serves an index, and does not outlive the block."""
    process = command("--kb", kb, *options)
    try:
        assert process.stdout is not None
        told, address = process.stdout.readline(), process.stdout.readline().strip()
        if not address:
            raise AssertionError(f"{told}{process.communicate(timeout=_PATIENCE)}")
        yield Served(process, address)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=_PATIENCE)
