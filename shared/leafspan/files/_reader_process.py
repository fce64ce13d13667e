"""Reads files in a process of its own that has limits: a hostile file can end that process, but nothing else."""

from __future__ import annotations

import atexit
import logging
import math
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.spawn import get_executable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from leafspan.errors import MissingExtra
from leafspan.files._formats import is_plain, read_file
from leafspan.files._opening import Unreadable
from leafspan.files._record import BadRecord, MoreTime, Record
from leafspan.files._source import Files
from leafspan.splitting import layout_of

_HELLO = b"leafspan reads"
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from leafspan.files._reader_process import serve; serve()"
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # each thread of theirs would reserve memory
_LONGEST_START = 60_000  # milliseconds
_AT_ONCE = 4_096  # bytes that a pipe takes without waiting, if it takes any
_FEWEST_SENT = 8  # files that the process still knows when it gets the next ones
_MOST_IDLE = 2  # processes that wait for the next call
_LONGEST_REASON = 200  # characters
_TIMES_A_SCAN = 5  # how many times the time of a file a scanned page may take, such as one of a newspaper
_FROM_OUTSIDE = (-9, -15, 0)  # SIGKILL, SIGTERM and an unknown code: the file may not be to blame


class Limits(NamedTuple):
    """What reading one file may take."""

    seconds: int = 60  # processor time
    memory: int = 2**31  # bytes of memory of the process
    output: int = 2**26  # bytes of the file's documents


LIMITS = Limits()


def records_of(path: Path, files: Files, limits: Limits | None = None) -> Iterator[Record | BadRecord]:
    """Yield a file's documents. If the file cannot be read, the last item says why."""
    try:
        for record in read_file(path, files):
            if not isinstance(record, MoreTime):
                yield record
            elif limits is not None:
                _limit("RLIMIT_CPU", math.ceil(time.process_time()) + _TIMES_A_SCAN * limits.seconds)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # of a library, perhaps of one in Rust, or by a user's reader that ends the program
        yield BadRecord(_reason(error, limits))


def _reason(error: BaseException, limits: Limits | None) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            most = "there is" if limits is None else f"{limits.memory:,} bytes"
            return f"reading it takes more memory than {most}"
        if isinstance(cause, RecursionError):
            return "it is nested too deeply to be read"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, Unreadable | MissingExtra):
        return str(error)
    return f"it cannot be read: {type(error).__name__}: {error}".removesuffix(": ")[:_LONGEST_REASON]


class LimitedReading:
    """Reads a source's files in a process with limits, as soon as it can.

    This process reads texts, and what a user's own readers read; and all files where no process can be started.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._limits = LIMITS
        self._how = pickle.dumps((replace(files, paths=".", glob=(), exclude=(), root=None, readers={}), LIMITS))
        self._process: _Process | None = None
        self._waiting: deque[Path] = deque()
        self._sent = 0  # how many of the waiting ones the process knows

    def begin(self, path: Path) -> Iterator[Record | BadRecord]:
        """Return a file's documents. They must be taken in the order of these calls."""
        if is_plain(path, self._files):
            return records_of(path, self._files)
        self._waiting.append(path)
        if self._sent <= _FEWEST_SENT:  # several at once: waking the process for each would take longer
            self._send()
        return self._records(path)

    def close(self) -> None:
        """Keep the process for the next call, unless it is at work."""
        if self._process is not None:
            self._process.release(is_at_work=self._sent > 0)
            self._process = None

    def _records(self, path: Path) -> Iterator[Record | BadRecord]:
        assert self._waiting[0] is path
        is_blamed = False
        while True:
            if not self._sent:
                self._send()
            if self._process is None:
                yield from records_of(path, self._files)
                break
            answer = self._process.answer()
            if isinstance(answer, Record | BadRecord):
                is_blamed = True  # reading it again would yield it again
                yield answer
            elif answer is None:
                ended, self._process, self._sent = self._process.ended(), None, 0
                if ended is None or (ended in _FROM_OUTSIDE and not is_blamed):
                    is_blamed = ended is not None
                    continue
                yield BadRecord(self._why(ended))
                break
            else:
                self._sent -= 1
                if answer:
                    self._process.release(is_at_work=True)
                    self._process, self._sent = None, 0
                break
        self._waiting.popleft()

    def _why(self, ended: int) -> str:
        limit = f"more than {self._limits.seconds} seconds of processor time"
        if ended == -signal.SIGXCPU:
            return f"reading it takes {limit}"
        how = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
        return f"its reader ended ({how}): it may take {limit}, or more memory than {self._limits.memory:,} bytes"

    def _send(self) -> None:
        """Let the process know of the files, as far as the pipe takes their names at once."""
        if self._process is None:
            self._process = _idle_process() or _new_process()
        while self._process is not None and self._sent < len(self._waiting):
            request = (str(self._waiting[self._sent]), self._how)
            if not self._process.ask(request, must_wait=self._sent == 0):
                return
            self._sent += 1


_idle: list[_Process] = []
_is_refused = False  # whether this system has refused to start a process


def _owner() -> tuple[int, int]:
    """Return what a process must share with those who use it: they made it, and with the same rights."""
    return os.getpid(), os.geteuid()


def _idle_process() -> _Process | None:
    while _idle:
        process = _idle.pop()
        if process.is_usable:
            return process
    return None


def _new_process() -> _Process | None:
    """Start a process. If this system cannot start one, warn once and return None."""
    if _is_refused:
        return None
    try:
        return _Process()
    except Exception as error:
        _refuse(str(error))
        return None


def _refuse(reason: str) -> None:
    global _is_refused  # noqa: PLW0603
    _is_refused = True
    warnings.warn(
        f"files are read without limits of time and memory, since no process can be started for it: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )


class _Process:
    """A process that runs ``serve``."""

    def __init__(self) -> None:
        import resource  # noqa: F401 (Windows does not have it)

        if getattr(sys, "frozen", False) or not get_executable():
            raise OSError("there is no Python to run")
        self._owner = _owner()
        self._has_begun = False
        self._popen = subprocess.Popen(
            [get_executable(), "-P", "-c", _CODE, *map(os.path.abspath, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD},
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._requests, self._answers = self._popen.stdin, self._popen.stdout

    @property
    def is_usable(self) -> bool:
        """Whether this process has it for itself, also after a fork, and it still runs."""
        if self._owner == _owner() and self._popen.poll() is None:
            return True
        self.end()
        return False

    def ask(self, request: tuple[str, bytes], *, must_wait: bool) -> bool:
        """Ask for a file's documents. Returns whether that was possible without waiting."""
        data = pickle.dumps(request)
        if not must_wait and (len(data) > _AT_ONCE or not _is_ready(self._requests, select.POLLOUT, 0)):
            return False
        with suppress(BrokenPipeError):  # it has ended, as the missing answer says
            self._requests.write(data)
            self._requests.flush()
        return True

    def answer(self) -> Record | BadRecord | bool | None:
        """Return a document, or at a file's end whether the process ends with it, or None if the process has ended."""
        if not self._has_begun:
            is_ready = _is_ready(self._answers, select.POLLIN, _LONGEST_START)
            if not is_ready or self._answers.read(len(_HELLO)) != _HELLO:
                return None
            self._has_begun = True
        try:
            return pickle.load(self._answers)  # type: ignore[no-any-return]
        except (EOFError, pickle.UnpicklingError):  # it has ended, perhaps within an answer
            return None

    def ended(self) -> int | None:
        """Return the exit code of the process, negative for a signal, or None if the process has never begun."""
        if not self._has_begun:
            self.end()
            _refuse(f"{get_executable()} does not start")
            return None
        code = self._popen.wait()
        self.end()
        return code

    def release(self, *, is_at_work: bool) -> None:
        """Let others use the process, or end it."""
        if is_at_work or len(_idle) >= _MOST_IDLE:
            self.end()
        else:
            _idle.append(self)

    def end(self) -> None:
        """End the process, or do without it if it is one of the parent, after a fork."""
        if self._owner[0] == os.getpid():
            self._popen.kill()
            self._popen.wait()
        else:
            self._popen.returncode = 0
        for file in (self._requests, self._answers):
            with suppress(OSError):
                file.close()


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


def _is_ready(file: Any, event: int, milliseconds: int) -> bool:
    poll = select.poll()
    poll.register(file, event)
    return bool(poll.poll(milliseconds))


def serve() -> None:
    """Read files in this process for its parent, until the parent ends, or a file takes too much memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", 1 << 16)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):  # a library may print
        os.dup2(null, descriptor)
    warnings.simplefilter("ignore")
    logging.disable()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers.write(_HELLO)
    answers.flush()
    before, is_worn = b"", False
    with suppress(EOFError):  # the parent asks no more
        while not is_worn:
            path, how = pickle.load(requests)
            if how != before:
                before, (files, limits) = how, pickle.loads(how)
                _limit("RLIMIT_CORE", 0)
                _limit("RLIMIT_AS", limits.memory)
            _limit("RLIMIT_CPU", math.ceil(time.process_time()) + limits.seconds)
            is_worn = _answer(Path(path), files, limits, answers)
            pickle.dump(is_worn, answers)
            answers.flush()
    os._exit(0)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _answer(path: Path, files: Files, limits: Limits, answers: BinaryIO) -> bool:
    """Send a file's documents, and return whether this process has so little memory left that it should end."""
    size = 0
    for record in records_of(path, files, limits):
        try:
            data = pickle.dumps(_with_layout(record))
        except BaseException as error:
            data = pickle.dumps(BadRecord(_reason(error, limits)))
        size += len(data)
        if size > limits.output:
            data = pickle.dumps(BadRecord(f"its documents are larger than {limits.output:,} bytes"))
        answers.write(data)
        if size > limits.output:
            break
    return _size_of_process() > limits.memory // 2


def _with_layout(record: Record | BadRecord) -> Record | BadRecord:
    with suppress(MissingExtra):
        if isinstance(record, Record):
            return record._replace(layout=layout_of(record.text, record.markup))
    return record


def _limit(name: str, value: int) -> None:
    import resource

    which = getattr(resource, name)
    hard = resource.getrlimit(which)[1]
    with suppress(ValueError, OSError):  # not every system has each of them
        resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _size_of_process() -> int:
    """Return this process's size in bytes, or 0 where the system does not say it."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
