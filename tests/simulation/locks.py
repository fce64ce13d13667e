"""Locks of threads and files, whose waiting is an event of the simulated world."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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

    def Thread(self, *, target: Callable[..., object], args: tuple[Any, ...] = (), **_: Any) -> Any:  # noqa: N802
        """A thread that does its work at once when it is started."""
        return SimpleNamespace(start=lambda: target(*args))

    def __getattr__(self, name: str) -> Any:
        return getattr(threading, name)


class FileLocks:
    """The locks on files in this world; a process loses its own when it dies."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._holders: dict[Path, SimulatedFileLock] = {}

    def lock(self, path: str | Path, **_: Any) -> SimulatedFileLock:
        """Makes a lock, as the class that it stands for does."""
        return SimulatedFileLock(self._world, self._holders, Path(path))


class SimulatedFileLock:
    """Like ``leafspan.engines.local._file_lock.FileLock``."""

    def __init__(self, world: World, holders: dict[Path, SimulatedFileLock], path: Path) -> None:
        self._world = world
        self._holders = holders
        self.path = path
        self.owner: Process | None = None

    @property
    def is_locked(self) -> bool:
        return self._holders.get(self.path) is self

    @property
    def is_intact(self) -> bool:
        return self.is_locked

    def holder(self) -> str:
        return ""

    def try_acquire(self) -> bool:
        if self._world.over:
            raise Over
        if self.path in self._holders:
            return False
        self._holders[self.path] = self
        task = self._world.current
        if task is not None:
            self.owner = task.process
            task.process.holds.append(self)
        return True

    def acquire(self, deadline: float) -> bool:
        while not self.try_acquire():
            left = deadline - self._world.now
            if left <= 0:
                return False
            self._world.wait_for(lambda: self.path not in self._holders, left)
        return True

    def release(self) -> None:
        self.drop()

    def drop(self) -> None:
        """See Held."""
        if self.is_locked:
            del self._holders[self.path]
        if self.owner is not None and self in self.owner.holds:
            self.owner.holds.remove(self)
        self.owner = None
