"""Locks whose waiting is an event of the simulated world: those of threads, and those of files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import Timeout

from tests.simulation.world import Over, Process, World


class ThreadLock:
    """Like ``threading.Lock``. A thread that has to wait lets others go on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._world.over:
            return True
        if self._held:
            if not blocking:
                return False
            if not self._world.wait_for(lambda: not self._held, None if timeout < 0 else timeout):
                return False
        self._held = True
        return True

    def release(self) -> None:
        if not self._held and not self._world.over:
            raise RuntimeError("release unlocked lock")
        self._held = False

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Threading:
    """Stands for the module ``threading``, with locks of this world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def Lock(self) -> ThreadLock:  # noqa: N802 (as in threading)
        return ThreadLock(self._world)

    def __getattr__(self, name: str) -> Any:
        return getattr(threading, name)


class FileLocks:
    """The locks on files in this world, of which a process loses its own when it dies."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._holders: dict[Path, SimulatedFileLock] = {}

    def lock(self, path: str | Path, timeout: float = -1, **_: Any) -> SimulatedFileLock:
        """Like ``filelock.FileLock``."""
        return SimulatedFileLock(self._world, self._holders, Path(path), timeout)

    def held(self, name: str) -> Process | None:
        """The process that holds the lock on a file of this name; None if none does."""
        return next((lock.owner for path, lock in self._holders.items() if path.name == name), None)


class SimulatedFileLock:
    """Like ``filelock.FileLock(path, thread_local=False)``."""

    def __init__(self, world: World, holders: dict[Path, SimulatedFileLock], path: Path, timeout: float) -> None:
        self._world = world
        self._holders = holders
        self._path = path
        self._timeout = timeout
        self._count = 0
        self.owner: Process | None = None

    @property
    def is_locked(self) -> bool:
        return self._count > 0

    @property
    def lock_file(self) -> str:
        return str(self._path)

    def acquire(
        self,
        timeout: float | None = None,
        poll_interval: float = 0.05,
        *,
        blocking: bool = True,
        cancel_check: Callable[[], bool] | None = None,
        **_: Any,
    ) -> _Acquired:
        if self._world.over:
            raise Over
        timeout = self._timeout if timeout is None else timeout
        if self._count:
            self._count += 1
            return _Acquired(self)
        if self._path in self._holders and (not blocking or timeout == 0):
            raise Timeout(str(self._path))
        deadline = None if timeout < 0 else self._world.now + timeout
        while self._path in self._holders:
            left = None if deadline is None else deadline - self._world.now
            if left is not None and left <= 0:
                raise Timeout(str(self._path))
            self._world.wait_for(lambda: self._path not in self._holders, left)
        self._holders[self._path] = self
        self._count = 1
        task = self._world.current
        if task is not None:
            self.owner = task.process
            task.process.holds.append(self)
        return _Acquired(self)

    def release(self, force: bool = False) -> None:
        if not self._count:
            return
        self._count = 0 if force else self._count - 1
        if not self._count:
            self.drop()

    def drop(self) -> None:
        """See Held."""
        self._count = 0
        if self._holders.get(self._path) is self:
            del self._holders[self._path]
        if self.owner is not None and self in self.owner.holds:
            self.owner.holds.remove(self)
        self.owner = None

    def __enter__(self) -> SimulatedFileLock:
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


class _Acquired:
    """What ``acquire`` returns: as a context, it releases the lock at its end."""

    def __init__(self, lock: SimulatedFileLock) -> None:
        self._lock = lock

    def __enter__(self) -> SimulatedFileLock:
        return self._lock

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.release()
