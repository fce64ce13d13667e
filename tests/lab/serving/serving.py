"""The command in a separate process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import warm

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


def command(*options: object) -> list[object]:
    """The words of ``leafspan serve`` with these options."""
    return [sys.executable, "-m", "leafspan", "serve", *options]


@contextmanager
def process(*words: object) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the block."""
    started = warm.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate(timeout=_PATIENCE)


@contextmanager
def served(kb: Path, *options: object) -> Iterator[Served]:
    """A process that serves an index, and does not outlive the block."""
    with process(*command("--kb", kb, *options)) as started:
        assert started.stdout is not None
        told, address = started.stdout.readline(), started.stdout.readline().strip()
        if not address:
            raise AssertionError(f"{told}{started.communicate(timeout=_PATIENCE)}")
        yield Served(started, address)
