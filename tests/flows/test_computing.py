"""How many threads compute at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from leafspan.flows import Call, _threads, run

AT_ONCE = 3
THREADS = 12


@pytest.fixture(autouse=True)
def _few_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_threads, "_computing", [threading.Semaphore(AT_ONCE)])


def most_at_a_time(*, computes: bool) -> int:
    """The most threads that are within a call at a time, of many that make it."""
    within = most = 0
    lock, met = threading.Lock(), threading.Barrier(AT_ONCE)

    def work() -> None:
        nonlocal within, most
        with lock:
            within += 1
            most = max(most, within)
        met.wait(5)  # until as many as may are here
        with lock:
            within -= 1

    def flow():
        yield Call(work, computes=computes)

    with ThreadPoolExecutor(THREADS) as pool:
        for each in [pool.submit(run, flow()) for _ in range(THREADS)]:
            each.result()
    return most


def test_as_many_threads_compute_as_there_are_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_threads, "_LONGEST_WAIT", 60)
    assert most_at_a_time(computes=True) == AT_ONCE


def test_what_computes_and_asks_again_goes_on_after_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_threads, "_LONGEST_WAIT", 0.01)

    def nested(depth: int):
        return (yield Call(lambda: depth and run(nested(depth - 1)), computes=True))

    assert run(nested(2 * AT_ONCE)) == 0
    slots = _threads._computing[0]
    assert [slots.acquire(blocking=False) for _ in range(AT_ONCE + 1)] == [True] * AT_ONCE + [False]


def test_a_call_that_fails_gives_its_place_back():
    def fails():
        with pytest.raises(ZeroDivisionError):
            yield Call(lambda: 1 / 0, computes=True)

    for _ in range(2 * AT_ONCE):
        run(fails())
    assert _threads._computing[0].acquire(blocking=False)


def test_a_forked_process_begins_with_all_places():
    for _ in range(AT_ONCE):
        _threads._computing[0].acquire()
    _threads._forget_threads()
    assert _threads._computing[0].acquire(blocking=False)
