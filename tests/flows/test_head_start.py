"""A head start holds back the other flow until it ends, and not for long."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from leafspan.flows import Call, HeadStart, _threads, arun, run, run_together
from leafspan.flows import _head_start as module


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


@pytest.mark.parametrize("drive", [run, "arun"], ids=["run", "arun"])
async def test_it_is_not_waited_for_for_long(drive):
    started = time.monotonic()
    flow = HeadStart().before(noting([], "done"))
    assert (run(flow) if drive is run else await arun(flow)) == "done"
    assert 0.2 <= time.monotonic() - started < 10.0


@pytest.mark.parametrize("drive", [run, "arun"], ids=["run", "arun"])
async def test_it_is_over_when_the_flow_that_has_it_fails(drive, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_SECONDS", 30.0)
    error = RuntimeError("broken")
    head_start = HeadStart()

    def failing():
        yield Call(time.sleep, (0.01,))
        raise error

    def both():
        return (yield run_together([head_start.of(failing()), head_start.before(noting([], "second"))]))

    started = time.monotonic()
    assert (run(both()) if drive is run else await arun(both())) == [error, "second"]
    assert time.monotonic() - started < 20.0


def test_where_no_thread_is_free_the_flow_that_has_it_runs_first(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_SECONDS", 30.0)
    monkeypatch.setattr(_threads, "_slots", [])
    events: list[str] = []
    head_start = HeadStart()

    def both():
        return (yield run_together([first(events, head_start), head_start.before(noting(events, "second"))]))

    assert run(both()) == ["first", "second"]
    assert events == ["first", "second"]


async def test_in_an_event_loop_no_thread_waits_for_it(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_SECONDS", 30.0)
    head_starts = [HeadStart() for _ in range(64)]  # more than there are threads of a loop
    waiting = [asyncio.ensure_future(arun(each.before(noting([], number)))) for number, each in enumerate(head_starts)]
    await asyncio.sleep(0.01)
    events: list[str] = []
    async with asyncio.timeout(20.0):
        await arun(noting(events, "other"))
    assert events == ["other"]
    assert not any(task.done() for task in waiting)
    waiting[0].cancel()
    for each in head_starts:
        each.end()
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(ended[0], asyncio.CancelledError)
    assert ended[1:] == list(range(1, 64))


def test_after_its_end_nobody_waits(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_SECONDS", 30.0)
    head_start = HeadStart()
    head_start.end()
    head_start.end()
    threads = [threading.Thread(target=run, args=(head_start.before(noting([], "")),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    assert not any(thread.is_alive() for thread in threads)
