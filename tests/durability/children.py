"""Starting other processes and talking to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests import warm

_ROOT = Path(__file__).parents[2]


class Child:
    """A process that does one job of ``child.py``."""

    def __init__(self, job: str, place: dict[str, Any], **options: Any) -> None:
        told = json.dumps({"job": job, "place": place, **options})
        self.process = warm.Popen(
            [sys.executable, "-m", "tests.durability.child", told],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        """Its next line; what it died of, where it ends instead."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise AssertionError(f"the child ended with {self.wait()}: {self.errors[-2000:]}")
        return line

    def wait(self) -> int:
        """Its return code, once it has ended."""
        _, self.errors = self.process.communicate(timeout=120)
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def child(job: str, place: dict[str, Any], **options: Any) -> Iterator[Child]:
    """A child that does not outlive the block."""
    started = Child(job, place, **options)
    try:
        yield started
    finally:
        started.kill()


class ForkServer:
    """A process that forks one for each write."""

    def __init__(self) -> None:
        self._parent = Child("fork", {})
        self._mutex = threading.Lock()

    def write(self, place: dict[str, Any], *, until: Callable[[], Any] | None = None, **options: Any) -> int:
        """The return code of a process that does this job; it is killed when ``until`` comes back."""
        with self._mutex:
            self._parent.say(json.dumps({"place": place, **options}))
            pid = int(self._parent.hear())
            if until is not None:
                until()
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return int(self._parent.hear())

    def close(self) -> None:
        self._parent.kill()
