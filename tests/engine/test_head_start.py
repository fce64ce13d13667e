"""A head start holds back the other flow until it ends, and not for long."""

from __future__ import annotations

import threading
import time

import pytest

from leafspan.engine import Call, HeadStart, arun, run, run_together
from leafspan.engine import _head_start as module


def noting(events, what):
    yield Call(events.append, (what,))
    return what


def first(events, head_start):
    yield Call(time.sleep, (0.05,))
    yield Call(events.append, ("first",))
    head_start.end()
    return "first"


@pytest.mark.parametrize("drive", [run, "arun"], ids=["run", "arun"])
async def test_the_other_flow_begins_when_it_is_over(drive, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_SECONDS", 30.0)
    events: list[str] = []
    head_start = HeadStart()

    def both():
        return (yield run_together([first(events, head_start), head_start.before(noting(events, "second"))]))

    assert (run(both()) if drive is run else await arun(both())) == ["first", "second"]
    assert events == ["first", "second"]


def test_it_is_not_waited_for_for_long():
    started = time.monotonic()
    assert run(HeadStart().before(noting([], "done"))) == "done"
    assert 0.2 <= time.monotonic() - started < 10.0


def test_after_its_end_nobody_waits():
    head_start = HeadStart()
    head_start.end()
    head_start.end()
    threads = [threading.Thread(target=run, args=(head_start.before(noting([], "")),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    assert not any(thread.is_alive() for thread in threads)
