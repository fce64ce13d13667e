"""Worker processes on this machine, and what they do with documents."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Generic, TypeVar

from leafspan.checks import check_whole
from leafspan.documents import IndexSettings
from leafspan.embedding import Embed
from leafspan.errors import FunctionFailed, InvalidArgument, LeafspanError
from leafspan.files import BadRecord, Files, LimitedReading, Record, Step, in_limits, read_ahead
from leafspan.flows import run
from leafspan.indexing._writing import Group, NewVersion, split_document, vectors_of
from leafspan.segments import WordPostings

T = TypeVar("T")

_AHEAD = 2  # tasks in progress for each worker
_CHARACTERS = 100_000  # of the documents of a task, about 400 leaves
_DOCUMENTS = 256  # of a task
_MOST_ENDS = 3  # times that processes may end before their task is done


class Processes:
    def __init__(self, count: int, shared: bytes) -> None:
        # A forked copy of this process could wait for ever for a lock that one of its threads holds.
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin, initargs=(shared,))

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        return self._pool.submit(_with_kept, function, *arguments)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


@dataclass(slots=True)
class Task(Generic[T]):
    function: Callable[..., T]
    arguments: tuple[Any, ...]
    future: Future[T]
    pool: Processes


class Workers:
    """The worker processes. If one ends early, for example without memory, others repeat its work."""

    def __init__(self, count: int, start: Callable[[], Processes]) -> None:
        self.most_waiting = _AHEAD * count  # tasks in progress at a time
        self._start = start
        self._pool = start()
        self._ends = 0

    def read_ahead(self, steps: Iterable[Step], files: Files) -> Iterator[tuple[Step, Iterable[Record | BadRecord]]]:
        """See FileReading. Other processes read the files, unless ``files`` cannot be sent to them."""
        try:
            pickle.dumps(files)
        except Exception:
            yield from in_limits(steps, files)
            return
        yield from read_ahead(steps, partial(self._documents, files=files), self.most_waiting)

    def _documents(self, path: Path, files: Files) -> Iterable[Record | BadRecord]:
        return chain.from_iterable(map(self.result, [self.begin(_read, path, files)]))

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def begin(self, function: Callable[..., T], *arguments: Any) -> Task[T]:
        """Start a function. Its first argument is the object that the workers share."""
        while True:
            try:
                return Task(function, arguments, self._pool.submit(function, *arguments), self._pool)
            except BrokenProcessPool as error:
                self._start_again(self._pool, error)

    def result(self, task: Task[T]) -> T:
        """Wait for a task, and return its result."""
        while True:
            try:
                return task.future.result()
            except BrokenProcessPool as error:
                self._start_again(task.pool, error)
                task = self.begin(task.function, *task.arguments)

    def _start_again(self, broken: Processes, error: BrokenProcessPool) -> None:
        if broken is not self._pool:
            return  # another task has already replaced these processes
        self._ends += 1
        if self._ends > _MOST_ENDS:
            raise FunctionFailed(
                "worker processes end again and again before their work is done: they may need more memory than there is, "
                'so take fewer workers; a script that starts them must begin its work below if __name__ == "__main__":'
            ) from error
        broken.close()
        self._pool = self._start()


@contextmanager
def started(count: int, shared: object) -> Iterator[Workers | None]:
    """A context with workers that pass ``shared`` to each function as its first argument. None if ``count`` is 0."""
    if check_whole("workers", count, 0) == 0:
        yield None
        return
    try:
        content = pickle.dumps(shared)
    except Exception as error:
        raise InvalidArgument(
            f"workers need an embedder, a splitter and an analyzer that can be sent to another process ({error}): name the "
            'embedder as "package.module:attribute", and define functions in a module'
        ) from error
    workers = Workers(count, partial(Processes, count, content))
    try:
        yield workers
    finally:
        workers.close()


def is_full(portion: Sequence[NewVersion]) -> bool:
    """Whether these documents are enough work for a worker."""
    return len(portion) >= _DOCUMENTS or sum(len(each.document.text) for each in portion) >= _CHARACTERS


@dataclass(frozen=True)
class Preparation:
    """What preparing documents takes. It can be sent to another process."""

    settings: IndexSettings
    embed: Embed


def prepare(preparation: Preparation, portion: Sequence[NewVersion]) -> Group:
    settings = preparation.settings
    documents = [split_document(each, settings) for each in portion]
    vectors = run(vectors_of(documents, settings, preparation.embed))
    assert settings.analyzer is not None
    recipe = WordPostings(settings.analyzer)
    to_write = [split.with_vectors(matrix) for split, matrix in zip(documents, vectors, strict=True) if split.leaves]
    try:
        return Group(documents, vectors, {recipe.name: recipe.of(to_write)} if to_write else {})
    except LeafspanError:  # the writer tries again, and can do without it
        return Group(documents, vectors)


def _read(_: object, path: Path, files: Files) -> list[Record | BadRecord]:
    with closing(LimitedReading(files)) as reading:
        return list(reading.begin(path))


_kept: dict[str, Any] = {}


def _begin(shared: bytes) -> None:
    """Set up a worker of this machine: it ends with its parent process, and ignores Ctrl-C, which is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _kept["begun_with"] = shared


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _with_kept(function: Callable[..., T], *arguments: Any) -> T:
    return _with_shared(_kept["begun_with"], function, *arguments)


def _with_shared(shared: bytes, function: Callable[..., T], *arguments: Any) -> T:
    try:
        if _kept.get("content") != shared:
            _kept.update(shared=_loaded(shared), content=shared)
        return function(_kept["shared"], *arguments)
    except Exception:
        raise
    except BaseException as error:  # the process that gets it would end without a word
        raise FunctionFailed(
            f"the embedder, the splitter or the analyzer must return or raise an error, and raised {error!r} in a worker: "
            "raise an Exception in its place"
        ) from None


def _loaded(shared: bytes) -> Any:
    try:
        return pickle.loads(shared)
    except Exception as error:
        raise InvalidArgument(
            f"a worker cannot load the embedder, the splitter or the analyzer ({error}): define them in a module that "
            'it can import, or name the embedder as "package.module:attribute"'
        ) from error
