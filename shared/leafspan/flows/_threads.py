"""Threads for reuse, since starting a thread takes half as long as a search. They keep no process alive."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_MOST_IDLE = 16
_MOST_AT_ONCE = 16  # more threads do not make searches faster
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""The number of cores that this process may use."""

# Appending to a list and popping from it need no lock.
_idle: list[SimpleQueue[_Job]] = []
_slots: list[None] = [None] * _MOST_AT_ONCE
_other_cores: list[None] = [None] * (CORES - 1)
_computing = [threading.Semaphore(CORES)]
_LONGEST_WAIT = 0.1  # seconds


def in_thread(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Start ``function(*arguments)`` in a thread, with the context variables of the caller.

    The thread cannot be stopped. A caller that no longer waits drops the future, and the outcome is not reported.
    """
    job = _Job.of(function, arguments)
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_work, args=(inbox,), name="leafspan", daemon=True).start()
    inbox.put(job)
    return job.future


def in_own_thread(name: str, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Like ``in_thread``, in a new thread with this name, for work that may hang for long."""
    job = _Job.of(function, arguments)
    threading.Thread(target=_do, args=(job,), name=name, daemon=True).start()
    return job.future


def in_spare_thread(function: Callable[..., T], *arguments: Any) -> Future[T] | None:
    """Like ``in_thread``, but None if sixteen such functions are running: the caller then calls it itself."""
    return _in_thread_with(_slots, function, arguments)


def on_other_core(function: Callable[..., T], *arguments: Any) -> Future[T] | None:
    """Like ``in_thread``, but None if such functions already run on all cores except the caller's.

    It is for work that releases Python's lock, while the caller goes on with other work.
    """
    return _in_thread_with(_other_cores, function, arguments)


def computed(function: Callable[..., T], arguments: tuple[Any, ...], options: dict[str, Any]) -> T:
    """The result of a function that computes, with at most one thread for each core: more would pass on Python's lock.

    No thread waits longer than a tenth of a second, so that a user's function that queries an index itself does not hang.
    """
    (slots,) = _computing
    has_slot = slots.acquire(timeout=_LONGEST_WAIT)
    try:
        return function(*arguments, **options)
    finally:
        if has_slot:
            slots.release()


def _in_thread_with(slots: list[None], function: Callable[..., T], arguments: tuple[Any, ...]) -> Future[T] | None:
    """Start the function in a thread if a slot is free, and free the slot at its end."""
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
    """The work of a thread, and the future for its result."""

    future: Future[Any]
    context: contextvars.Context
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Job:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # so that it cannot be cancelled before the thread sets its result
        return cls(future, contextvars.copy_context(), function, arguments)


def _work(inbox: SimpleQueue[_Job]) -> None:
    while True:
        _do(inbox.get())  # no other reference: an idle thread keeps no job alive
        if len(_idle) >= _MOST_IDLE:
            return
        _idle.append(inbox)


def _do(job: _Job) -> None:
    try:
        result = job.context.run(job.function, *job.arguments)
    except BaseException as error:  # the waiting caller raises it
        job.future.set_exception(error)
    else:
        job.future.set_result(result)
    finally:
        del job  # breaks the reference cycle of its error and this frame


def _freeing(slots: list[None], function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    try:
        return function(*arguments)
    finally:
        slots.append(None)


def _forget_threads() -> None:
    """Forget all threads, which a forked process does not have."""
    _computing[:] = [threading.Semaphore(CORES)]
    _idle.clear()
    _slots[:] = [None] * _MOST_AT_ONCE
    _other_cores[:] = [None] * (CORES - 1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
