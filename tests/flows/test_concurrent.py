"""Flows that run beside each other, with both drivers."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from leafspan.flows import Call, arun, run, run_concurrently, run_together
from tests.lateness import ends_within

LATE = 0.05
PATIENCE = 60.0  # seconds, more than any timeout
WHERE = contextvars.ContextVar("where", default="nowhere")


def flow(*calls):
    """Makes these calls one after the other; the result of the last is its own."""
    answer = None
    for call in calls:
        answer = yield call
    return answer


def concurrently(flows, timeouts=None):
    return flow(run_concurrently(flows, timeouts or [None] * len(flows)))


def value(thing):
    return Call(lambda: thing)


def failing(error):
    def fail():
        raise error

    return Call(fail)


async def outcome_of_both(make_flows, timeouts=None):
    """What the blocking driver answers, and asyncio's; each gets flows of its own."""
    blocking = await asyncio.to_thread(run, concurrently(make_flows(), timeouts))
    return blocking, await arun(concurrently(make_flows(), timeouts))


async def test_each_flow_has_its_result_in_the_order_of_the_flows():
    def two():
        return [flow(Call(time.sleep, (0.02,)), value("slow")), flow(value("fast"))]

    assert await outcome_of_both(two) == (["slow", "fast"], ["slow", "fast"])
    assert await outcome_of_both(list) == ([], [])


async def test_flows_run_at_the_same_time():
    def two():
        barrier = threading.Barrier(2)
        # Each waits for the other, and would break after a minute.
        return [flow(Call(barrier.wait, (PATIENCE,)), value(name)) for name in ("a", "b")]

    assert await outcome_of_both(two) == (["a", "b"], ["a", "b"])


async def test_native_calls_run_at_the_same_time():
    barrier = asyncio.Barrier(2)
    flows = [flow(Call(None, native=barrier.wait), value(name)) for name in ("a", "b")]
    assert await asyncio.wait_for(arun(concurrently(flows)), PATIENCE) == ["a", "b"]


async def test_an_error_takes_the_place_of_the_result_and_the_others_go_on():
    error = RuntimeError("broken")

    def three():
        return [flow(value(1)), flow(failing(error)), flow(value(3))]

    assert await outcome_of_both(three) == ([1, error, 3], [1, error, 3])


async def test_a_single_flow_that_fails_is_answered_with_its_error_too():
    error = RuntimeError("broken")
    assert await outcome_of_both(lambda: [flow(failing(error))]) == ([error], [error])


async def test_a_late_flow_has_a_timeout_error_and_the_others_their_results():
    release = threading.Event()

    def two():
        return [flow(Call(release.wait, (PATIENCE,))), flow(value("fast"))]

    with ends_within(4):
        outcomes = await outcome_of_both(two, [LATE, None])
    for late, fast in outcomes:
        assert isinstance(late, TimeoutError)
        assert str(late) == "not done after 0.05 seconds"
        assert fast == "fast"
    release.set()


async def test_a_slow_flow_without_a_timeout_is_waited_for_even_if_another_is_late():
    release = threading.Event()

    def two():
        return [flow(Call(release.wait, (PATIENCE,))), flow(Call(time.sleep, (3 * LATE,)), value("slow"))]

    for late, slow in await outcome_of_both(two, [LATE, None]):
        assert isinstance(late, TimeoutError)
        assert slow == "slow"
    release.set()


async def test_a_flow_s_own_timeout_error_is_its_own():
    error = TimeoutError("the server said so")
    # asyncio makes a copy of one that comes out of a thread.
    for own, other in await outcome_of_both(lambda: [flow(failing(error)), flow(value(1))], [PATIENCE, PATIENCE]):
        assert (type(own), str(own), other) == (TimeoutError, "the server said so", 1)


def test_a_late_flow_goes_on_in_its_thread_and_its_result_is_dropped():
    release, done = threading.Event(), threading.Event()
    assert isinstance(run(concurrently([flow(Call(release.wait, (PATIENCE,)), Call(done.set))], [LATE]))[0], TimeoutError)
    assert not done.is_set()
    release.set()
    assert done.wait(PATIENCE)


async def test_a_late_task_is_cancelled():
    cancelled = asyncio.Event()

    async def wait():
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            cancelled.set()

    assert isinstance((await arun(concurrently([flow(Call(None, native=wait))], [LATE])))[0], TimeoutError)
    assert cancelled.is_set()


async def test_cancelling_the_caller_cancels_all_of_them():
    both_started, cancelled = asyncio.Barrier(3), []

    async def wait(name):
        try:
            await both_started.wait()
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            cancelled.append(name)
            raise

    task = asyncio.create_task(
        arun(concurrently([flow(Call(None, (name,), native=wait)) for name in "ab"], [PATIENCE, None]))
    )
    await both_started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(cancelled) == ["a", "b"]


class Stop(BaseException):
    """No Exception, like KeyboardInterrupt."""


async def test_what_is_no_exception_is_raised_without_waiting_for_the_others():
    release = threading.Event()

    def two():
        return [flow(Call(release.wait, (PATIENCE,))), flow(failing(Stop("now")))]

    with ends_within(4):
        with pytest.raises(Stop, match="now"):
            await asyncio.to_thread(run, concurrently(two()))
        with pytest.raises(Stop, match="now"):
            await arun(concurrently(two()))
    release.set()


def test_a_single_flow_that_is_interrupted_interrupts_its_caller():
    with pytest.raises(Stop, match="now"):
        run(concurrently([flow(failing(Stop("now")))]))


async def test_the_context_variables_of_the_caller_are_there():
    token = WHERE.set("here")

    def two():
        return [flow(Call(WHERE.get)), flow(Call(WHERE.set, ("elsewhere",)), Call(WHERE.get))]

    assert await outcome_of_both(two) == (["here", "elsewhere"], ["here", "here"])
    assert WHERE.get() == "here"
    WHERE.reset(token)


def test_only_several_flows_or_a_timeout_take_threads():
    def where(flows, timeouts):
        return [name == threading.current_thread().name for name in run(concurrently(flows, timeouts))]

    def name():
        return flow(Call(lambda: threading.current_thread().name))

    assert where([name()], [None]) == [True]
    assert where([name()], [PATIENCE]) == [False]
    assert where([name(), name()], [None, None]) == [False, False]


def test_flows_can_run_flows_concurrently():
    inner = [flow(run_concurrently([flow(value(1)), flow(value(2))], [None, PATIENCE])), flow(value(3))]
    assert run(concurrently(inner)) == [[1, 2], 3]


def test_there_is_a_timeout_for_each_flow():
    with pytest.raises(ValueError, match="shorter"):
        run_concurrently([flow(value(1)), flow(value(2))], [None])


# Short work of the package's own.


async def outcome_side_by_side(make_flows):
    blocking = await asyncio.to_thread(run, flow(run_together(make_flows())))
    return blocking, await arun(flow(run_together(make_flows())))


async def test_side_by_side_flows_run_at_the_same_time_and_are_answered_in_order():
    error = RuntimeError("broken")

    def three():
        barrier = threading.Barrier(3)
        names = [flow(Call(barrier.wait, (PATIENCE,)), value(name)) for name in ("a", "c")]
        return [names[0], flow(Call(barrier.wait, (PATIENCE,)), failing(error)), names[1]]

    assert await outcome_side_by_side(three) == (["a", error, "c"], ["a", error, "c"])


def test_side_by_side_the_last_flow_runs_where_the_caller_does_and_threads_stay():
    def ask():
        barrier = threading.Barrier(2)
        return run(
            flow(run_together([flow(Call(barrier.wait, (PATIENCE,)), Call(threading.current_thread)) for _ in range(2)]))
        )

    answers = [ask() for _ in range(40)]
    assert {last for _, last in answers} == {threading.current_thread()}
    others = {other for other, _ in answers}
    assert all(other.name.startswith("leafspan") for other in others)
    assert len(others) <= 16


def test_side_by_side_flows_may_nest_deeper_than_there_are_threads():
    def nested(depth):
        return flow(run_together([nested(depth - 1), nested(depth - 1)])) if depth else flow(value(1))

    def total(answer):
        return sum(map(total, answer)) if isinstance(answer, list) else answer

    assert total(run(nested(7))) == 2**7
