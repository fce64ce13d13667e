"""Threads that stay, since starting one takes half as long as a search. None of them keeps a process alive."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_MOST_IDLE = 16
_MOST_AT_ONCE = 16  # more threads do not make searches faster
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""How many cores this process may use."""

# What appends to a list and pops from it needs no lock.
_idle: list[SimpleQueue[_Job]] = []
_slots: list[None] = [None] * _MOST_AT_ONCE
_other_cores: list[None] = [None] * (CORES - 1)
_computing = [threading.Semaphore(CORES)]
_LONGEST_WAIT = 0.1  # seconds


def in_thread(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Start ``function(*arguments)`` in a thread, with the context variables of the caller.

    The thread cannot be stopped. Who no longer waits for it lets go of the future, and nothing is reported of what becomes
    of it.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # so that nobody can cancel it before the thread sets its result
    job = _Job(future, contextvars.copy_context(), function, arguments)
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_work, args=(inbox,), name="leafspan", daemon=True).start()
    inbox.put(job)
    return future


def in_spare_thread(function: Callable[..., T], *arguments: Any) -> Future[T] | None:
    """Like ``in_thread``, but None if sixteen such functions are running: the caller then calls it himself."""
    return _in_thread_with(_slots, function, arguments)


def on_other_core(function: Callable[..., T], *arguments: Any) -> Future[T] | None:
    """Like ``in_thread``, but None if as many such functions are running as there are cores beside the caller's.

    It is for work that does not hold Python's lock, and that the caller goes on with himself.
    """
    return _in_thread_with(_other_cores, function, arguments)


@contextmanager
def computing() -> Iterator[None]:
    """What computes goes on in as many threads at a time as there are cores: with more, they mostly hand Python's lock on.

    Nobody waits for a tenth of a second, so that a function of the user's that asks an index itself is not stuck.
    """
    (slots,) = _computing
    has_slot = slots.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if has_slot:
            slots.release()


def _in_thread_with(slots: list[None], function: Callable[..., T], arguments: tuple[Any, ...]) -> Future[T] | None:
    """Start the function in a thread if there is a slot, which it gives back at its end."""
    try:
        slots.pop()
    except IndexError:
        return None
    try:
        return in_thread(_freeing, slots, function, arguments)
    except BaseException:
        slots.append(None)
        raise


class _Job(NamedTuple):
    """What a thread is to do, and where its result goes."""

    future: Future[Any]
    context: contextvars.Context
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def _work(inbox: SimpleQueue[_Job]) -> None:
    while True:
        _do(inbox.get())  # nowhere else, not even among the thread's arguments: an idle thread keeps nothing alive
        if len(_idle) >= _MOST_IDLE:
            return
        _idle.append(inbox)


def _do(job: _Job) -> None:
    try:
        result = job.context.run(job.function, *job.arguments)
    except BaseException as error:  # raised by whoever waits
        job.future.set_exception(error)
    else:
        job.future.set_result(result)
    finally:
        del job  # its error knows this frame, and together they would keep what it was about until garbage is collected


def _freeing(slots: list[None], function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    try:
        return function(*arguments)
    finally:
        slots.append(None)


def _forget_threads() -> None:
    """A forked process has none of them."""
    _computing[:] = [threading.Semaphore(CORES)]
    _idle.clear()
    _slots[:] = [None] * _MOST_AT_ONCE
    _other_cores[:] = [None] * (CORES - 1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
