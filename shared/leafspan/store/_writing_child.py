"""What a writing process does: it has an index open, and writes what the process that has started it asks for."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import traceback
import warnings
from contextlib import suppress
from typing import Any, BinaryIO

from leafspan.errors import StorageFailed, WriterBusy
from leafspan.flows import run
from leafspan.store._collection import Collection
from leafspan.store._file_lock import FileLock
from leafspan.store._folder import Folder, folder_at
from leafspan.store._folder_store import FolderStore
from leafspan.store._naming import leaves_name, texts_in
from leafspan.store._one_core import on_one_core
from leafspan.store._waiting import deadline_after
from leafspan.store._writing_messages import LOCK, Answer, Ask, Begin, End, Message, Place, ReadIndex, StoredIndex

_LOOK_SECONDS = 1.0  # between two looks whether the other process is there: a fork of it can hold its end of the pipe


def main() -> None:
    """Answer the messages on standard input, until the other process has ended or closes it."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    with suppress(OSError):
        os.dup2(2, 1)  # what anybody prints must not come between the answers
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, messages), daemon=True).start()
    written = _Written(messages.get())
    with suppress(Exception):  # it is said when it is asked to begin
        written.open()
    with suppress(OSError):  # nobody listens any more
        _say(answers, Answer())
        while (message := _next(messages, parent)) is not None:
            _say(answers, written.answer(message))
            del message  # it can be large
    written.close()
    os._exit(0)  # at once, whatever threads there are


def _read(asked: BinaryIO, messages: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            messages.put(pickle.load(asked))
    except BaseException:  # the other process has ended, perhaps within a message
        messages.put(None)


def _next(messages: queue.SimpleQueue[Any], parent: int) -> Message | None:
    """The next message; None if there is none to come."""
    while True:
        try:
            message: Message | None = messages.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            message = None
            if os.getppid() == parent:
                continue
        return message if os.getppid() == parent else None


def _say(answers: BinaryIO, answer: Answer) -> None:
    try:
        packed = pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # an error that cannot be sent
        words = "".join(traceback.format_exception_only(answer.error)).strip()
        packed = pickle.dumps(answer._replace(error=StorageFailed(words)), protocol=pickle.HIGHEST_PROTOCOL)
    answers.write(packed)
    answers.flush()


class _Written:
    """The folder that is written.

    Args:
        place: Where it is.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        # Held from the beginning to the end of a turn. No writer begins while it is held: so nobody is overtaken by what is
        # still being written for a process that was killed.
        self._lock = FileLock(place.path / LOCK)
        self._folder: Folder | None = None
        self._begun: Begin | None = None

    def open(self) -> None:
        """Be ready to write."""
        self._collection(self._open(deadline_after(0.0)), self._place.leaves, 0.0)

    def answer(self, message: Message) -> Answer:
        """What comes of a message."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = self._outcome(message)
        return answer._replace(warnings=[(str(each.message), each.category) for each in caught])

    def close(self) -> None:
        """Let go of Chroma, and of the lock."""
        with suppress(Exception):
            if self._folder is not None:
                self._folder.let_go(deadline_after(0.0))
        self._lock.release()

    def _outcome(self, message: Message) -> Answer:
        try:
            return Answer(self._do(message))
        except BaseException as error:  # Chroma's panics are no Exception
            return Answer(error=error, trace="".join(traceback.format_exception(error)))

    def _do(self, message: Message) -> Any:
        if isinstance(message, Begin):
            return self._begin(message)
        if isinstance(message, End):
            return self._end(message)
        folder, begun = self._folder, self._begun
        if folder is None or begun is None:
            raise StorageFailed(f"{str(self._place.path)!r} was to be written before that was begun: do it again")
        if isinstance(message, ReadIndex):
            store = FolderStore(folder, begun.name, begun.settings, begun.id, begun.timeout)
            return StoredIndex.of(*run(store.read_of_chroma(folder)))
        return self._call(folder, begun, message)

    def _call(self, folder: Folder, begun: Begin, asked: Ask) -> Any:
        collection = self._collection(folder, asked.collection, begun.timeout)
        if asked.collection == leaves_name(begun.name):
            collection = collection.with_texts_in(texts_in(begun.settings))
        with on_one_core():
            return run(getattr(collection, asked.method)(*asked.arguments, **asked.options))

    def _begin(self, begun: Begin) -> None:
        deadline = deadline_after(begun.timeout)
        if not self._lock.is_locked and not self._lock.acquire(deadline):
            raise WriterBusy(
                f"another process{self._lock.holder()} still writes {str(self._place.path)!r}: try again later"
            )
        try:
            self._open(deadline)
        except BaseException:
            self._lock.release()
            raise
        self._begun = begun

    def _end(self, end: End) -> None:
        if self._folder is not None and self._begun is not None:
            self._folder.has_followed(end.changes)
        self._begun = None
        self._lock.release()

    def _open(self, deadline: float) -> Folder:
        self._folder = folder_at(self._place.path, None, deadline)
        self._folder.reopened_reader(deadline).leave()
        return self._folder

    def _collection(self, folder: Folder, name: str, timeout: float) -> Collection:
        deadline = deadline_after(timeout)
        return folder.opened(deadline).writable(name, deadline, timeout)
