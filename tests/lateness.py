"""Times for tests that also hold on a slow and busy machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_STEP = 0.01  # seconds of each sleep that tells how late the machine is


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """What is done in the block takes ``seconds`` at most, beside the time by which this machine is late itself.

    A thread that only sleeps tells how late that is: how much longer its sleeps take than it asks for. While this process
    computes, the machine is not late, so code that computes where it should come back is noticed.
    """
    late, ended = 0.0, threading.Event()

    def watch() -> None:
        nonlocal late
        while not ended.is_set():
            began, computed = time.monotonic(), time.process_time()
            ended.wait(_STEP)
            late += max(0.0, time.monotonic() - began - _STEP - (time.process_time() - computed))

    watching = threading.Thread(target=watch, name="tests: lateness", daemon=True)
    watching.start()
    start = time.monotonic()
    try:
        yield
    finally:
        took = time.monotonic() - start
        ended.set()
        watching.join()
    assert took < seconds + late, (
        f"took {took:.2f} seconds, which may be {seconds:g}, and the machine was late by {late:.2f}"
    )


def longer_and_longer(seconds: float) -> Iterator[float]:
    """Timeouts for what must get somewhere before it is late: ``seconds``, and more where a busy machine needs more.

    Whoever asks for the next one has seen that the last one was too short for this machine.
    """
    for times in (1, 4, 16, 64):
        yield seconds * times
