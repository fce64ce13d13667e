"""Having another process write, however little there is to write."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from leafspan import Index
from leafspan.flows import run
from leafspan.store._writing_process import WritingProcess

SECONDS = 60.0


def writing_process(index: Index) -> WritingProcess:
    """The process that writes all further documents of an index in a folder, which is started if there is none."""
    run(index._store.expect_much())
    process = index._store._folder.process
    assert process is not None
    assert process.wait(SECONDS)
    return process


def before_step(number: int, do: Callable[[WritingProcess], Any]) -> None:
    """Do something once, before the step of that number: what a writing process is asked, from beginning to end."""
    steps = itertools.count()
    for name in ("begin", "ask", "end"):
        original = getattr(WritingProcess, name)

        def stepping(self: WritingProcess, *arguments: Any, original: Callable[..., Any] = original) -> Any:
            if next(steps) == number:
                do(self)
            return original(self, *arguments)

        setattr(WritingProcess, name, stepping)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
