"""Flows that read run outside of the event loop, in as many threads as cores, and stop when they are cancelled."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from leafspan.flows import Call, Flow, _flow, arun

SECONDS = 30


def here() -> int:
    return threading.get_ident()


async def native() -> int:
    return here()


def flow_of(done: list[object]) -> Flow[tuple[int, int, int]]:
    try:
        computed = yield Call(here, computes=True)
        awaited = yield Call(None, native=native)
        return here(), computed, awaited
    finally:
        done.append("let go")


async def test_the_flow_and_what_it_computes_run_in_threads_and_what_is_native_in_the_loop():
    done: list[object] = []
    step, computed, awaited = await arun(flow_of(done), reads=True)
    assert step != here() != computed
    assert awaited == here()
    assert done == ["let go"]


async def test_without_a_mark_that_it_reads_a_flow_runs_in_the_loop():
    step, _, _ = await arun(flow_of([]))
    assert step == here()


async def test_what_fails_fails_in_the_flow_and_what_the_flow_raises_is_raised():
    def fail() -> None:
        raise KeyError("no")

    def flow() -> Flow[str]:
        try:
            yield Call(fail, computes=True)
        except KeyError:
            yield Call(fail)
        return "never"

    with pytest.raises(KeyError, match="no"):
        await arun(flow(), reads=True)


async def test_no_more_compute_at_a_time_than_there_are_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_flow, "CORES", 2)
    _flow._semaphores.clear()
    at_once: list[int] = []
    running: list[int] = []

    def compute() -> None:
        running.append(1)
        at_once.append(len(running))
        time.sleep(0.01)
        running.pop()

    def flow() -> Flow[None]:
        yield Call(compute, computes=True)

    await asyncio.gather(*(arun(flow(), reads=True) for _ in range(12)))
    assert max(at_once) == 2


async def test_a_cancelled_task_ends_at_once_and_its_flow_goes_no_further_and_lets_go():
    begun, go_on, let_go = threading.Event(), threading.Event(), threading.Event()
    further: list[str] = []

    def compute() -> None:
        begun.set()
        go_on.wait(SECONDS)

    def flow() -> Flow[None]:
        try:
            yield Call(compute, computes=True)
            further.append("flow")
            yield Call(lambda: further.append("call"), computes=True)
        finally:
            let_go.set()

    task = asyncio.create_task(arun(flow(), reads=True))
    await asyncio.to_thread(begun.wait, SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not let_go.is_set()
    go_on.set()
    assert await asyncio.to_thread(let_go.wait, SECONDS)
    assert further == []


async def test_a_flow_lets_go_if_its_task_is_cancelled_while_it_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_flow, "CORES", 1)
    _flow._semaphores.clear()
    answered, computing, go_on = asyncio.Event(), threading.Event(), threading.Event()
    done: list[str] = []

    def compute() -> None:
        computing.set()
        go_on.wait(SECONDS)

    def busy() -> Flow[None]:
        yield Call(compute, computes=True)

    def waiting() -> Flow[None]:
        try:
            yield Call(None, native=answered.wait)
            done.append("went on")
        finally:
            done.append("let go")

    task = asyncio.create_task(arun(waiting(), reads=True))
    await asyncio.sleep(0.05)
    other = asyncio.create_task(arun(busy(), reads=True))
    await asyncio.to_thread(computing.wait, SECONDS)
    answered.set()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["let go"]
    go_on.set()
    await other
