"""A process that writes an index in a folder for this one, where other Python code then runs meanwhile.

Chroma lets no other Python code run in its own process while it writes. In another process it holds up nobody: an event
loop goes on, and the next documents are split and embedded.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import re
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.errors import StorageFailed
from leafspan.store._writing_messages import Answer, Begin, End, Message, Place

SWITCH = "LEAFSPAN_WRITING_PROCESS"
"""Environment variable that is ``0`` where no process is to be started."""

_IDLE_SECONDS = 30.0  # after which a process that has nothing to do ends
_LONGEST_SECONDS = 600.0  # of one call. A thousand leaves take a second or two; a disk can be slow
_END_SECONDS = 5.0  # in which a process that was told to end does so
_PYTHON = re.compile(r"python|pypy", re.IGNORECASE)
# Not with -m, which would look for leafspan in the folder where the process starts.
_CODE = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from leafspan.store._writing_child import main; main()"
)
_could_not_start: list[str] = []  # why, where it was tried in vain
_lines: weakref.WeakSet[_Line] = weakref.WeakSet()
_of_the_parent: list[WritingProcess] = []  # kept in a forked process, which must not end them


class WritingProcess:
    """A process that writes an index in a folder for this one. It starts in the background.

    It ends when it was not asked for half a minute, when this object is gone, and with this process, however that ends.

    Args:
        path: The folder.
        leaves: Name of the collection that is to be loaded before anything is asked.
    """

    def __init__(self, path: Path, leaves: str) -> None:
        self.path = path
        self._line = line = _Line()
        self._ended: Future[Answer | None] | None = None
        self._owner = os.getpid()
        self._began = time.monotonic()
        _lines.add(line)
        threading.Thread(target=_talk, args=(line, Place(path, leaves)), name="leafspan writing", daemon=True).start()
        self._close = weakref.finalize(self, _hang_up, line, self._owner)
        self._close.atexit = False

    @property
    def pid(self) -> int | None:
        """Id of the process; None while it is being started."""
        return None if self._line.process is None else self._line.process.pid

    @property
    def is_ready(self) -> bool:
        """Whether it has started, has not ended, and belongs to this process."""
        return self._line.is_ready and not self._line.closed and os.getpid() == self._owner

    @property
    def is_gone(self) -> bool:
        """Whether it has ended, or belongs to the process that this one was forked from."""
        return self._line.closed or os.getpid() != self._owner

    def wait(self, seconds: float, *, or_kill: bool = True) -> bool:
        """Whether it is ready within so many seconds of its start. ``or_kill`` is False if it may go on starting else."""
        if not self._line.started.wait(max(self._began + seconds - time.monotonic(), 0.0)) and or_kill:
            self._line.kill()
        return self.is_ready

    def begin(self, begun: Begin) -> bool:
        """Begin to write, while this process holds the writer's lock. False if the process has ended meanwhile.

        Raises:
            LeafspanError: as this process would raise it.
        """
        if (answer := self._answer(begun)) is None:
            return False
        _value(answer)
        return True

    def ask(self, message: Message, sent: Callable[[], None] = lambda: None) -> Any:
        """The answer to a message, between beginning and end.

        Args:
            message: The message.
            sent: Function to call when the process has got it, in another thread. Default: none.

        Raises:
            StorageFailed: if the process ends before it has answered, or does not answer within ten minutes.
            LeafspanError: as this process would raise it.
        """
        if (answer := self._answer(message, sent)) is None:
            raise self._failure(f"has ended before it was done{self._line.how}")
        return _value(answer)

    def settle(self, seconds: float) -> bool:
        """Wait until what was written last has come to its end, for at most so many seconds. Whether it can be asked."""
        ended, self._ended = self._ended, None
        if ended is not None:
            try:
                ended.result(seconds)
            except TimeoutError:
                self._line.kill()
        return self.is_ready

    def end(self, count: int) -> None:
        """Say that the writer's lock is let go of, and do not wait: no other writer begins before the process has heard it.

        Args:
            count: The count of changes that was reached.
        """
        self._ended = self._line.send(End(count))

    def close(self) -> None:
        """End the process, when it has done what it was asked."""
        self._close()

    def leave_to_the_parent(self) -> None:
        """In a forked process: forget this one, which writes for the parent."""
        self._close.detach()
        _of_the_parent.append(self)

    def _answer(self, message: Message, sent: Callable[[], None] = lambda: None) -> Answer | None:
        try:
            return self._line.send(message, sent).result(_LONGEST_SECONDS)
        except TimeoutError:
            self._line.kill()
            raise self._failure(f"has not answered for {_LONGEST_SECONDS:g} seconds, and was ended") from None

    def _failure(self, what: str) -> StorageFailed:
        return StorageFailed(
            f"the process that writes {str(self.path)!r} for this one {what}: do it again, which finishes what was begun; "
            "if it happens again, see what standard error says and how much memory is free, or set the variable "
            f"{SWITCH}=0 to write without another process"
        )


def _value(answer: Answer) -> Any:
    for words, category in answer.warnings:
        warnings.warn(words, category, stacklevel=2)
    if answer.error is not None:
        raise answer.error from _ThereError(answer.trace)
    return answer.value


class _ThereError(Exception):
    """Where an error was raised in the other process."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def can_be_started() -> bool:
    """Whether a process can be started: not where that is switched off, has failed before, or there is no Python for it."""
    if os.environ.get(SWITCH, "").strip() == "0" or _could_not_start or getattr(sys, "frozen", False):
        return False
    # In a server that embeds Python, this is the server.
    return bool(sys.executable) and _PYTHON.match(Path(sys.executable).name) is not None


class _Job(NamedTuple):
    """A message, whom to tell that it was sent, and where the answer goes: None if the process ends first."""

    message: Message
    sent: Callable[[], None]
    answer: Future[Answer | None]


@dataclass(eq=False)
class _Line:
    """What the thread that talks with a process shares with those who ask.

    Attributes:
        inbox: What is to be asked next; None to end.
        mutex: Held to put something there, and to close it.
        started: Whether it is settled that the process is ready, or will not be.
        done: Whether it has ended, and the thread with it.
        is_ready: Whether it is ready.
        hung_up: Whether it was told to end.
        closed: Whether nothing is answered any more.
        process: The process.
        how: How it has ended, for errors.
    """

    inbox: queue.SimpleQueue[_Job | None] = field(default_factory=queue.SimpleQueue)
    mutex: threading.Lock = field(default_factory=threading.Lock)
    started: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    is_ready: bool = False
    hung_up: bool = False
    closed: bool = False
    process: subprocess.Popen[bytes] | None = None
    how: str = ""

    def send(self, message: Message, sent: Callable[[], None] = lambda: None) -> Future[Answer | None]:
        """The answer to come."""
        job = _Job(message, sent, Future())
        with self.mutex:
            if self.closed:
                job.answer.set_result(None)
            else:
                self.inbox.put(job)
        return job.answer

    def kill(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            self.process.kill()

    def next(self, seconds: float | None) -> _Job | None:
        """What is to be asked next; None to end, also if nothing has come for so many seconds (None: for ever)."""
        try:
            return self.inbox.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self, job: _Job | None) -> None:
        """Answer nothing any more, neither a job that was not done nor what is waiting."""
        with self.mutex:
            self.closed = True
            jobs = [job] if job else []
            while not self.inbox.empty():
                jobs += [waiting] if (waiting := self.inbox.get()) else []
        for each in jobs:
            each.answer.set_result(None)


def _talk(line: _Line, place: Place) -> None:
    """Start a process, ask it what comes in, and end it."""
    job: _Job | None = None
    why = "it has ended"
    is_writing = False
    try:
        line.process = process = _started()
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump(sys.path, process.stdin)
        pickle.dump(place, process.stdin)
        process.stdin.flush()
        pickle.load(process.stdout)
        line.is_ready = True
        line.started.set()
        while (job := line.next(None if is_writing else _IDLE_SECONDS)) is not None:
            is_writing = not isinstance(job.message, End)
            # At once: between two writes to the pipe another thread could take Python's lock.
            process.stdin.write(pickle.dumps(job.message, protocol=pickle.HIGHEST_PROTOCOL))
            process.stdin.flush()
            job.sent()
            answer = pickle.load(process.stdout)
            job.answer.set_result(answer)
            job = answer = None  # it can be large
    except Exception as error:  # it could not be started, or has ended
        why = f"{type(error).__name__}: {error}"
    finally:
        if line.process is not None:
            line.how = _end(line.process)
        if not line.is_ready and not line.hung_up:
            _could_not_start.append(why)
        line.close(job)
        line.started.set()
        line.done.set()


def _started() -> subprocess.Popen[bytes]:
    """A new process, which Ctrl-C in a terminal does not reach: it would end in the middle of what it writes."""
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    flags = ["-I" if sys.flags.isolated else "-P", *(["-B"] if sys.dont_write_bytecode else [])]
    return subprocess.Popen([sys.executable, *flags, "-c", _CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)


def _end(process: subprocess.Popen[bytes]) -> str:
    """End a process that may have ended already, and return how it has, in words for an error."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # it waits for a disk: no other writer begins before it has ended
            process.wait(_END_SECONDS)
    process.stdout.close()
    code = process.returncode
    return "" if code is None else f" (signal {-code})" if code < 0 else f" (code {code})"


def _hang_up(line: _Line, owner: int) -> None:
    """Have the process end when it has done what it was asked."""
    if os.getpid() == owner:
        line.hung_up = True
        line.inbox.put(None)


@atexit.register
def _end_all() -> None:
    for line in list(_lines):
        line.hung_up = True
        line.inbox.put(None)
    for line in list(_lines):
        line.done.wait(_END_SECONDS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lines.clear)
