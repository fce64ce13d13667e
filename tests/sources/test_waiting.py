from __future__ import annotations

import asyncio
import contextvars
import gc
import threading

import pytest

from leafspan.errors import SourceTimeout
from leafspan.sources._waiting import acall_within, call_within
from tests.lateness import ends_within

speaker = contextvars.ContextVar("speaker", default="nobody")


def both(function, *arguments, seconds=60.0):
    """The outcome of the blocking and of the asynchronous way."""
    outcomes = []
    for call in (
        lambda: call_within(seconds, "it", function, *arguments),
        lambda: asyncio.run(acall_within(seconds, "it", function, *arguments)),
    ):
        try:
            outcomes.append(call())
        except Exception as error:
            outcomes.append(error)
    return outcomes


def test_what_is_in_time_is_returned():
    assert both(divmod, 7, 2) == [(3, 1), (3, 1)]


def test_errors_are_raised_as_they_are_also_timeouts_of_the_function_itself():
    def fail():
        raise TimeoutError("of its own")

    for error in both(fail):
        assert type(error) is TimeoutError
        assert str(error) == "of its own"


def test_what_is_late_is_an_error_at_once():
    release = threading.Event()
    with ends_within(5):
        errors = both(release.wait, 30, seconds=0.1)
    release.set()
    for error in errors:
        assert isinstance(error, SourceTimeout)
        assert str(error).startswith("it must answer within 0.1 seconds, and has not")


def test_the_function_has_the_context_of_its_caller():
    speaker.set("somebody")
    assert both(speaker.get) == ["somebody", "somebody"]


def test_the_thread_keeps_no_program_alive():
    assert both(lambda: threading.current_thread().daemon) == [True, True]


async def test_a_cancelled_wait_ends_at_once():
    release = threading.Event()
    waiting = asyncio.create_task(acall_within(30, "it", release.wait, 30))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()


async def test_an_error_after_the_wait_was_cancelled_is_not_reported():
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["message"]))
    release = threading.Event()

    def fail():
        release.wait(30)
        raise ValueError("nobody waits for it")

    waiting = asyncio.create_task(acall_within(30, "it", fail))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    del waiting
    release.set()
    await asyncio.sleep(0.2)
    gc.collect()
    await asyncio.sleep(0)
    assert reported == []
