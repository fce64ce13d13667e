"""The parts of leafspan's surroundings that a run replaces: locks, the clock, Chroma, and the driver of flows."""

from __future__ import annotations

import asyncio
import importlib
import os
import pkgutil
import shutil
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from inspect import iscoroutine
from pathlib import Path
from typing import Any

import leafspan.engines.chroma
import leafspan.engines.local
import leafspan.index
import leafspan.segments
import leafspan.store
import leafspan.view
from leafspan.engines import _caller
from leafspan.engines.chroma import _files, _foreign, _vector_files
from leafspan.engines.chroma._database import StoredVectors
from leafspan.engines.local._change_file import ChangeFile
from leafspan.engines.local._file_lock import FileLock
from leafspan.flows import Call, _concurrent, _flow
from leafspan.search import _indexes, _vectors
from leafspan.segments import _segment
from leafspan.store import Copied, _folder, _folder_store
from leafspan.store._rows_file import RowsFile
from tests.simulation.embedded import Disk, EmbeddedClient, watched_writing
from tests.simulation.history import History
from tests.simulation.locks import FileLocks, Threading
from tests.simulation.records import LINKS
from tests.simulation.scenario import number_beside
from tests.simulation.world import CALLS, Process, World

for _room in (
    leafspan.engines.chroma,
    leafspan.engines.local,
    leafspan.store,
    leafspan.segments,
):  # those that are loaded lazily have to be replaced in, too
    for _module in pkgutil.iter_modules(_room.__path__):
        importlib.import_module(f"{_room.__name__}.{_module.name}")

_ROOMS = ("leafspan.engines", "leafspan.store", "leafspan.segments")
_TOGETHER = (_concurrent._run_in_spare_threads, _concurrent._run_in_own_threads)
"""What ``run_together`` and ``run_concurrently`` call: here, their flows are threads of the simulated process."""
_PER_PROCESS: tuple[tuple[Any, str, Callable[[World], Any]], ...] = (
    (_folder, "_folders", lambda _: weakref.WeakValueDictionary()),
    (_folder, "_mutexes", lambda _: {}),
)
"""What modules keep for each process: module, name, and function that makes the value of a new process."""


class Clock:
    """Stands for the module ``time``, with the time of this world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.now

    def time(self) -> float:
        return 1_700_000_000 + self._world.now

    def sleep(self, seconds: float) -> None:
        self._world.sleep(seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class AsyncioWithoutTimeouts:
    """Stands for the module ``asyncio`` where Chroma is called: a request ends, if not always well, and no loop runs."""

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        yield

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


def _answers_of(disk: Disk) -> dict[str, Callable[..., Any]]:
    """What the simulated database says of the vector files, by the names of the functions that ask it."""

    def stored_vectors(folder: Path) -> dict[str, Any]:
        stored = disk.vectors_stored().items()
        return {segment: StoredVectors(name, True, 1 if persisted else None) for segment, (name, persisted) in stored}

    return {
        "stored_vectors": stored_vectors,
        "check_pages": lambda folder: None,
        "refused_records": lambda folder, *, drop: disk.refused(drop=drop),
    }


def _done_at_once(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Stands for what calls a function in a thread."""
    future: Future[Any] = Future()
    try:
        future.set_result(function(*arguments))
    except Exception as error:
        future.set_exception(error)
    return future


class ShutilWithPoints:
    """Stands for the module ``shutil`` where files are removed: others can come, and a process die, before that."""

    def __init__(self, world: World) -> None:
        self._world = world

    def rmtree(self, path: Any, ignore_errors: bool = False) -> None:
        self._world.point("before files are removed")
        shutil.rmtree(path, ignore_errors)

    def __getattr__(self, name: str) -> Any:
        return getattr(shutil, name)


class OsWithPoints:
    """Stands for the module ``os`` where segments write files: others can come before a file gets its name."""

    def __init__(self, world: World) -> None:
        self._world = world

    def replace(self, source: Any, target: Any) -> None:
        self._world.point("before a segment's file gets its name")
        os.replace(source, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@contextmanager
def replaced(
    world: World,
    locks: FileLocks,
    history: History,
    disk: Disk | None,
    *,
    copies: bool = True,
) -> Iterator[None]:
    """A context in which leafspan runs in this world.

    Args:
        world: The world.
        locks: Its locks.
        history: The history of the index.
        disk: The disk of a folder.
        copies: Whether documents and leaves in a folder are read from what is kept beside Chroma. If not, Chroma is asked,
            as where that is lost. Default: True.
    """
    changes: list[tuple[Any, str, Any]] = []

    def put(where: Any, name: str, value: Any) -> None:
        changes.append((where, name, getattr(where, name)))
        setattr(where, name, value)

    threads, clock, shutil_with_points = Threading(world), Clock(world), ShutilWithPoints(world)
    for name, module in list(sys.modules.items()):
        if name.startswith(_ROOMS):
            for attribute, value in list(vars(module).items()):
                if value is threading:
                    put(module, attribute, threads)
                elif value is time:
                    put(module, attribute, clock)
                elif value is shutil:
                    put(module, attribute, shutil_with_points)
                elif value is FileLock:
                    put(module, attribute, locks.lock)
    put(_segment, "os", OsWithPoints(world))
    if not copies:
        put(_indexes, "records_in", lambda *_: Copied({}, set()))
    put(_vectors, "_LINKS", LINKS)
    put(_vectors, "_FEW_FETCHED", 5)  # so that the small documents here are searched in either way
    checksum = _vector_files._checksum

    def checksum_at_a_point(path: Path) -> Any:
        world.point("before a file is read")
        return checksum(path)

    put(_vector_files, "_checksum", checksum_at_a_point)
    driver = Driver(world)
    for module in (_flow, leafspan.index):
        put(module, "run", driver.run)
        put(module, "arun", driver.arun)
    put(leafspan.view, "run_within", driver.run)
    put(leafspan.view, "arun_within", driver.arun)
    put(_caller, "in_thread", _done_at_once)
    put(_caller, "asyncio", AsyncioWithoutTimeouts())
    advance = ChangeFile.advance

    def counted_advance(changes: ChangeFile) -> int:
        world.point("before a change is counted")
        before = changes.count
        count = advance(changes)
        world.tick()
        if changes.count != before:
            history.announce()
        world.note("counts a change")
        return count

    put(ChangeFile, "advance", counted_advance)
    if disk is not None:
        put(RowsFile, "write", watched_writing(disk, RowsFile.write))
        for module in (_folder, _foreign):
            put(module, "fresh_client", lambda path, **database: EmbeddedClient(disk))
        for module in (_files, _folder_store):
            for name, answer in _answers_of(disk).items():
                if name in vars(module):
                    put(module, name, answer)
    world.on_switch = _switch_memory(world)
    for module, name, _ in _PER_PROCESS:
        changes.append((module, name, getattr(module, name)))
    try:
        yield
    finally:
        for where, name, value in reversed(changes):
            setattr(where, name, value)


def _switch_memory(world: World) -> Callable[[Process | None, Process], None]:
    def switch(old: Process | None, new: Process) -> None:
        for module, name, make in _PER_PROCESS:
            key = (module.__name__, name)
            if old is not None:
                old.globals[key] = getattr(module, name)
            setattr(module, name, new.globals[key] if key in new.globals else make(world))

    return switch


class Driver:
    """Carries out flows as ``leafspan.flows.run`` and ``arun`` do, with a point before each call."""

    def __init__(self, world: World) -> None:
        self._world = world

    def run(self, flow: Any, seconds: float | None = None) -> Any:
        """The flow's result. A limit of ``seconds`` has no effect: nobody here waits for an answer."""
        return self._drive(flow, native=False)

    async def arun(self, flow: Any, seconds: float | None = None, *, reads: bool = False) -> Any:
        """The same in an event loop."""
        return self._drive(flow, native=True)

    def _drive(self, flow: Any, *, native: bool) -> Any:
        answer: Any = None
        failure: BaseException | None = None
        while True:
            try:
                request = flow.throw(failure) if failure else flow.send(answer)
            except StopIteration as stop:
                return stop.value
            answer = failure = None
            try:
                if isinstance(request, Call):
                    answer = self._perform(request, native=native)
                else:
                    answer = [self._perform(call, native=native) for call in request]
            except BaseException as error:
                failure = error

    def _perform(self, call: Call, *, native: bool) -> Any:
        world = self._world
        world.point("between two calls", CALLS)
        action, number = world.action(CALLS)
        if action != "interrupt":
            if action:
                world.happen(action, number, "between two calls")
            return self._call(call, native=native)
        world.counts["interrupts"] += 1
        done = call.finish or number % 2 == 1
        world.note(f"interrupted {'after' if done else 'before'} a call")
        if done:
            self._call(call, native=native)
        raise asyncio.CancelledError if native else KeyboardInterrupt

    def _call(self, call: Call, *, native: bool) -> Any:
        if call.function in _TOGETHER:
            return self._together([getattr(each, "flow", each) for each in call.arguments[0]], native=native)
        if native and call.native is not None:
            if call.native is asyncio.sleep:
                return self._world.sleep(*call.arguments)
            made = call.native(*call.arguments, **call.options)
            return complete(made) if iscoroutine(made) else made
        assert call.function is not None, "a blocking driver got a call for an event loop"
        return call.function(*call.arguments, **call.options)

    def _together(self, flows: list[Any], *, native: bool) -> list[Any]:
        """The results or Exceptions of flows that run in threads of their own."""
        world = self._world
        parent = world.current
        if parent is None:
            return [self._outcome(flow, native=native) for flow in flows]
        results: dict[int, Any] = {}

        def body(number: int) -> Callable[[], None]:
            def run() -> None:
                results[number] = self._outcome(flows[number], native=native)

            return run

        for number in range(len(flows)):
            task = world.start(parent.process, body(number))
            task.operation = number_beside(parent.operation, number)
            task.label = parent.label
            task.points = parent.points
        world.wait_for(lambda: len(results) == len(flows))
        for result in results.values():
            if isinstance(result, BaseException) and not isinstance(result, Exception):
                raise result
        return [results[number] for number in range(len(flows))]

    def _outcome(self, flow: Any, *, native: bool) -> Any:
        try:
            return self._drive(flow, native=native)
        except BaseException as error:
            return error


def complete(coroutine: Any) -> Any:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the coroutine waits for an event loop")
