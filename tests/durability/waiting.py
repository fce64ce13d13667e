"""Waits for events in another thread or process."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
