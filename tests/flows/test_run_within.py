"""Flows with a time limit: the caller gets an error in time, and late work stops without further effect."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from leafspan import RetrievalTimeout
from leafspan.flows import Call, arun_within, run, run_concurrently, run_together, run_within
from tests.lateness import ends_within, longer_and_longer

LATE = 0.1
SLACK = 1.0
PATIENCE = 60.0  # seconds, more than any timeout
WHERE = contextvars.ContextVar("where", default="nowhere")


class Work:
    """A flow that waits until it is released, and notes what it has done."""

    def __init__(self) -> None:
        self.begun = threading.Event()
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
        self.begun.set()
        self.released.wait(PATIENCE)
        if error:
            raise error

    async def _await(self, error: BaseException | None) -> None:
        await asyncio.sleep(PATIENCE)


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


def late(count: int, ask: Callable[[list[Work], float], object]) -> tuple[list[Work], str]:
    """Several works, which all begin before the caller is late; and the error's message."""
    for seconds in longer_and_longer(LATE):
        works = [Work() for _ in range(count)]
        with ends_within(seconds + SLACK), pytest.raises(RetrievalTimeout) as caught:
            ask(works, seconds)
        if all(each.begun.is_set() for each in works):
            break
        for each in works:
            each.released.set()
    assert f"within its timeout of {seconds:g} seconds, " in str(caught.value)
    return works, str(caught.value).partition(", and ")[2]


def test_a_result_in_time_is_returned_and_an_error_raised_as_it_is():
    def fail():
        raise TimeoutError("of its own")

    def two():
        return (yield Call(divmod, (7, 2)))

    def one():
        yield Call(fail)

    async def both(flow):
        return await arun_within(flow, PATIENCE)

    assert run_within(two(), PATIENCE) == asyncio.run(both(two())) == run_within(two(), None) == (3, 1)
    for ask in (lambda: run_within(one(), PATIENCE), lambda: asyncio.run(both(one()))):
        with pytest.raises(TimeoutError, match="of its own") as caught:
            ask()
        assert type(caught.value) is TimeoutError


def test_a_late_flow_is_an_error_that_says_what_is_waited_for():
    [work], said = late(1, lambda works, seconds: run_within(works[0].flow(), seconds))
    assert said == "this one still waits for the slow one: ask for less, or raise timeout"
    work.released.set()


@pytest.mark.parametrize("error", [None, RuntimeError("late"), KeyboardInterrupt()])
def test_a_late_flow_goes_no_further_lets_go_and_reports_nothing(reported: list[str], error):
    [work], _ = late(1, lambda works, seconds: run_within(works[0].flow(error=error), seconds))
    assert work.done == []
    work.released.set()
    assert work.ended.wait(PATIENCE)
    time.sleep(0.05)
    assert work.done == ["let go"]
    assert reported == []


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("error", [None, RuntimeError("late")])
def test_a_late_task_goes_no_further_lets_go_and_reports_nothing(work: Work, reported: list[str], native: bool, error):
    async def ask():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context)))
        with ends_within(LATE + SLACK), pytest.raises(RetrievalTimeout, match="waits for the slow one"):
            await arun_within(work.flow(native=native, error=error), LATE)
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
    for seconds in (None, PATIENCE):

        async def ask(seconds=seconds):
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context)))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(arun_within(work.flow(error=error), seconds), LATE)

        with ends_within(LATE + SLACK):
            asyncio.run(ask())  # which does not wait for the thread either
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

    with ends_within(LATE + SLACK), pytest.raises(RetrievalTimeout):
        await arun_within(flow(), LATE)
    stopped.set()


async def test_what_must_be_finished_is_finished_behind_the_back_of_who_waited():
    go_on, finished = threading.Event(), threading.Event()

    def write():
        assert go_on.wait(PATIENCE)
        finished.set()

    def flow():
        yield Call(write, finish=True)

    with pytest.raises(RetrievalTimeout):
        await arun_within(flow(), LATE)
    assert not finished.is_set()
    go_on.set()
    while not finished.is_set():  # noqa: ASYNC110 (it is set in a thread)
        await asyncio.sleep(0.01)


def test_flows_that_run_beside_each_other_end_with_the_one_that_runs_them():
    def with_a_limit(works):
        yield run_concurrently([each.flow() for each in works], [None, PATIENCE])

    def at_once(works):
        yield run_together([each.flow() for each in works])

    for flow in (with_a_limit, at_once):
        works, _ = late(2, lambda works, seconds, flow=flow: run_within(flow(works), seconds))
        for each in works:
            each.released.set()
        for each in works:
            assert each.ended.wait(PATIENCE)
        assert [each.done for each in works] == [["let go"]] * 2


def test_a_part_has_no_more_time_than_the_whole():
    def whole(work, limit):
        yield Call(run_within, (work.flow(), limit))

    for limit in (PATIENCE, None):
        [work], _ = late(1, lambda works, seconds, limit=limit: run_within(whole(works[0], limit), seconds))
        work.released.set()
        assert work.ended.wait(PATIENCE)
        assert work.done == ["let go"]


def test_a_part_may_have_less_time_than_the_whole():
    work = Work()

    def whole():
        try:
            yield Call(run_within, (work.flow(), LATE))
        except RetrievalTimeout:
            return "went on without"

    assert run_within(whole(), PATIENCE) == "went on without"
    work.released.set()


def test_an_interrupted_wait_stops_the_flow(work: Work, monkeypatch: pytest.MonkeyPatch):
    from concurrent.futures import Future

    def interrupted(self, timeout=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_within(work.flow(), PATIENCE)
    work.released.set()
    assert work.ended.wait(PATIENCE)
    assert work.done == ["let go"]


def test_a_flow_that_asks_for_more_while_it_lets_go_does_not_get_it():
    asked = []

    def flow(work):
        try:
            yield from work.flow()
        finally:
            yield Call(asked.append, ("more",))

    [work], _ = late(1, lambda works, seconds: run_within(flow(works[0]), seconds))
    work.released.set()
    assert work.ended.wait(PATIENCE)
    time.sleep(0.05)
    assert asked == []


def test_a_flow_has_the_context_of_its_caller_and_a_thread_that_keeps_no_program_alive():
    WHERE.set("here")

    def flow():
        return (yield [Call(WHERE.get), Call(lambda: threading.current_thread().daemon)])

    assert run_within(flow(), PATIENCE) == ["here", True]
    assert run(flow())[0] == "here"


async def test_threads_that_nobody_waits_for_do_not_count():
    release = threading.Event()

    def hang():
        yield Call(release.wait, (PATIENCE,))

    def quick():
        return (yield Call(lambda: "quick"))

    hanging = [asyncio.create_task(arun_within(hang(), LATE)) for _ in range(40)]
    with ends_within(LATE + 2 * SLACK):
        errors = await asyncio.gather(*hanging, return_exceptions=True)
        assert all(isinstance(error, RetrievalTimeout) for error in errors)
        assert await arun_within(quick(), PATIENCE) == "quick"
    release.set()


async def test_the_event_loop_goes_on_meanwhile(work: Work):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    for seconds in longer_and_longer(0.4):
        ticks = 0
        with pytest.raises(RetrievalTimeout):
            await arun_within(work.flow(), seconds)
        if ticks >= 15:
            break
    ticking.cancel()
    assert ticks >= 15


async def test_a_cancel_scope_of_anyio_ends_it_too(work: Work):
    anyio = pytest.importorskip("anyio")
    with ends_within(LATE + SLACK), anyio.move_on_after(LATE) as scope:
        await arun_within(work.flow(), PATIENCE)
    assert scope.cancelled_caught
    assert work.done == ["let go"]
