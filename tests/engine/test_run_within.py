"""Flows with a time limit: who waits gets an error in time, and what is late goes no further and tells nobody."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
import time
from collections.abc import Iterator

import pytest

from leafspan import RetrievalTimeout
from leafspan.engine import Call, arun_within, run, run_concurrently, run_together, run_within

LATE = 0.1
SLACK = 1.0
WHERE = contextvars.ContextVar("where", default="nowhere")


class Work:
    """A flow that waits until it is released, and notes what it has done."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.done: list[str] = []
        self.ended = threading.Event()

    def flow(self, *, native: bool = False, error: BaseException | None = None):
        try:
            yield Call(self._wait, (error,), native=self._await if native else None, what="the slow one")
            self.done.append("went on")
            yield Call(self.done.append, ("asked for more",))
        finally:
            self.done.append("let go")
            self.ended.set()

    def _wait(self, error: BaseException | None) -> None:
        self.released.wait(20)
        if error:
            raise error

    async def _await(self, error: BaseException | None) -> None:
        await asyncio.sleep(20)


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work()
    yield made
    made.released.set()


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What threads, asyncio and the garbage collector report."""
    said: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: said.append(str(arguments)))
    with caplog.at_level(logging.WARNING):
        yield said
        gc.collect()
        said += caplog.messages


def within(seconds: float, function) -> BaseException:
    start = time.monotonic()
    with pytest.raises(RetrievalTimeout) as caught:
        function()
    assert time.monotonic() - start < seconds + SLACK
    return caught.value


def test_a_result_in_time_is_returned_and_an_error_raised_as_it_is():
    def fail():
        raise TimeoutError("of its own")

    def two():
        return (yield Call(divmod, (7, 2)))

    def one():
        yield Call(fail)

    async def both(flow):
        return await arun_within(flow, 5)

    assert run_within(two(), 5) == asyncio.run(both(two())) == run_within(two(), None) == (3, 1)
    for ask in (lambda: run_within(one(), 5), lambda: asyncio.run(both(one()))):
        with pytest.raises(TimeoutError, match="of its own") as caught:
            ask()
        assert type(caught.value) is TimeoutError


def test_a_late_flow_is_an_error_that_says_what_is_waited_for(work: Work):
    error = within(LATE, lambda: run_within(work.flow(), LATE))
    assert str(error) == (
        "a retrieval must be done within its timeout of 0.1 seconds, and this one still waits for the slow one: ask for "
        "less, or raise timeout"
    )


@pytest.mark.parametrize("error", [None, RuntimeError("late"), KeyboardInterrupt()])
def test_a_late_flow_goes_no_further_lets_go_and_reports_nothing(work: Work, reported: list[str], error):
    within(LATE, lambda: run_within(work.flow(error=error), LATE))
    assert work.done == []
    work.released.set()
    assert work.ended.wait(5)
    time.sleep(0.05)
    assert work.done == ["let go"]
    assert reported == []


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("error", [None, RuntimeError("late")])
def test_a_late_task_goes_no_further_lets_go_and_reports_nothing(work: Work, reported: list[str], native: bool, error):
    async def ask():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context)))
        start = time.monotonic()
        with pytest.raises(RetrievalTimeout, match="waits for the slow one"):
            await arun_within(work.flow(native=native, error=error), LATE)
        assert time.monotonic() - start < LATE + SLACK
        assert work.done == ["let go"]
        work.released.set()
        await asyncio.sleep(0.05)

    asyncio.run(ask())
    assert work.done == ["let go"]
    assert reported == []


@pytest.mark.parametrize("error", [None, RuntimeError("late")])
def test_a_cancelled_task_lets_go_at_once_and_reports_nothing_even_after_its_loop_is_closed(
    work: Work, reported: list[str], error
):
    for seconds in (None, 20):

        async def ask(seconds=seconds):
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context)))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(arun_within(work.flow(error=error), seconds), LATE)

        start = time.monotonic()
        asyncio.run(ask())  # which does not wait for the thread either
        assert time.monotonic() - start < LATE + SLACK
    assert work.done == ["let go", "let go"]
    work.released.set()
    time.sleep(0.05)
    gc.collect()
    assert reported == []


async def test_a_task_that_ignores_that_it_is_cancelled_is_not_waited_for():
    stopped = asyncio.Event()

    async def stubborn():
        while not stopped.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    def flow():
        yield Call(None, native=stubborn)

    start = time.monotonic()
    with pytest.raises(RetrievalTimeout):
        await arun_within(flow(), LATE)
    assert time.monotonic() - start < LATE + SLACK
    stopped.set()


async def test_what_must_be_finished_is_finished_behind_the_back_of_who_waited():
    finished = threading.Event()

    def write():
        time.sleep(3 * LATE + 0.6)
        finished.set()

    def flow():
        yield Call(write, finish=True)

    with pytest.raises(RetrievalTimeout):
        await arun_within(flow(), LATE)
    assert not finished.is_set()
    while not finished.is_set():  # noqa: ASYNC110 (it is set in a thread)
        await asyncio.sleep(0.01)


def test_flows_that_run_beside_each_other_end_with_the_one_that_runs_them():
    works = [Work() for _ in range(4)]

    def flow():
        legs = [works[0].flow(), works[1].flow()]
        yield run_concurrently(legs, [None, 20])

    def other():
        yield run_together([works[2].flow(), works[3].flow()])

    for made in (flow, other):
        within(LATE, lambda made=made: run_within(made(), LATE))
    for each in works:
        each.released.set()
    for each in (works[0], works[1]):
        assert each.ended.wait(5)
    time.sleep(0.1)
    assert [each.done for each in works] == [["let go"]] * 4


def test_a_part_has_no_more_time_than_the_whole():
    work = Work()

    def whole():
        yield Call(run_within, (work.flow(), 20))

    def unlimited():
        yield Call(run_within, (work.flow(), None))

    for flow in (whole, unlimited):
        within(LATE, lambda flow=flow: run_within(flow(), LATE))
    work.released.set()
    time.sleep(0.1)
    assert work.done == ["let go", "let go"]


def test_a_part_may_have_less_time_than_the_whole():
    work = Work()

    def whole():
        try:
            yield Call(run_within, (work.flow(), LATE))
        except RetrievalTimeout:
            return "went on without"

    assert run_within(whole(), 20) == "went on without"
    work.released.set()


def test_an_interrupted_wait_stops_the_flow(work: Work, monkeypatch: pytest.MonkeyPatch):
    from concurrent.futures import Future

    def interrupted(self, timeout=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_within(work.flow(), 20)
    work.released.set()
    assert work.ended.wait(5)
    assert work.done == ["let go"]


def test_a_flow_that_asks_for_more_while_it_lets_go_does_not_get_it(work: Work):
    asked = []

    def flow():
        try:
            yield from work.flow()
        finally:
            yield Call(asked.append, ("more",))

    within(LATE, lambda: run_within(flow(), LATE))
    work.released.set()
    assert work.ended.wait(5)
    time.sleep(0.05)
    assert asked == []


def test_a_flow_has_the_context_of_its_caller_and_a_thread_that_keeps_no_program_alive():
    WHERE.set("here")

    def flow():
        return (yield [Call(WHERE.get), Call(lambda: threading.current_thread().daemon)])

    assert run_within(flow(), 5) == ["here", True]
    assert run(flow())[0] == "here"


async def test_threads_that_nobody_waits_for_do_not_count():
    release = threading.Event()

    def hang():
        yield Call(release.wait, (20,))

    def quick():
        return (yield Call(lambda: "quick"))

    hanging = [asyncio.create_task(arun_within(hang(), LATE)) for _ in range(40)]
    start = time.monotonic()
    errors = await asyncio.gather(*hanging, return_exceptions=True)
    assert all(isinstance(error, RetrievalTimeout) for error in errors)
    assert await arun_within(quick(), 5) == "quick"
    assert time.monotonic() - start < LATE + 2 * SLACK
    release.set()


async def test_the_event_loop_goes_on_meanwhile(work: Work):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    with pytest.raises(RetrievalTimeout):
        await arun_within(work.flow(), 0.4)
    ticking.cancel()
    assert ticks >= 15


async def test_a_cancel_scope_of_anyio_ends_it_too(work: Work):
    anyio = pytest.importorskip("anyio")
    start = time.monotonic()
    with anyio.move_on_after(LATE) as scope:
        await arun_within(work.flow(), 20)
    assert scope.cancelled_caught
    assert time.monotonic() - start < LATE + SLACK
    assert work.done == ["let go"]
