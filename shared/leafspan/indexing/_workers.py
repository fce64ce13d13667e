"""Other processes that do work: those of this machine, or of a Ray cluster."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from leafspan.checks import check_whole
from leafspan.errors import FunctionFailed, InvalidArgument
from leafspan.files import BadRecord, Files, Record, Step, one_by_one, records_of

T = TypeVar("T")

_AHEAD = 2  # tasks for each worker that are under way at a time
_MOST_ENDS = 3  # times that processes may end before their task is done


class Processes(Protocol):
    """What carries out functions in other processes."""

    def submit(self, function: Callable[..., T], *given: Any) -> Future[T]:
        """Begin to carry out a function."""
        ...

    def close(self) -> None:
        """End the processes."""
        ...


@dataclass(slots=True)
class Task(Generic[T]):
    """Work that is under way."""

    function: Callable[..., T]
    given: tuple[Any, ...]
    future: Future[T]
    pool: Processes


class Workers:
    """Other processes, as many as wanted. If one of them ends, such as for want of memory, others do its work again.

    Attributes:
        count: How many there are.
    """

    def __init__(self, count: int, start: Callable[[], Processes]) -> None:
        self.count = count
        self._start = start
        self._pool = start()
        self._ends = 0

    def read_ahead(self, steps: Iterable[Step], files: Files) -> Iterator[tuple[Step, Iterable[Record | BadRecord]]]:
        """See FileReading. Other processes read the files, but where ``files`` cannot be sent to them."""
        try:
            pickle.dumps(files)
        except Exception:
            yield from one_by_one(steps, files)
            return
        waiting: deque[tuple[Step, Task[list[Record | BadRecord]] | None]] = deque()
        for step in steps:
            waiting.append((step, self.begin(_read, step.found, files) if step.is_to_be_read else None))
            if sum(task is not None for _, task in waiting) >= self.most_waiting:
                yield self._next_read(waiting)
        while waiting:
            yield self._next_read(waiting)

    def _next_read(
        self, waiting: deque[tuple[Step, Task[list[Record | BadRecord]] | None]]
    ) -> tuple[Step, Iterable[Record | BadRecord]]:
        step, task = waiting.popleft()
        return step, () if task is None else self.result(task)

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    @property
    def most_waiting(self) -> int:
        """How many tasks may be under way at a time."""
        return _AHEAD * self.count

    def begin(self, function: Callable[..., T], *given: Any) -> Task[T]:
        """Begin to carry out a function. Its first argument is what the workers share."""
        try:
            return Task(function, given, self._pool.submit(function, *given), self._pool)
        except BrokenProcessPool:
            self._start_again(self._pool)
            return Task(function, given, self._pool.submit(function, *given), self._pool)

    def result(self, task: Task[T]) -> T:
        """The result of a task, which is waited for."""
        while True:
            try:
                return task.future.result()
            except BrokenProcessPool as error:
                self._ends += task.pool is self._pool
                if self._ends > _MOST_ENDS:
                    raise FunctionFailed(
                        "worker processes end again and again before their work is done: they may need more memory than "
                        "there is, so take fewer workers; a script that starts them must begin its work below "
                        'if __name__ == "__main__":'
                    ) from error
                self._start_again(task.pool)
                task.pool, task.future = self._pool, self._pool.submit(task.function, *task.given)

    def _start_again(self, broken: Processes) -> None:
        if broken is self._pool:
            broken.close()
            self._pool = self._start()


class LocalProcesses:
    """Processes of this machine."""

    def __init__(self, count: int, shared: bytes) -> None:
        # A copy of this process could wait for ever for what one of its threads holds.
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_keep, initargs=(shared,))

    def submit(self, function: Callable[..., T], *given: Any) -> Future[T]:
        """See Processes."""
        return self._pool.submit(_with_shared, function, *given)

    def close(self) -> None:
        """See Processes."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class RayProcesses:
    """Processes of a Ray cluster, which does the work of those that end again."""

    def __init__(self, shared: bytes) -> None:
        import ray

        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        self._shared = ray.put(shared)
        self._task = ray.remote(max_retries=_MOST_ENDS)(_with_given)

    def submit(self, function: Callable[..., T], *given: Any) -> Future[T]:
        """See Processes."""
        return self._task.remote(self._shared, function, *given).future()  # type: ignore[no-any-return]

    def close(self) -> None:
        """See Processes. The cluster stays: others may use it."""


@contextmanager
def started(count: int | None, shared: object) -> Iterator[Workers | None]:
    """Workers that have ``shared`` at hand as the first argument of each function. None without a count, or with 0.

    They are those of Ray where this process uses Ray, and processes of this machine elsewhere.

    Raises:
        InvalidArgument: if it is no whole number >= 0, or ``shared`` cannot be sent to another process.
    """
    if count is None or check_whole("workers", count, 0) == 0:
        yield None
        return
    try:
        content = pickle.dumps(shared)
    except Exception as error:
        raise InvalidArgument(
            f"workers need an embedder, a splitter and an analyzer that can be sent to another process ({error}): name the "
            'embedder as "package.module:attribute", and define functions in a module'
        ) from error
    start = partial(RayProcesses, content) if _is_ray_in_use() else partial(LocalProcesses, count, content)
    workers = Workers(count, start)
    try:
        yield workers
    finally:
        workers.close()


def _is_ray_in_use() -> bool:
    import os
    import sys

    ray = sys.modules.get("ray")
    return "RAY_ADDRESS" in os.environ or (ray is not None and ray.is_initialized())


def _read(_: object, path: Path, files: Files) -> list[Record | BadRecord]:
    return list(records_of(path, files))


_kept: dict[str, Any] = {}


def _keep(shared: bytes) -> None:
    _kept["shared"] = pickle.loads(shared)


def _with_shared(function: Callable[..., T], *given: Any) -> T:
    return function(_kept["shared"], *given)


def _with_given(shared: bytes, function: Callable[..., T], *given: Any) -> T:
    if _kept.get("content") is not shared and _kept.get("content") != shared:
        _kept.update(content=shared, shared=pickle.loads(shared))
    return function(_kept["shared"], *given)
